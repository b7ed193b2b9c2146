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

from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.picture import Node, Part, Stage

KEPT, FUSED, FOLDED, MERGED = N_("kept"), N_("fused"), N_("folded"), N_("merged")
FREE, DROPPED, REWRITTEN = N_("free"), N_("dropped"), N_("rewritten")
FATES = (KEPT, FUSED, FOLDED, MERGED, FREE, DROPPED, REWRITTEN)


def judged(stages: Sequence[Stage], arranging: Collection[str] = ()) -> tuple[Stage, ...]:
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
        done.insert(0, _with_fates(stage, _Judge(stage, steps, arranging).fates()))
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
    """One stage, held against the parts of the steps that run."""

    def __init__(
        self, stage: Stage, steps: Sequence[tuple[Part, ...]], arranging: Collection[str]
    ) -> None:
        self._stage, self._steps, self._arranging = stage, steps, arranging
        self._needed, self._constant, self._equal = _needed(stage), _constant(stage), equal(stage)
        live = {node.name: node for node in stage.operations if node.name in self._needed}
        # Each part belongs to one operation of its kind: to the last of those that it comes from.
        self._owned: dict[str, list[tuple[str, int]]] = {name: [] for name in live}
        self._unknown: dict[str, list[int]] = {}  # for a kind, the steps of parts without an origin
        self._changed: set[str] = set()  # what parts of other kinds come from
        self._owners: list[set[str]] = [set() for _step in steps]
        for number, step in enumerate(steps):
            for kind, origins in step:
                owner = next(
                    (n for n in reversed(live) if n in origins and kind in live[n].handed), ""
                )
                self._owners[number].add(owner)
                if owner:
                    self._owned[owner].append((kind, number))
                elif origins:
                    self._changed |= origins
                else:
                    self._unknown.setdefault(kind, []).append(number)
        traced = (
            n
            for n, own in self._owned.items()
            if own and {k for k, _s in own} >= set(live[n].handed)
        )
        self._traced = set(traced)
        self._parts = Counter(kind for step in steps for kind, _origins in step)
        self._recorded = Counter(kind for node in live.values() for kind in node.handed)
        lost = (node for name, node in live.items() if name not in self._traced)
        self._lost = Counter(kind for node in lost for kind in node.handed)

    def fates(self) -> dict[str, str]:
        found = {node: self._fate(node) for node in self._stage.operations}
        merged = Counter(k for node, fate in found.items() if fate == MERGED for k in node.handed)
        for node, fate in found.items():  # as many as are merged must be missing
            many = any(self._parts[k] + merged[k] > self._recorded[k] for k in node.handed)
            found[node] = REWRITTEN if many and fate == MERGED else fate
        fates = {node.name: fate for node, fate in found.items()}
        for node in found:  # what is computed from a step that runs is not known before it
            known = {fates.get(name, FOLDED) for name in node.inputs} <= {FOLDED}
            if fates[node.name] == FOLDED and not known:
                fates[node.name] = REWRITTEN
        return fates

    def _fate(self, node: Node) -> str:
        if node.name not in self._needed:
            return DROPPED
        kinds, own = Counter(node.handed), self._owned[node.name]
        if node.name in self._traced:
            return self._where(node, {step for _kind, step in own})
        if kinds and all(len(self._unknown.get(k, ())) >= self._lost[k] for k in kinds):
            return self._where(node, {step for kind in kinds for step in self._unknown[kind]})
        equal = self._equal[node.name] & self._owned.keys()
        again = [part for name in equal for part in self._owned[name]]
        times = Counter(kind for kind, _step in again)
        if equal and kinds and all(times[k] >= (len(equal) + 1) * n for k, n in kinds.items()):
            return self._where(node, {step for _kind, step in again})  # once for each
        if node.effect or own or node.name in self._changed or kinds.keys() & self._unknown.keys():
            return REWRITTEN
        if equal & self._traced:
            return MERGED
        if node.name in self._constant:
            return FOLDED
        return FREE if kinds.keys() <= set(self._arranging) else REWRITTEN

    def _where(self, node: Node, steps: Collection[int]) -> str:
        """Is it alone in its steps? In some of those that may be its own, this is not known."""
        alone = {self._owners[s] == {node.name} or len(self._steps[s]) == 1 for s in steps}
        mixed = len(alone) > 1 and not self._owned[node.name]
        return REWRITTEN if mixed else FUSED if False in alone else KEPT


def _needed(stage: Stage) -> set[str]:
    """The nodes that lead to an output or to an effect."""
    found = {*stage.outputs, *(node.name for node in stage.nodes if node.effect)}
    for node in reversed(stage.nodes):
        if node.name in found:
            found.update(node.inputs)
    return found


def _constant(stage: Stage) -> set[str]:
    """The nodes that depend on no input, on no effect and on no random number."""
    found: set[str] = set()
    for node in stage.nodes:
        known = node.operation or node.key
        if known and not node.effect and found.issuperset(node.inputs):
            found.add(node.name)
    return found


def equal(stage: Stage) -> dict[str, set[str]]:
    """For each node the others that compute the same of the same; an effect has no equal."""
    numbers: dict[str, int] = {}
    alike: dict[Any, set[str]] = {}
    for node in stage.nodes:
        own = node.name if node.effect or not (node.operation or node.key) else ""
        inputs = tuple(numbers.get(source, source) for source in node.inputs)
        names = alike.setdefault((own, node.operation, node.key, inputs), set())
        numbers[node.name] = id(names)
        names.add(node.name)
    return {name: names - {name} for names in alike.values() for name in names}


def content(array: "np.ndarray[Any, Any]") -> str:
    """What tells one constant from another: its value, or its shape and a hash of its bytes."""
    if array.size == 1:
        return str(array.item())
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"
