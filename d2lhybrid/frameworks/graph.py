"""A graph as a framework records it and as it runs, shown as a picture, as text, in NetworkX."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from d2lhybrid.frameworks.fates import FATES
from d2lhybrid.i18n import gettext as _, pad, width
from d2lhybrid.installing import require
from d2lhybrid.report.picture import LARGEST, Stage, svg


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
        return svg(self.stages, {fate: _(fate) for fate in FATES}, self._headline())

    def to_networkx(self, stage: int = 0) -> Any:
        """One stage, the recorded one first, as a ``networkx.DiGraph`` with all data of the nodes.

        Raises:
            MissingPackageError: NetworkX is not installed.
        """
        graph = require("networkx", "graphs").DiGraph(title=self.stages[stage].title)
        for node in self.stages[stage].nodes:
            graph.add_node(node.name, operation=node.operation, fate=node.fate, parts=node.parts)
            graph.add_edges_from((source, node.name) for source in node.inputs)
        return graph

    def _headline(self) -> str:
        text = _("{model} ({framework}): operations recorded: {recorded}, steps that run: {left}")
        names = {"model": self.model, "framework": self.framework}
        left = len(self.stages[-1].operations)
        return text.format(**names, recorded=len(self.fates), left=left)

    def __repr__(self) -> str:
        lines = [self._headline(), *(f"  {note}" for note in self.notes)]
        wide = max(8, *(width(_(fate)) for fate in FATES))
        for stage in self.stages:
            lines.append(f"  {stage.title}")
            for node in stage.operations:
                what = ", ".join(node.parts) if len(node.parts) > 1 else node.operation
                fate = pad(_(node.fate), wide)
                lines.append(f"    {fate} {node.name} = {what}({', '.join(node.inputs)})")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        if any(len(stage.nodes) > LARGEST for stage in self.stages):
            return f"<pre>{escape(repr(self))}</pre>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f'<div style="overflow-x:auto">{self.svg()}</div>{notes}'


class Graphs(int):
    """How many graphs one call takes; as a sequence, the graphs, which are made when asked for.

    >>> number = Graphs(2, lambda: ("first", "second"))
    >>> number, number[1], list(number)
    (2, 'second', ['first', 'second'])
    """

    _make: Callable[[], Sequence[Graph]]

    def __new__(cls, number: int, make: Callable[[], Sequence[Graph]]) -> "Graphs":
        self = super().__new__(cls, number)
        self._make = make
        return self

    def __reduce__(self) -> Any:  # a copy, which may be in another process, is the number alone
        return int, (int(self),)

    @cached_property
    def _made(self) -> Sequence[Graph]:
        return self._make() if self else ()

    def __len__(self) -> int:
        return int(self)

    def __getitem__(self, place: int) -> Graph:
        return self._made[place]
