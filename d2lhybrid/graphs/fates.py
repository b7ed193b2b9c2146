"""What became of each recorded operation: the recorded graph held against the steps that run.

Two things are certain: what was recorded, and which kinds of operations the program has. Which of
them comes from which is known where a compiler noted it (its *origin*); a fate is never concluded
from a lost note alone. What is left over is "rewritten".
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.display.graph_svg import Node, Part, Stage

KEPT, FUSED, FOLDED, MERGED = N_("kept"), N_("fused"), N_("folded"), N_("merged")
FREE, DROPPED, REWRITTEN = N_("free"), N_("dropped"), N_("rewritten")
FATES = (KEPT, FUSED, FOLDED, MERGED, FREE, DROPPED, REWRITTEN)


def judged(stages: Sequence[Stage], layout_ops: Collection[str] = ()) -> tuple[Stage, ...]:
    """The stages with the fate of every operation, each against the last one; of one alone none.

    Args:
        arranging: the kinds that only say how elements are arranged, such as a transpose.
    """
    *before, last = stages
    if not before:
        return tuple(stages)
    steps = [node.parts or (Part(node.operation, node.origins),) for node in last.operations]
    fates = {n.name: FUSED if len(n.parts) > 1 else KEPT for n in last.operations}
    done = [_with_fates(last, fates)]
    for stage in reversed(before):
        done.insert(0, _with_fates(stage, _Judge(stage, steps, set(layout_ops)).fates()))
        origins = {node.name: node.origins for node in stage.nodes}
        steps = [tuple(_further(part, origins) for part in step) for step in steps]
    return tuple(done)


def _with_fates(stage: Stage, fates: Mapping[str, str]) -> Stage:
    nodes = (replace(n, fate=fates[n.name]) if n.operation else n for n in stage.nodes)
    return replace(stage, nodes=tuple(nodes))


def _further(part: Part, origins: Mapping[str, frozenset[str]]) -> Part:
    """The part with its origins in the stage before."""
    return Part(part.kind, frozenset().union(*(origins.get(name, ()) for name in part.origins)))


class _Judge:
    """One stage, held against the parts of the steps that run.

    Equal operations are judged together, as a group: where parts come from is known of some alone.
    """

    def __init__(self, stage: Stage, steps: list[tuple[Part, ...]], layout_ops: set[str]) -> None:
        self._stage, self._steps, self._arranging = stage, steps, layout_ops
        needed = _needed(stage)
        self._handed = {n.name: n.handed for n in stage.operations if n.name in needed}
        self._group = _equal([node for node in stage.nodes if node.name in needed])
        self._changed: set[str] = set()  # what parts of other kinds come from
        # For a kind the parts, each as the operations that it may be, and the number of its step.
        self._parts: dict[str, list[tuple[frozenset[str], int]]] = {}
        for number, step in enumerate(steps):
            for kind, origins in step:
                own = frozenset(n for n in origins if kind in self._handed.get(n, ()))
                self._changed |= set() if own else origins
                if own or not origins:
                    self._parts.setdefault(kind, []).append((own, number))
        for kind, parts in self._parts.items():  # one from nowhere may be any that none is from
            named = frozenset().union(*(own for own, _step in parts))
            of_kind = (name for name, kinds in self._handed.items() if kind in kinds)
            lost = frozenset(name for name in of_kind if named.isdisjoint(self._group[name]))
            self._parts[kind] = [(own or lost, number) for own, number in parts]

    def fates(self) -> dict[str, str]:
        known = {node.name for node in self._stage.nodes if node.key and not node.operation}
        found: dict[str, str] = {}
        for node in self._stage.operations:
            is_known = known.issuperset(node.inputs)
            fate = found[node.name] = self._fate(node, is_known)
            known |= {node.name} if is_known and fate in (FOLDED, FREE) else set()
        here = Counter(part.kind for step in self._steps for part in step)
        here.update(k for n, fate in found.items() if fate == MERGED for k in self._handed[n])
        many = here - Counter(kind for kinds in self._handed.values() for kind in kinds)
        for name, fate in found.items():  # as many as are merged must be missing
            if fate == MERGED and many.keys() & self._handed[name]:
                found[name] = REWRITTEN
        return found

    def _fate(self, node: Node, is_known: bool) -> str:
        if node.name not in self._handed:
            return DROPPED
        group, kinds = self._group[node.name], set(node.handed)
        arranged = bool(kinds) and kinds <= self._arranging
        if is_known and arranged and not node.effect and node.operation not in self._arranging:
            return FOLDED  # what is handed over is its value, spread out
        every = {k: [p for p in self._parts.get(k, ()) if p[0].intersection(group)] for k in kinds}
        parts = [part for of_kind in every.values() for part in of_kind]
        if kinds and all(every.values()):
            wanted = [(len(found), *self._wanted(kind, found)) for kind, found in every.items()]
            last = [name for name in group if any(name in own for own, _step in parts)][-1]
            if all(number >= each for number, each, _once in wanted):
                return self._where(node, parts)
            if all(number >= once for number, _each, once in wanted):
                return self._where(node, parts) if node.name == last else MERGED
        if node.effect or parts or node.name in self._changed:
            return REWRITTEN
        if (kinds or {node.operation}) <= self._arranging:
            return FREE
        if is_known:
            return FOLDED
        return FREE if node.passes and not kinds else REWRITTEN

    def _wanted(self, kind: str, parts: Sequence[tuple[frozenset[str], int]]) -> tuple[int, int]:
        """How many parts all that these may be would have, and how many one of each group."""
        groups = {self._group[name] for own, _step in parts for name in own}
        numbers = [[self._handed[name].count(kind) for name in group] for group in groups]
        return sum(map(sum, numbers)), sum(first for first, *_others in numbers)

    def _where(self, node: Node, parts: Sequence[tuple[frozenset[str], int]]) -> str:
        """Is it alone in its steps? In some of those that may be its own, this is not known."""
        own = [part for part in parts if node.name in part[0]] or parts
        steps = [self._steps[number] for _names, number in own]
        alone = {len(step) == 1 or all(self._is_of(node, part) for part in step) for step in steps}
        mixed = len(alone) > 1 and any(names != {node.name} for names, _step in own)
        return REWRITTEN if mixed else FUSED if False in alone else KEPT

    def _is_of(self, node: Node, part: Part) -> bool:
        """Is it what was handed over for the node? What was moved may bear another one's name."""
        return part.origins == {node.name} and part.kind in self._handed[node.name]


def _needed(stage: Stage) -> set[str]:
    """The nodes that lead to an output or to an effect."""
    found = {*stage.outputs, *(node.name for node in stage.nodes if node.effect)}
    for node in reversed(stage.nodes):
        if node.name in found:
            found.update(node.inputs)
    return found


def _equal(nodes: Sequence[Node]) -> dict[str, tuple[str, ...]]:
    """For each node all that compute the same of the same; an effect has no equal."""
    numbers: dict[str, int] = {}
    groups: dict[Any, list[str]] = {}
    for node in nodes:
        own = node.name if node.effect or not (node.operation or node.key) else ""
        key = (own, node.operation, node.key, tuple(numbers.get(n, n) for n in node.inputs))
        groups.setdefault(key, []).append(node.name)
        numbers[node.name] = id(groups[key])
    return {name: tuple(names) for names in groups.values() for name in names}


def content(array: "np.ndarray[Any, Any]") -> str:
    """What tells one constant from another: its value, or its shape and a hash of its bytes."""
    if array.size == 1:
        return str(array.item())
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"
