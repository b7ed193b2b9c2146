"""What a compiler makes of a model, in one form for every framework: in words, and as a graph."""

import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from threading import Lock
from typing import Any

from d2lhybrid.core.i18n import gettext as _, pad, width
from d2lhybrid.core.toolchain import require
from d2lhybrid.display.graph_svg import LARGEST, Stage, svg
from d2lhybrid.display.table import Column, Table
from d2lhybrid.graphs.fates import FATES


@dataclass(frozen=True)
class Finding:
    """One place where the compiler stopped, and why, in the framework's own words."""

    reason: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        if not self.file:
            return self.reason
        place = _("{file}, line {line}").format(file=_readable(self.file), line=self.line)
        return f"{place}: {linecache.getline(self.file, self.line).strip()}\n{self.reason}"


@dataclass(frozen=True, repr=False)
class Explanation:
    """What a compiler did with a model so far, and what it does with one call.

    ``compilations``: those of the object handed over, and of what is compiled in it, before the
    question was asked. ``graphs``: how many graphs one call takes; from ``explain``, also a
    sequence of them. ``breaks``: where a graph ends because the next step runs in Python.
    ``fallbacks``: code that always runs in Python, and code that has reached the limit of
    compilations, so that calls that fit none of its programs run in Python. ``unsupported``: code
    that the compiler refuses with an error, and JAX's leaked tracers, which raise one when they are
    used later. ``notes``: sentences about what the numbers do not say, such as why nothing was
    compiled.
    """

    framework: str
    model: str
    compilations: int
    graphs: int
    breaks: tuple[Finding, ...] = ()
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    def _table(self) -> Table:
        rows = [
            (_("compilations so far"), self.compilations, ()),
            (_("graphs in one call"), self.graphs, ()),
            (_("graph breaks"), len(self.breaks), self.breaks),
            (_("fallbacks to Python"), len(self.fallbacks), self.fallbacks),
            (_("not supported"), len(self.unsupported), self.unsupported),
        ]
        lines = [[f"  {n}:", "\n".join(map(str, (count, *f)))] for n, count, f in rows]
        return Table([Column(left=True, wraps=True)] * 2, lines, gap=" ")

    def __repr__(self) -> str:
        return "\n".join([f"{self.model} ({self.framework})", *self.notes, str(self._table())])

    def _repr_html_(self) -> str:
        heads = f"{self.model} ({self.framework})", *self.notes
        return "<br>".join(map(escape, heads)) + self._table().html()


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
        """What became of each recorded operation, by its name: see `graph`."""
        return {node.name: node.fate for node in self.stages[0].operations}

    def count(self, fate: str) -> int:
        """How many of the recorded operations were "kept", "fused", "folded", ..."""
        return Counter(self.fates.values())[fate]

    def svg(self) -> str:
        """All stages side by side as an SVG picture; its text takes the colour of the page.

        For a screen reader its title is the first line of the printed graph, its description the
        rest.
        """
        return self._svg()

    def _svg(self, alone: bool = False) -> str:
        headline, *lines = repr(self).splitlines()
        words = {fate: _(fate) for fate in FATES}
        return svg(self.stages, words, headline, "\n".join(lines), alone=alone)

    def to_networkx(self, stage: int = 0) -> Any:
        """One stage, the recorded one first, as a ``networkx.DiGraph`` with all data of the nodes.

        Raises:
            MissingPackageError: NetworkX is not installed.
        """
        graph = require("networkx", "graphs").DiGraph(title=self.stages[stage].title)
        for node in self.stages[stage].nodes:
            parts = tuple(part.kind for part in node.parts)
            graph.add_node(node.name, operation=node.operation, fate=node.fate, parts=parts)
            graph.add_edges_from((source, node.name) for source in node.inputs)
        return graph

    def _headline(self) -> str:
        text = _("{model} ({framework}): operations recorded: {recorded}, steps that run: {left}")
        left = len(self.stages[-1].operations)
        return text.format(**vars(self), recorded=len(self.fates), left=left)

    def __repr__(self) -> str:
        lines = [self._headline(), *(f"  {note}" for note in self.notes)]
        rare = {"free", "rewritten"} - set(self.fates.values())
        wide = max(8, *(width(_(fate)) for fate in FATES if fate not in rare))
        for stage in self.stages:
            lines.append(f"  {stage.title}")
            for node in stage.operations:
                parts = ", ".join(part.kind for part in node.parts)
                what = parts if len(node.parts) > 1 else node.operation
                fate = pad(_(node.fate), wide)
                lines.append(f"    {fate} {node.name} = {what}({', '.join(node.inputs)})")
        return "\n".join(lines)

    @property
    def _is_too_large(self) -> bool:
        return any(len(stage.nodes) > LARGEST for stage in self.stages)

    def _repr_svg_(self) -> str | None:
        """For what shows no HTML, or takes the picture out of it; what shows both prefers HTML."""
        return None if self._is_too_large else self._svg(alone=True)

    def _repr_html_(self) -> str:
        if self._is_too_large:
            return f"<pre>{escape(repr(self))}</pre>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f'<div style="overflow-x:auto">{self.svg()}</div>{notes}'


class Graphs(int):
    """How many graphs one call takes; as a sequence, the graphs, which are made when asked for.

    They are made of what was recorded: the Python code of the model does not run again. TensorFlow
    shows what it rewrites only when the recorded graph runs; what that writes to variables is put
    back.

    >>> number = Graphs(2, lambda: ("first", "second"))
    >>> number, number[1], list(number)
    (2, 'second', ['first', 'second'])
    """

    _make: Callable[[], Sequence[Graph]] | None
    _found: Sequence[Graph]
    _lock: Lock

    def __new__(cls, number: int, make: Callable[[], Sequence[Graph]]) -> "Graphs":
        self = super().__new__(cls, number)
        self._make, self._found, self._lock = make if number else None, (), Lock()
        return self

    def __reduce__(self) -> Any:  # a copy, which may be in another process, is the number alone
        return int, (int(self),)

    def __len__(self) -> int:
        return int(self)

    def __getitem__(self, place: int) -> Graph:
        return self._graphs()[place]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self._graphs())

    def _graphs(self) -> Sequence[Graph]:
        with self._lock:  # one of several threads makes them
            if self._make is not None:
                self._found = self._make()
                self._make = None  # with all that was kept for it
        return self._found


class Missing:
    """The private names of a framework that a release of it does not have."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def ask(self, question: Callable[[], Any], otherwise: Any) -> Any:
        """The answer, or `otherwise` where a name is gone that it needs."""
        try:
            return question()
        except (AttributeError, ImportError) as error:
            self._names[error.name or str(error)] = None
            return otherwise

    def notes(self, framework: str) -> tuple[str, ...]:
        """What to say of them: a sentence for each."""
        text = _("This release of {framework} has no {name}, so this report is incomplete.")
        return tuple(text.format(framework=framework, name=name) for name in self._names)


def nothing_compiled(reason: str) -> str:
    """The note for a call in which the compiler made nothing."""
    return _("Nothing was compiled, because {reason}.").format(reason=reason)


def _readable(file: str) -> str:
    """Shorten a path; a notebook's cell has none, and its number changes with every run."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    is_cell = shell and shell.compile.format_code_name(file)
    return _("notebook cell") if is_cell else os.path.relpath(file)
