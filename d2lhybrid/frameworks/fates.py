"""What became of each recorded operation: a stage of a graph held against the one after it."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.picture import Node, Stage

FATES = (N_("kept"), N_("fused"), N_("folded"), N_("merged"), N_("dropped"))
KEPT, FUSED, FOLDED, MERGED, DROPPED = FATES
# What depends on no input is computed in advance, unless one of these words is in its name.
_RANDOM = ("rand", "rng", "normal", "dropout", "bernoulli", "uniform", "multinomial", "poisson")
Test = Callable[[str], bool]


def _never(operation: str) -> bool:
    return False


def judged(
    stages: Sequence[Stage], fuses: Test = _never, literal: Test = _never
) -> tuple[Stage, ...]:
    """The stages with the fate of every operation, each against the last one; of one alone none.

    Args:
        fuses: does an operation of this name do the work of several recorded ones?
        literal: is it a constant, which a step of several parts holds as a number?
    """
    *before, last = stages
    if not before:
        return tuple(stages)
    fused = {n.name for n in last.nodes if len(n.parts) > 1 or fuses(n.operation)}
    fates = {n.name: FUSED if n.name in fused else KEPT for n in last.nodes}
    done = [_with_fates(last, fates)]
    for stage in reversed(before):
        done.insert(0, _with_fates(stage, _against(stage, done[0], fuses, literal)))
    return tuple(done)


def _with_fates(stage: Stage, fates: Mapping[str, str]) -> Stage:
    nodes = (replace(n, fate=fates[n.name]) if n.operation else n for n in stage.nodes)
    return replace(stage, nodes=tuple(nodes))


def _against(stage: Stage, after: Stage, fuses: Test, literal: Test) -> dict[str, str]:
    """The fates of the operations of a stage, where those of the one after it are known."""
    images: dict[str, list[Node]] = {}
    for node in after.nodes:
        for origin in node.origins:
            images.setdefault(origin, []).append(node)
    absorbed = _absorbed(stage, images, fuses)
    needed, constant, equal = _needed(stage), _constant(stage), _Equal(stage)
    fates: dict[str, str] = {}

    def with_image(node: Node, mine: Sequence[Node]) -> str:
        together = [image for image in mine if len(image.parts) > 1]
        if together and literal(node.operation):
            return FOLDED
        if any(image.origins.intersection(fates, equal.to(node)) for image in together):
            return MERGED  # with an earlier one
        if any(source in absorbed and fates.get(source) == FUSED for source in node.inputs):
            return FUSED
        found = [image.fate for image in mine if image.operation] or [FOLDED]
        if node.name in constant & needed and found[0] == DROPPED:
            return FOLDED  # later, after what needed it
        return FUSED if FUSED in found else found[0]

    def without_image(node: Node) -> str:
        if node.name not in needed:
            return DROPPED
        if node.name in constant:
            return FOLDED
        if not equal.to(node).isdisjoint(images):
            return MERGED
        if node.name in absorbed:
            return FUSED
        given = [source for source in node.inputs if source not in constant]
        if len(given) == 1:
            equal.hands_on(node, given[0])
        return DROPPED

    for node in stage.nodes:
        equal.number(node)
        if node.operation:
            mine = images.get(node.name)
            fates[node.name] = with_image(node, mine) if mine else without_image(node)
    return fates


class _Equal:
    """Which nodes compute the same of the same: they have one number."""

    def __init__(self, stage: Stage) -> None:
        self._numbers: dict[Any, int] = {}
        self._of: dict[str, int] = {}
        for node in stage.nodes:
            self.number(node)

    def number(self, node: Node) -> None:
        """Number a node, once more where more is known of its inputs."""
        own = "" if node.operation or node.key else node.name
        inputs = tuple(self._of.get(source, source) for source in node.inputs)
        key = own, node.operation, node.key, inputs
        self._of[node.name] = self._numbers.setdefault(key, len(self._numbers))

    def hands_on(self, node: Node, source: str) -> None:
        """The node computes what `source` does."""
        self._of[node.name] = self._of[source]

    def to(self, node: Node) -> set[str]:
        """The other nodes that are known to compute the same."""
        number = self._of[node.name]
        return {name for name, other in self._of.items() if other == number} - {node.name}


def _absorbed(stage: Stage, images: Mapping[str, list[Node]], fuses: Test) -> Collection[str]:
    """The nodes without an image that lead to an operation which does the work of several."""
    found: set[str] = set()  # with those whose images are such operations
    for node in reversed(stage.nodes):
        own = images.get(node.name, [])
        if any(fuses(image.operation) for image in own) or (not own and node.name in found):
            found.update(node.inputs)
    return found - images.keys()


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
        given = not node.operation and not node.key
        random = any(word in node.operation.lower() for word in _RANDOM)
        if not given and not random and found.issuperset(node.inputs):
            found.add(node.name)
    return found


def content(array: "np.ndarray[Any, Any]") -> str:
    """What tells one constant from another: its value, or its shape and a hash of its bytes."""
    if array.size == 1:
        return str(array.item())
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"
