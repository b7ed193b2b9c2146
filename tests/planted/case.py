"""A planted case: callables of which one row has a known cause, written beside it.

The causes are planted from what users write, and from what the frameworks' own logs say of it; none
of them is chosen by how this package finds it. ``benchmarks/why.py`` holds what ``why`` says of the
row against them: its line has to show what decides, and a cause that it names has to be true.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

NOT_FASTER = ("not_whole", "recompiled", "nothing_to_rewrite", "entering", "moved_data")
FASTER = ("faster_fused", "faster_python", "faster_folded_or_layout")
FRAMEWORKS = ("torch", "tensorflow", "jax", "mxnet")
# By the planted cause, what shows it in the line of facts or in the sentence.
SHOWN_BY = {
    "not_whole": r"graph breaks?\b|no compiled code ran|in Python",
    "recompiled": r"programs? compiled in|compiles (in each call|again)|compilations of this",
    "nothing_to_rewrite": r"of them (a )?matrix product|\b1 operation in 1 step",
    "entering": r"before compiled code begins",
    "moved_data": r"before compiled code begins",
    "faster_fused": r"\d operations? in \d+ steps?",
    "faster_python": r"overhead of Python",
    "faster_folded_or_layout": r"computed while compiling|memory layout",
}
# The kinds of ``Reason.cause``, and which of the planted ones each of them names.
NAMES = {
    "not_compiled": {"not_whole"},
    "graph_break": {"not_whole"},
    "recompiled": {"recompiled"},
    "entering": {"entering", "moved_data"},
    "faster_python": {"faster_python"},
}

_made: dict[str, dict[str, "Case"]] = {}  # by the module that plants them


@dataclass(frozen=True)
class Case:
    """One row of a comparison, and why it takes the time that it takes.

    ``build`` returns the callables by label and then their arguments. The row is the last one, or
    that named ``row``. ``causes`` are all that are true of it, the planted one first; a control has
    none planted, and ``causes`` are what may be said of it. ``real`` cases are planted in a
    residual network or a Transformer. ``checked`` is False where each call has another answer.
    """

    name: str
    planted: str
    causes: tuple[str, ...]
    sentence: str
    build: Callable[[], tuple[Any, ...]]
    row: str | None = None
    real: bool = False
    checked: bool = True

    def label(self, functions: dict[str, Any]) -> str:
        return self.row or [*functions][-1]

    def judge(self, cause: str, said: str) -> str:
        """What it means that the row has this cause, and these facts in words."""
        if cause != "unknown" and NAMES[cause].isdisjoint(self.causes):
            return "FALSE"
        if not self.planted:
            return "true"
        return "shown" if re.search(SHOWN_BY[self.planted], said) else "silent"


def planted(cause, sentence, *, also=(), row=None, real=False, checked=True):
    """Make a case of a function that plants a cause; `also` are others that are true of its row."""
    assert {cause, *also} <= {*NOT_FASTER, *FASTER}
    return _maker(cause, (cause, *also), sentence, row, real, checked)


def control(sentence, *, true=(), row=None):
    """Make a case of a function in which nothing is wrong; `true` may be said of its row."""
    return _maker("", tuple(true), sentence, row, False, True)


def _maker(cause, causes, sentence, row, real, checked):
    def make(build):
        case = Case(build.__name__, cause, causes, sentence, build, row, real, checked)
        _made.setdefault(build.__module__, {})[case.name] = case
        return case

    return make


def cases(framework: str) -> dict[str, Case]:
    """The cases of a framework by name; this imports the framework."""
    module = f"{framework}_cases"
    import_module(module)
    return _made[module]
