"""What became of each recorded operation: the recorded graph compared with the steps that run.

Two things are certain: which operations were recorded, and which kinds of operations the program
runs. Which part of a step comes from which operation is known only if the compiler kept a note
of it (the *origins* of a part). A missing note alone never decides a fate: an operation that no
rule explains is "rewritten".

The field's terms for each fate:

========= ==========================================================================================
kept      it runs as a separate step
fused     operator fusion: one step computes it together with others
folded    constant folding: it depends on no input, so the compiler has computed it in advance
merged    common subexpression elimination (CSE): an equal operation does its work
free      a view, or a change of layout that another step absorbs: no step runs for it
dropped   dead code elimination (DCE): no result and no effect depends on it
rewritten the compiler computes something else instead (algebraic simplification, another
          algorithm), or we couldn't follow it
========= ==========================================================================================
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.graphs.evidence import Evidence, Match, Step, gather, parts_needed
from d2lhybrid.graphs.stages import Node, Part, Stage

# Translators: on this line and the next: what became of an operation once it was compiled
KEPT, FUSED, FOLDED, MERGED = N_("kept"), N_("fused"), N_("folded"), N_("merged")
FREE, DROPPED, REWRITTEN = N_("free"), N_("dropped"), N_("rewritten")
FATES = (KEPT, FUSED, FOLDED, MERGED, FREE, DROPPED, REWRITTEN)


def decide_fates(stages: Sequence[Stage], layout_ops: Collection[str] = ()) -> tuple[Stage, ...]:
    """The stages, each operation with what became of it by the last one; a stage alone gets none.

    Args:
        layout_ops: the kinds of operations that only arrange elements, such as a transpose.
    """
    *earlier, last = stages
    if not earlier:
        return tuple(stages)
    steps = [node.parts or (Part(node.operation, node.origins),) for node in last.operations]
    run = {node.name: FUSED if len(node.parts) > 1 else KEPT for node in last.operations}
    decided = [_with_fates(last, run)]
    for stage in reversed(earlier):
        decided.insert(0, _with_fates(stage, _fates(gather(stage, steps, layout_ops))))
        steps = [_traced_to_stage_before(step, stage) for step in steps]
    return tuple(decided)


def _with_fates(stage: Stage, fates: Mapping[str, str]) -> Stage:
    nodes = (replace(node, fate=fates.get(node.name, "")) for node in stage.nodes)
    return replace(stage, nodes=tuple(nodes))


def _traced_to_stage_before(step: Step, stage: Stage) -> Step:
    """The step's parts, whose origins are nodes of `stage`, with the origins of those nodes."""
    origins = {node.name: node.origins for node in stage.nodes}
    return tuple(
        Part(part.kind, frozenset().union(*(origins.get(name, ()) for name in part.origins)))
        for part in step
    )


# The rules, in the order in which they are asked: the first one that gives a fate decides.


@dataclass(frozen=True)
class _Operation:
    """An operation whose fate is asked for."""

    node: Node
    has_constant_inputs: bool
    kinds: frozenset[str]  # what it is lowered to
    equals: tuple[str, ...]  # all that compute the same, itself included
    # For each of its kinds, the parts that may compute it or an equal operation.
    matches: Mapping[str, Sequence[Match]]

    @property
    def all_matches(self) -> list[Match]:
        return [match for of_kind in self.matches.values() for match in of_kind]


def _dropped(operation: _Operation, evidence: Evidence) -> str:
    """Dead code: neither an output nor an effect needs it."""
    return "" if operation.node.name in evidence.lowered else DROPPED


def _folded_before(operation: _Operation, evidence: Evidence) -> str:
    """It computes a constant, and the compiler gets only the value."""
    computes_constant = operation.has_constant_inputs and not operation.node.has_effect
    is_layout = operation.node.operation in evidence.layout_ops
    return FOLDED if computes_constant and not operation.kinds and not is_layout else ""


def _runs(operation: _Operation, evidence: Evidence) -> str:
    """Parts of every kind that it is lowered to run, so it is kept, fused or merged.

    If there are enough parts for all equal operations, each of them runs. If there are only enough
    for one of each group of equal operations, one survives, and the others are merged with it.
    """
    if not operation.kinds or not all(operation.matches.values()):
        return ""
    counts = [
        (len(matches), *parts_needed(kind, matches, evidence))
        for kind, matches in operation.matches.items()
    ]
    if any(run < needed_if_merged for run, _needed, needed_if_merged in counts):
        return ""
    are_merged = any(run < needed_by_all for run, needed_by_all, _needed in counts)
    if are_merged and operation.node.name != _survivor(operation):
        return MERGED
    return _kept_or_fused(operation, evidence)


