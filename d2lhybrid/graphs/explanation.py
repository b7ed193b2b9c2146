"""What a compiler makes of a model, in words, in the same form for every framework."""

import linecache
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from html import escape
from traceback import extract_tb
from typing import Any, Self

from d2lhybrid.core.errors import ArgumentError, first_line
from d2lhybrid.core.i18n import count, gettext as _, names, ngettext
from d2lhybrid.core.progress import ipython
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.user_code import last_user_frame
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.program import Program, counted, with_contractions


@dataclass(frozen=True)
class Finding:
    """One place where the compiler stopped, and why, in the framework's own words."""

    reason: str
    file: str = ""
    line: int = 0

    @classmethod
    def of(cls, error: Exception, frames: Iterable[tuple[str, int]] | None = None) -> Self:
        """Describe an error: its type, the first line of its message, the line of the user's code.

        ``frames`` are (file, line) pairs, outermost first, where the traceback does not have them.
        """
        if frames is None:
            frames = [(f.filename, f.lineno or 0) for f in extract_tb(error.__traceback__)]
        return cls(f"{type(error).__name__}: {first_line(error)}", *last_user_frame(frames))

    def __str__(self) -> str:
        if not self.file:
            return self.reason
        place = _("{file}, line {line}").format(file=_readable(self.file), line=self.line)
        return f"{place}: {linecache.getline(self.file, self.line).strip()}\n{self.reason}"


class Recording:
    """What was recorded of a call; the graphs are made of it when somebody first looks at them.

    `make` makes them: the Python code of the model does not run again. That takes `seconds`, about,
    0 where it is known to take little. `eager_operations` are those that eager code starts at least
    in place of what was recorded, where they were counted while it was recorded.

    >>> recording = Recording(lambda: ("first", "second"))
    >>> recording.graphs()
    ('first', 'second')
    """

    def __init__(
        self,
        make: Callable[[], tuple[Graph, ...]],
        seconds: float = 0.0,
        eager_operations: int | None = None,
    ) -> None:
        self._make, self.seconds, self.eager_operations = make, seconds, eager_operations

    def graphs(self) -> tuple[Graph, ...]:
        """The graphs, in the order of the call."""
        return self._graphs

    @cached_property
    def _graphs(self) -> tuple[Graph, ...]:
        return self._make()

    def __reduce__(self) -> Any:  # a copy, which may be in another process, holds the graphs
        return Recording, (partial(tuple, self.graphs()), 0.0, self.eager_operations)


