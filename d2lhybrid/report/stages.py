"""A graph at the stages of a compiler's work, as plain data."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """One operation, or, without an `operation`, an input of the graph or a constant.

    ``inputs``: names of nodes of the same stage. ``key``: what it depends on besides, such as its
    attributes; the value of a constant; empty for an input. ``origins``: the nodes of the stage
    before that it computes. ``parts``: the operations of that stage that run as this one.
    ``fate``: what becomes of it until the last stage: "kept", "fused" (it runs as a part of
    another), "folded" (computed in advance), "merged" (an equal one does its work) or "dropped"
    (nothing needs it); empty where there is no operation.
    """

    name: str
    operation: str = ""
    inputs: tuple[str, ...] = ()
    key: str = ""
    origins: frozenset[str] = frozenset()
    parts: tuple[str, ...] = ()
    fate: str = ""


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
