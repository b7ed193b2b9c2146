"""What a compiler makes of a model, in one form for every framework, as text and as HTML."""

import linecache
import logging
import os
import sys
import sysconfig
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape

from d2lhybrid.i18n import gettext as _

_LIBRARIES = tuple({sysconfig.get_path(key) + os.sep for key in ("purelib", "platlib", "stdlib")})


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

    ``compilations``: those of the object handed over before the question was asked.
    ``graphs``: the graphs that one call takes. ``breaks``: where a graph ends because the next
    step runs in Python. ``fallbacks``: code that always runs in Python. ``unsupported``: what
    the compiler refuses with an error.
    """

    framework: str
    model: str
    compilations: int
    graphs: int
    breaks: tuple[Finding, ...] = ()
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()

    def _rows(self) -> Iterator[tuple[str, int, tuple[Finding, ...]]]:
        yield _("compilations so far"), self.compilations, ()
        yield _("graphs in one call"), self.graphs, ()
        yield _("graph breaks"), len(self.breaks), self.breaks
        yield _("fallbacks to Python"), len(self.fallbacks), self.fallbacks
        yield _("not supported"), len(self.unsupported), self.unsupported

    def __repr__(self) -> str:
        lines = [f"{self.model} ({self.framework})"]
        for name, number, findings in self._rows():
            lines.append(f"  {name}: {number}")
            for finding in findings:
                lines.append("    " + str(finding).replace("\n", "\n      "))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        left = 'style="text-align:left"'
        rows = "".join(
            f"<tr><th {left}>{escape(name)}</th><td {left}>"
            + "<br>".join([str(number), *(escape(str(f)).replace("\n", "<br>") for f in findings)])
            + "</td></tr>"
            for name, number, findings in self._rows()
        )
        caption = escape(f"{self.model} ({self.framework})")
        return f"<table><caption>{caption}</caption>{rows}</table>"


def name_of(model: object) -> str:
    """Return the name of a function, or of the class of anything else."""
    return getattr(model, "__name__", None) or type(model).__name__


def from_error(error: Exception, frames: Iterable[tuple[str, int]] | None = None) -> Finding:
    """Describe an error: its type, the first line of its message, the line of the user's code.

    ``frames`` are (file, line) pairs, outermost first, where the traceback does not have them.
    """
    if frames is None:
        frames = [(f.filename, f.lineno or 0) for f in traceback.extract_tb(error.__traceback__)]
    kind = type(error).__name__
    message = str(error).split(f"{kind}: ")[-1].strip().partition("\n")[0]
    return Finding(f"{kind}: {message}", *last_user_frame(frames))


def last_user_frame(frames: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """Return the innermost (file, line) that is in no installed package and not in this one."""
    foreign = (
        *_LIBRARIES,
        os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
        "<",
    )
    return next((f for f in reversed(list(frames)) if not f[0].startswith(foreign)), ("", 0))


@contextmanager
def quiet() -> Iterator[None]:
    """Keep warnings and log messages back: they repeat what the explanation says."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _readable(file: str) -> str:
    """Shorten a path; a notebook's cell has none, and its number changes with every run."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell and shell.compile.format_code_name(file):
        return _("notebook cell")
    library = next((root for root in _LIBRARIES if file.startswith(root)), "")
    return file[len(library) :] if library else os.path.relpath(file)
