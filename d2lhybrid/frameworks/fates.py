"""What became of each recorded operation: a stage of a graph held against the one after it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.stages import Node, Stage

KEPT, FUSED, FOLDED, MERGED, DROPPED = "kept", "fused", "folded", "merged", "dropped"
MEANINGS = {
    KEPT: N_("kept"),
    FUSED: N_("fused"),
    FOLDED: N_("folded"),
    MERGED: N_("merged"),
    DROPPED: N_("dropped"),
}


def judged(
    stages: Sequence[Stage],
    fuses: Callable[[str], bool] = lambda operation: False,
    literal: Callable[[str], bool] = lambda operation: False,
) -> tuple[Stage, ...]:
    """The stages with the fate of every operation, each against the last one.

    Args:
        fuses: does an operation of this name do the work of several recorded ones?
        literal: is it a constant, which a step of several parts holds as a number?
    """
    last = stages[-1]
    ends = [
        replace(n, fate=(FUSED if len(n.parts) > 1 or fuses(n.operation) else KEPT))
        if n.operation
        else n
        for n in last.nodes
    ]
    done = [replace(last, nodes=tuple(ends))]
    for stage in reversed(stages[:-1]):
        done.insert(0, _against(stage, done[0], fuses, literal))
    return tuple(done)


def _against(
    stage: Stage, after: Stage, fuses: Callable[[str], bool], literal: Callable[[str], bool]
) -> Stage:
    """The stage with fates, where those of the one after it are known."""
    images: dict[str, list[Node]] = {}
    for node in after.nodes:
        for origin in node.origins:
            images.setdefault(origin, []).append(node)
    absorbed = _absorbed(stage, images, fuses)
    needed, constant, same = _needed(stage), _constant(stage), _Same()
    for node in stage.nodes:
        same.add(node)
    before = _Same()  # what stands further up, past the steps that change nothing
    taken_over: set[str] = set()  # by an operation that does the work of several

    def fate(node: Node) -> str:
        name, mine = node.name, images.get(node.name, [])
        together = [image for image in mine if len(image.parts) > 1]
        if together and literal(node.operation):
            return FOLDED
        if together and any(set(before.like(node)) & image.origins for image in together):
            return MERGED
        if mine and any(source in taken_over for source in node.inputs):
            return FUSED
        if mine:
            fates = [image.fate for image in mine if image.operation] or [FOLDED]
            if name in constant and name in needed and fates[0] == DROPPED:
                return FOLDED  # later, after what needed it
            return FUSED if FUSED in fates else fates[0]
        if name not in needed:
            return DROPPED
        if name in constant:
            return FOLDED
        if any(twin in images for twin in (*same.like(node), *before.like(node))):
            return MERGED
        if name in absorbed:
            taken_over.add(name)
            return FUSED
        before.passes(node, constant)
        return DROPPED

    nodes = []
    for node in stage.nodes:
        nodes.append(replace(node, fate=fate(node)) if node.operation else node)
        before.add(node)
    return replace(stage, nodes=tuple(nodes))


def _absorbed(
    stage: Stage, images: dict[str, list[Node]], fuses: Callable[[str], bool]
) -> set[str]:
    """The nodes without an image that lead to an operation which does the work of several."""
    found: set[str] = set()  # with those whose images are such operations
    for node in reversed(stage.nodes):
        own = images.get(node.name, [])
        if any(fuses(image.operation) for image in own) or (not own and node.name in found):
            found.update(node.inputs)
    return found - images.keys()


class _Same:
    """Which nodes compute the same of the same."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._of: dict[str, int | str] = {}
        self._names: dict[int | str, list[str]] = {}

    def add(self, node: Node) -> None:
        if node.name not in self._of:
            number = self._numbers.setdefault(self._signature(node), len(self._numbers))
            self._of[node.name] = number
        self._names.setdefault(self._of[node.name], []).append(node.name)

    def passes(self, node: Node, constant: set[str]) -> None:
        """The node hands its one input on: it is the same as that."""
        sources = [source for source in node.inputs if source not in constant]
        if len(sources) == 1:
            self._of[node.name] = self._of.get(sources[0], sources[0])

    def like(self, node: Node) -> list[str]:
        """The nodes that compute the same, as far as they are known."""
        number = self._numbers.get(self._signature(node), -1)
        return [name for name in self._names.get(number, ()) if name != node.name]

    def _signature(self, node: Node) -> Any:
        own = "" if node.operation or node.key else node.name
        inputs = tuple(self._of.get(source, source) for source in node.inputs)
        return own, node.operation, node.key, inputs


def _needed(stage: Stage) -> set[str]:
    """The nodes that lead to an output."""
    found = set(stage.outputs)
    for node in reversed(stage.nodes):
        if node.name in found:
            found.update(node.inputs)
    return found


def _constant(stage: Stage) -> set[str]:
    """The nodes that depend on no input, and on no random number."""
    found: set[str] = set()
    for node in stage.nodes:
        random = any(word in node.operation.lower() for word in ("rand", "normal", "dropout"))
        given = not node.operation and not node.key
        if not given and not random and all(source in found for source in node.inputs):
            found.add(node.name)
    return found


def content(array: "np.ndarray[Any, Any]") -> str:
    """What tells one constant from another: its value, or its shape and a hash of its bytes."""
    if array.size == 1:
        return str(array.item())
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"