@dataclass(frozen=True, repr=False)
class Explanation:
    """What a compiler did with a model so far, and what it does with one call.

    ``compilations``: how often the object, and anything compiled inside it, was compiled before the
    question was asked. ``graph_count``: how many graphs one call takes. ``breaks``: where a graph
    ends because the next step runs in Python. ``fallbacks``: code that always runs in Python, and
    code that has reached the limit of compilations, so that calls that fit none of its programs run
    in Python. ``unsupported``: code that the compiler refuses with an error, and JAX's leaked
    tracers, which raise an error when they are used later. ``notes``: sentences about what the
    numbers don't say, such as why nothing was compiled. ``recording``: what ``graphs()`` makes
    graphs of; it holds no model, only what was recorded.
    """

    framework: str
    model: str
    compilations: int
    graph_count: int
    breaks: tuple[Finding, ...] = ()
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    recording: Recording | None = field(default=None, compare=False)

    def graphs(self) -> tuple[Graph, ...]:
        """The graphs that the call takes, in their order.

        The first call makes them from what was recorded; the model's Python code doesn't run again.

        Raises:
            ArgumentError: not all graphs of the call were recorded, as that of a block of Gluon's
                that was compiled before.
        """
        if self.graph_count and self.recording is None:
            text = _("Some graphs of this call of {model} ({framework}) weren't recorded.")
            raise ArgumentError(text.format(model=self.model, framework=self.framework))
        return self.recording.graphs() if self.recording else ()

    @cached_property
    def program(self) -> Program | None:
        """The graphs of the call, counted: operations recorded, steps that run, of what kind.

        None if the call takes no graph, or if it isn't known which steps run. Like ``graphs()``, it
        makes the graphs when it is first used.
        """
        return counted(self.graphs()) if self.graph_count and self.recording else None

    def _table(self) -> Table:
        """What there is to say: a line for each kind of finding, and the program in numbers."""
        # Translators: before a number, like all lines of this table
        rows = [(_("graphs in one call"), count(self.graph_count))]
        if self.compilations:
            rows.insert(0, (_("compilations so far"), count(self.compilations)))
        for name, findings in (
            (_("graph breaks"), self.breaks),
            (_("fallbacks to Python"), self.fallbacks),
            (_("not supported"), self.unsupported),
        ):
            if findings:
                rows.append((name, "\n".join(map(str, (len(findings), *findings)))))
        if self.program:
            rows += [
                # Translators: the number of operations, before that number
                (_("operations recorded"), count(self.program.recorded)),
                # Translators: the number of operations that are fused with others, before it
                (_("fused with others"), count(self.program.fused)),
                # Translators: the number of steps in which a compiled call runs, before it
                (_("steps that run"), _steps(self.program)),
            ]
            if self.program.copies:
                rows.append((_("copies besides"), count(self.program.copies)))
        lines = [[f"  {name}:", value] for name, value in rows]
        return Table([Column(left=True, wraps=True)] * 2, lines, gap=" ")

    def __repr__(self) -> str:
        return "\n".join([f"{self.model} ({self.framework})", *self.notes, str(self._table())])

    def _repr_html_(self) -> str:
        heads = f"{self.model} ({self.framework})", *self.notes
        return "<br>".join(map(escape, heads)) + self._table().html()


class MissingNames:
    """The private names of a framework that a release of it does not have."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}

    def ask(self, question: Callable[[], Any], default: Any) -> Any:
        """The answer, or `default` if a name is gone that it needs."""
        try:
            return question()
        except (AttributeError, ImportError) as error:
            self._names[error.name or str(error)] = None
            return default

    def notes(self, framework: str) -> tuple[str, ...]:
        """A sentence for each name that is gone."""
        text = _("This release of {framework} has no {name}, so this report is incomplete.")
        return tuple(text.format(framework=framework, name=name) for name in self._names)


def _steps(program: Program) -> str:
    """How many steps run, and of what kind they are."""
    if not program.steps:
        return _("0, because nothing is computed")
    numbers = {"steps": count(program.steps), "loops": count(program.control_flow)}
    if program.control_flow:
        text = ngettext(
            "{steps}, {loops} of them a loop or branch, whose own steps aren't counted",
            "{steps}, {loops} of them loops or branches, whose own steps aren't counted",
            program.control_flow,
        )
    elif program.contractions:
        return with_contractions(numbers["steps"], program)
    elif program.contractions_in_loops:
        text = _(
            "{steps}, none of them a library call: the compiler turned matrix products, "
            "convolutions or attention into loops"
        )
    else:
        text = _("{steps}, none of them a matrix product, convolution or attention")
    return text.format(**numbers)


def nothing_compiled(reason: str) -> str:
    """The note for a call in which the compiler made nothing."""
    return _("Nothing was compiled, because {reason}.").format(reason=reason)


def never_reached(compiled: Iterable[str]) -> str:
    """Why a call runs no compiled code, if it calls nothing of what is compiled."""
    text = _("This call doesn't reach what is compiled: {names}.")
    return text.format(names=names(dict.fromkeys(compiled)))


def calls_what_is_compiled(model: str) -> str:
    """The note for what isn't compiled itself, and takes the graphs of what it calls."""
    text = _(
        "{model} itself isn't compiled, but it calls compiled code: these are the graphs of that "
        "code. The rest of the call runs in Python."
    )
    return text.format(model=model)


def _readable(file: str) -> str:
    """A short form of a path; a notebook's cell has none, and its number changes with every run."""
    shell = ipython()
    is_cell = shell and shell.compile.format_code_name(file)
    if is_cell:
        return _("notebook cell")
    return os.path.relpath(file)
