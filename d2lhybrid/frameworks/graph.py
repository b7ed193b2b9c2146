"""A graph as a framework records it and as it runs, and what became of each operation."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.frameworks.picture import LARGEST, svg
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.i18n import pad
from d2lhybrid.installing import install_command

KEPT, FUSED, FOLDED, MERGED, DROPPED = "kept", "fused", "folded", "merged", "dropped"
MEANINGS = {
    KEPT: N_("kept"),
    FUSED: N_("fused"),
    FOLDED: N_("folded"),
    MERGED: N_("merged"),
    DROPPED: N_("dropped"),
}


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


@dataclass(frozen=True, repr=False)
class Graph:
    """A graph at each `stage` of a compiler's work, from the recorded one to the one that runs.

    As the last expression of a cell it is a picture, printed it is text. ``notes``: sentences
    about what the picture does not show.
    """

    framework: str
    model: str
    stages: tuple[Stage, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def fates(self) -> dict[str, str]:
        """What became of each recorded operation, by its name."""
        return {node.name: node.fate for node in self.stages[0].operations}

    def count(self, fate: str) -> int:
        """How many of the recorded operations were "kept", "fused", "folded", ..."""
        return Counter(self.fates.values())[fate]

    def svg(self) -> str:
        """All stages side by side as an SVG picture; its text takes the colour of the page."""
        words = {fate: _(word) for fate, word in MEANINGS.items()}
        return svg(self.stages, words, self._headline())

    def to_networkx(self, stage: int = 0) -> Any:
        """One stage, the recorded one first, as a ``networkx.DiGraph`` with all data of the nodes.

        Raises:
            MissingPackageError: NetworkX is not installed.
        """
        try:
            import networkx
        except ImportError as error:
            text = _("Expected NetworkX. Received: {error}. Install it: {command}")
            command = install_command("graphs")
            raise MissingPackageError(text.format(error=error, command=command)) from error
        graph = networkx.DiGraph(title=self.stages[stage].title)
        for node in self.stages[stage].nodes:
            data = {"operation": node.operation, "fate": node.fate, "parts": node.parts}
            graph.add_node(node.name, **data)
        for node in self.stages[stage].nodes:
            graph.add_edges_from((source, node.name) for source in node.inputs)
        return graph

    def _headline(self) -> str:
        text = _("{model} ({framework}): operations recorded: {recorded}, steps that run: {left}")
        numbers = {"recorded": len(self.fates), "left": len(self.stages[-1].operations)}
        return text.format(model=self.model, framework=self.framework, **numbers)

    def _lines(self) -> Iterator[str]:
        yield self._headline()
        yield from (f"  {note}" for note in self.notes)
        for stage in self.stages:
            yield f"  {stage.title}"
            for node in stage.operations:
                what = ", ".join(node.parts) if len(node.parts) > 1 else node.operation
                fate = pad(_(MEANINGS[node.fate]), 8)
                yield f"    {fate} {node.name} = {what}({', '.join(node.inputs)})"

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        if max(len(stage.nodes) for stage in self.stages) > LARGEST:
            return f"<pre>{escape(repr(self))}</pre>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f'<div style="overflow-x:auto">{self.svg()}</div>{notes}'


class Graphs(int):
    """How many graphs one call takes; as a sequence, the graphs, which are made when asked for.

    >>> number = Graphs(2, lambda: ("first", "second"))
    >>> number, number[1], list(number)
    (2, 'second', ['first', 'second'])
    """

    make: Callable[[], Sequence[Graph]]

    def __new__(cls, number: int, make: Callable[[], Sequence[Graph]]) -> "Graphs":
        self = super().__new__(cls, number)
        self.make = make
        return self

    @cached_property
    def _made(self) -> Sequence[Graph]:
        return self.make() if self else ()

    def __len__(self) -> int:
        return int(self)

    def __getitem__(self, place: int) -> Graph:
        return self._made[place]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self._made)


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
    needed, constant, twins = _needed(stage), _constant(stage), _twins(stage)
    consumers: dict[str, list[str]] = {}
    for node in stage.nodes:
        for source in node.inputs:
            consumers.setdefault(source, []).append(node.name)
    rank = {node.name: place for place, node in enumerate(stage.nodes)}
    taken_over: set[str] = set()  # by an operation that does the work of several

    def fate(node: Node) -> str:
        name, mine = node.name, images.get(node.name, [])
        earlier = [twin for twin in twins[name] if rank[twin] < rank[name]]
        if mine:
            together = [n for n in mine if len(n.parts) > 1]
            if together and literal(node.operation):
                return FOLDED
            if together and any(set(earlier) & n.origins for n in together):
                return MERGED
            if any(source in taken_over for source in node.inputs):
                return FUSED
            fates = [image.fate or FOLDED for image in mine]
            if name in constant and name in needed and fates[0] == DROPPED:
                return FOLDED  # later, after what needed it
            return FUSED if FUSED in fates else fates[0]
        if name not in needed:
            return DROPPED
        if name in constant:
            return FOLDED
        if any(twin in images for twin in twins[name]):
            return MERGED
        users = (n for user in consumers.get(name, ()) for n in images.get(user, ()))
        if not any(fuses(n.operation) for n in users):
            return DROPPED
        taken_over.add(name)
        return FUSED

    nodes = tuple(replace(n, fate=fate(n)) if n.operation else n for n in stage.nodes)
    return replace(stage, nodes=nodes)


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


def _twins(stage: Stage) -> dict[str, list[str]]:
    """For each node, those that compute the same of the same."""
    numbers: dict[Any, int] = {}
    of: dict[str, int] = {}
    for node in stage.nodes:
        own = "" if node.operation or node.key else node.name
        signature = (own, node.operation, node.key, tuple(of.get(i, i) for i in node.inputs))
        of[node.name] = numbers.setdefault(signature, len(numbers))
    equal: dict[int, list[str]] = {}
    for name, number in of.items():
        equal.setdefault(number, []).append(name)
    return {name: [twin for twin in equal[number] if twin != name] for name, number in of.items()}
