"""The graph of a model at one stage of compilation: nodes, and the parts of fused steps."""

import hashlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Part(NamedTuple):
    """One operation inside a step, of which a fused step has several.

    ``kind``: the operation, in the words of the last stage. ``origins``: the nodes of the stage
    before that it comes from, as far as the compiler noted them. With several, any of them may be
    its origin; with none, nothing was noted.
    """

    kind: str
    origins: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Node:
    """One operation, or, without an `operation`, an input of the graph or a constant.

    ``inputs``: names of nodes of the same stage. ``attributes``: what the result depends on besides
    its inputs; of a constant its value; empty for an input. ``origins``: the nodes of the stage
    before that it computes, as far as the compiler noted them. ``parts``: what runs as this one
    step. ``lowered_to``: the operations that the compiler lowers it to, in the words of the last
    stage; None where these have the same word for it. ``has_effect``: it does more than compute a
    result from its inputs, such as print or draw a random number. ``is_dead``: the compiler found
    that no result depends on it, though the graph has a path to one. ``fate``: what becomes of it
    until the last stage, one of `d2lhybrid.graphs.fates`; empty where there is no operation.
    """

    name: str
    operation: str = ""
    inputs: tuple[str, ...] = ()
    attributes: str = ""
    origins: frozenset[str] = frozenset()
    parts: tuple[Part, ...] = ()
    lowered_to: tuple[str, ...] | None = None
    has_effect: bool = False
    is_dead: bool = False
    fate: str = ""

    @property
    def is_input(self) -> bool:
        """Is it an input of the graph?"""
        return not self.operation and not self.attributes

    @property
    def is_constant(self) -> bool:
        """Is it a constant?"""
        return not self.operation and bool(self.attributes)

    @property
    def lowered_ops(self) -> tuple[str, ...]:
        """The kinds of operations that the compiler lowers it to, as often as it needs each."""
        return (self.operation,) if self.lowered_to is None else self.lowered_to


@dataclass(frozen=True)
class Stage:
    """The graph at one stage: `nodes`, each after its inputs, and the names of its `outputs`."""

    title: str
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    @property
    def operations(self) -> tuple[Node, ...]:
        """The nodes that are neither inputs nor constants."""
        return tuple(node for node in self.nodes if node.operation)


def describe_constant(array: "np.ndarray[Any, Any]") -> str:
    """What tells a constant from others: its value, or its shape and a hash of its bytes."""
    if array.size == 1:
        return str(array.item())
    return f"{array.shape} {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"
