"""The evidence for fates: which parts of the steps that run may compute which recorded operations.

The compiler's notes (the *origins* of parts) are used where they fit the operations; a part without
a note may compute any operation of its kind that no note accounts for.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

from d2lhybrid.graphs.stages import Node, Part, Stage

Step = tuple[Part, ...]

# XLA makes an iota in the shape in which it is used, under the name of what uses it.
_NAMED_BY_USER = {"iota"}


@dataclass(frozen=True)
class Match:
    """A part of a step, and the recorded operations of its kind, any of which it may compute."""

    candidates: frozenset[str]
    step: Step


@dataclass(frozen=True)
class Evidence:
    """What is known of a stage and of the steps that run."""

    stage: Stage
    steps: Sequence[Step]
    # The kinds of operations that only arrange elements.
    layout_ops: frozenset[str]
    # For each operation that is needed, the kinds of operations that it is lowered to.
    lowered: Mapping[str, tuple[str, ...]]
    # For each node that is needed, all nodes that compute the same, itself included.
    equals: Mapping[str, tuple[str, ...]]
    # For each kind the parts that run.
    matches: Mapping[str, Sequence[Match]]
    # The operations from which parts of a kind come that they were not lowered to.
    replaced: Collection[str]


def gather(stage: Stage, steps: Sequence[Step], layout_ops: Collection[str]) -> Evidence:
    """Hold the operations of a stage against the parts of the steps."""
    needed = _needed(stage)
    lowered = {node.name: node.lowered_ops for node in stage.operations if node.name in needed}
    equals = _equal_nodes([node for node in stage.nodes if node.name in needed])
    matches: dict[str, list[Match]] = {}
    replaced: set[str] = set()
    for step in steps:
        for kind, origins in step:
            candidates = frozenset(name for name in origins if kind in lowered.get(name, ()))
            is_moved = kind in _NAMED_BY_USER and not candidates
            if origins and not candidates and not is_moved:
                replaced |= origins
            elif origins or kind != "copy":  # compilers insert copies that nobody recorded
                matches.setdefault(kind, []).append(Match(candidates, step))
    for kind, of_kind in matches.items():
        matches[kind] = _with_guesses(kind, of_kind, lowered, equals)
    return Evidence(stage, steps, frozenset(layout_ops), lowered, equals, matches, replaced)


def _with_guesses(
    kind: str,
    matches: Sequence[Match],
    lowered: Mapping[str, tuple[str, ...]],
    equals: Mapping[str, tuple[str, ...]],
) -> list[Match]:
    """The matches, with candidates for the parts whose origins the compiler didn't note.

    Such a part may compute any operation of its kind, unless a note shows where this operation, or
    an equal one, is computed.
    """
    noted = frozenset().union(*(match.candidates for match in matches))
    unnoted = frozenset(
        name for name, kinds in lowered.items() if kind in kinds and noted.isdisjoint(equals[name])
    )
    return [replace(match, candidates=match.candidates or unnoted) for match in matches]


def _needed(stage: Stage) -> set[str]:
    """The nodes that lead to an output or to an effect."""
    needed = {*stage.outputs, *(node.name for node in stage.nodes if node.has_effect)}
    for node in reversed(stage.nodes):
        if node.name in needed:
            needed.update(node.inputs)
    return needed.difference(node.name for node in stage.nodes if node.is_dead)


def _equal_nodes(nodes: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """For each node the names of all that compute the same from the same, in their order.

    This is value numbering, with the first of the equal nodes as their number. Each input, and each
    operation with an effect, equals itself alone.
    """
    groups: dict[Hashable, list[str]] = {}
    first_equal: dict[str, str] = {}
    for node in nodes:
        alone = node.name if node.has_effect or node.is_input else ""
        inputs = tuple(first_equal.get(name, name) for name in node.inputs)
        group = groups.setdefault((alone, node.operation, node.attributes, inputs), [])
        group.append(node.name)
        first_equal[node.name] = group[0]
    return {name: tuple(group) for group in groups.values() for name in group}


def parts_needed(kind: str, matches: Sequence[Match], evidence: Evidence) -> tuple[int, int]:
    """How many parts of a kind the operations need that these may compute, or equal ones.

    First if all of them run, then if of each group of equal ones the first does the work of all.
    """
    groups = {evidence.equals[name] for match in matches for name in match.candidates}
    needs = [[evidence.lowered[name].count(kind) for name in group] for group in groups]
    return sum(map(sum, needs)), sum(first for first, *_equal in needs)