def _survivor(operation: _Operation) -> str:
    """The operation that does the work of all equal ones: the last that a part may compute."""
    may_run = frozenset().union(*(match.candidates for match in operation.all_matches))
    return [name for name in operation.equals if name in may_run][-1]


def _kept_or_fused(operation: _Operation, evidence: Evidence) -> str:
    """Kept if it is alone in each of its steps, fused if it is alone in none.

    If it is alone in some, it is fused in the others, but only if all of these are certainly its
    steps. Else it isn't known which of them compute it.
    """
    name, matches = operation.node.name, operation.all_matches
    of_it = [match for match in matches if name in match.candidates] or matches
    is_alone = {_is_alone(name, match.step, evidence) for match in of_it}
    if is_alone == {True}:
        return KEPT
    is_certain = all(match.candidates == {name} for match in of_it)
    return FUSED if is_alone == {False} or is_certain else REWRITTEN


def _is_alone(name: str, step: Step, evidence: Evidence) -> bool:
    """Does the step compute this operation and nothing else?

    A note alone doesn't show it: what the compiler moved may bear the name of another operation.
    So the kind has to be one that the operation is lowered to.
    """
    return len(step) == 1 or all(
        part.origins == {name} and part.kind in evidence.lowered[name] for part in step
    )


def _rewritten(operation: _Operation, evidence: Evidence) -> str:
    """It left a trace, though not all runs that it was lowered to; or its effect cannot vanish."""
    has_trace = bool(operation.all_matches) or operation.node.name in evidence.replaced
    return REWRITTEN if operation.node.has_effect or has_trace else ""


def _free(operation: _Operation, evidence: Evidence) -> str:
    """It only arranges elements, and nothing runs for it: what uses it reads in its order."""
    kinds = operation.kinds or {operation.node.operation}
    return FREE if kinds <= evidence.layout_ops else ""


def _folded(operation: _Operation, _evidence: Evidence) -> str:
    """It depends on no input, and nothing runs for it."""
    return FOLDED if operation.has_constant_inputs else ""


_RULES = (_dropped, _folded_before, _runs, _rewritten, _free, _folded)


def _fates(evidence: Evidence) -> dict[str, str]:
    """The fate of each operation of a stage, by its name."""
    constants = {node.name for node in evidence.stage.nodes if node.is_constant}
    fates: dict[str, str] = {}
    for node in evidence.stage.operations:
        has_constant_inputs = constants.issuperset(node.inputs)
        operation = _operation(node, has_constant_inputs, evidence)
        answers = (rule(operation, evidence) for rule in _RULES)
        fates[node.name] = next(filter(None, answers), REWRITTEN)
        if has_constant_inputs and fates[node.name] in (FOLDED, FREE):
            constants.add(node.name)
    return _without_impossible_merges(fates, evidence)


def _operation(node: Node, has_constant_inputs: bool, evidence: Evidence) -> _Operation:
    kinds = frozenset(evidence.lowered.get(node.name, ()))
    equals = evidence.equals.get(node.name, ())
    matches = {
        kind: [m for m in evidence.matches.get(kind, ()) if m.candidates.intersection(equals)]
        for kind in kinds
    }
    return _Operation(node, has_constant_inputs, kinds, equals, matches)


def _without_impossible_merges(fates: Mapping[str, str], evidence: Evidence) -> dict[str, str]:
    """What was merged must be missing: no kind may run more often than the others need it.

    If a kind does, the compiler made something else of the operations that seemed to be merged.
    """
    needed = Counter(kind for kinds in evidence.lowered.values() for kind in kinds)
    merged = [name for name, fate in fates.items() if fate == MERGED]
    missing = Counter(kind for name in merged for kind in evidence.lowered[name])
    running = Counter(part.kind for step in evidence.steps for part in step)
    too_many = (running + missing - needed).keys()
    impossible = [name for name in merged if not too_many.isdisjoint(evidence.lowered[name])]
    return {**fates, **dict.fromkeys(impossible, REWRITTEN)}
