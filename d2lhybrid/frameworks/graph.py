"""A graph as a framework records it and as it runs, and what became of each operation."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.i18n import pad, width
from d2lhybrid.installing import install_command
from d2lhybrid.report.picture import LARGEST, svg

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
        wide = max(8, *(width(_(word)) for word in MEANINGS.values()))
        for stage in self.stages:
            yield f"  {stage.title}"
            for node in stage.operations:
                what = ", ".join(node.parts) if len(node.parts) > 1 else node.operation
                fate = pad(_(MEANINGS[node.fate]), wide)
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
    users: dict[str, list[Node]] = {}  # the images of those that read a node
    for node in stage.nodes:
        for source in node.inputs:
            users.setdefault(source, []).extend(images.get(node.name, ()))
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
        if any(fuses(image.operation) for image in users.get(name, ())):
            taken_over.add(name)
            return FUSED
        before.passes(node, constant)
        return DROPPED

    nodes = []
    for node in stage.nodes:
        nodes.append(replace(node, fate=fate(node)) if node.operation else node)
        before.add(node)
    return replace(stage, nodes=tuple(nodes))


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
