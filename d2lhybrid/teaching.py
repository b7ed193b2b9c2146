"""Run a function as it is and through several compilers, and set what comes out side by side."""

import copy
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, pad
from d2lhybrid.report.table import Column, Row, Table

Function = Callable[..., Any]
Way = Callable[[Function, Any], Function]

LONGEST_LINE = 150
DIGITS = 4


class Raised(str):
    """What stands in place of a result: the type of an error and the first line of its message."""

    @property
    def kind(self) -> str:
        """The type alone."""
        return self.partition(":")[0]


@dataclass(frozen=True)
class Outcome:
    """What came of one way: the result, the warnings on the way, and the graphs it took.

    ``as_good`` says that a result unlike the eager one is right, too: rounded or drawn otherwise.
    """

    result: Any
    warnings: tuple[str, ...] = ()
    graphs: int = 0
    as_good: bool = False

    def same(self, expected: Any) -> bool:
        """Whether it is this result; by what they print, because NaN equals nothing."""
        return repr(self.result) == repr(expected)

    def verdict(self, expected: Any) -> str:
        """The word for it in the table."""
        if isinstance(self.result, Raised):
            return self.result.kind
        if self.same(expected):
            text = _("as eager (graphs: {count})") if self.graphs else _("as eager")
            return text.format(count=self.graphs)
        if self.as_good:
            return _("other numbers")
        return _("wrong result, with a warning") if self.warnings else _("wrong result")

    def shown(self, expected: Any) -> str:
        """What is printed: the result itself where it is not the expected one."""
        if not self.same(expected):
            return str(self.result)
        text = _("the same (graphs: {count})") if self.graphs else _("the same")
        return text.format(count=self.graphs)


@dataclass
class Situation:
    """One row of the table: what eager execution gave, what each way made of it, what to write."""

    eager: dict[str, Any] = field(default_factory=dict)  # by style
    ways: dict[str, str] = field(default_factory=dict)
    instead: dict[str, list[str]] = field(default_factory=dict)  # what is wrong with each


def outcome(function: Function, *inputs: Any) -> Any:
    """Call a function; return its result as rounded Python numbers, or what it raised as text.

    >>> outcome(lambda x: x / 3, 1.0)
    0.3333
    >>> outcome(lambda x: x.shape, [1, 2])
    "AttributeError: 'list' object has no attribute 'shape'"
    """
    try:
        return _numbers(function(*inputs))
    except Exception as error:
        return first_line(error)


def first_line(error: BaseException | str) -> Raised:
    """The type of an error or a warning and the first line of its message, cut if it is long.

    >>> first_line(ValueError("Expected a number.\\nReceived: 'a'."))
    'ValueError: Expected a number.'
    """
    kind = type(error).__name__
    message = str(error).split(f"{kind}: ")[-1].strip() or _("(no message)")
    return Raised(textwrap.shorten(f"{kind}: {message.splitlines()[0]}", LONGEST_LINE))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], group: str = "") -> None:
    """Print rows of figures under their heads; names may stand first, and `group` over the others.

    >>> print_table(["size", "copy", "sum"], [[8, 1.5, 12.25]], group="GB/s")
          ── GB/s ───
    size  copy    sum
       8   1.5  12.25
    """
    named = any(isinstance(row[0], str) for row in rows)
    columns = [Column(heads[0], left=named), *(Column(head, group) for head in heads[1:])]
    print(Table(columns, [Row(list(map(str, row))) for row in rows]))


class Trials:
    """Calls functions eagerly and compiled, prints what each way gives, and keeps it for a table.

    Every version is called twice, with an example and then with another input, and the second
    result counts: a compiler that has fixed something of the example shows it there. Results
    are compared as they are printed, with four digits after the point. The object itself shows
    as a table of all the situations that were named with ``of``.

    Args:
        ways: the compilers by name. Each takes the function and the example, and returns what
            to call.
        inputs: the example and the other input, where a call names none.
        eager: makes the uncompiled version of a function; the function itself if None.
        reset: called before each way.
        graphs: how many graphs the last way has compiled; 0 where it does not count them.

    >>> import operator
    >>> trials = Trials({"frozen": lambda f, example: lambda x: f(example)}, inputs=(1, 2))
    >>> trials(operator.neg, of="a changed input")
    eager   -2.0
    frozen  -1.0
    >>> trials
    situation        eager  frozen        instead
    a changed input  works  wrong result
    """

    def __init__(
        self,
        ways: Mapping[str, Way],
        *,
        inputs: tuple[Any, Any] | None = None,
        eager: Callable[[Function], Function] | None = None,
        reset: Callable[[], object] | None = None,
        graphs: Callable[[], int] | None = None,
    ) -> None:
        self.ways = dict(ways)
        self.inputs = inputs
        self.eager = eager or (lambda function: function)
        self.reset = reset or (lambda: None)
        self.graphs = graphs or (lambda: 0)
        self.situations: dict[str, Situation] = {}

    def __call__(
        self,
        function: Function,
        *inputs: Any,
        of: str = "",
        instead: str = "",
        style: str = "",
    ) -> None:
        """Try a function in every way and print what comes.

        Args:
            function: what is tried.
            *inputs: the example and the other input, in place of those of this object.
            of: the situation that this is about, under which the table has it.
            instead: what this function uses in place of what went wrong in the situation; its
                eager result is compared with that of the function that it replaces.
            style: a second name for the same ways.
        """
        example, other = inputs or self.inputs or ()
        expected = outcome(self._called, lambda f, _: self.eager(f), function, example, other)
        tried = {name: self._try(way, function, example, other) for name, way in self.ways.items()}
        self.show(expected, tried, style=style)
        if of:
            self.record(of, expected, tried, instead=instead, style=style)

    def show(self, expected: Any, tried: Mapping[str, Any], *, style: str = "") -> None:
        """Print what eager execution gave and what each way made of it."""
        styled = [pad(style, len("classic"))] if style else []  # of one width, for all to line up
        rows = [Row([*styled, _("eager"), str(expected)])]
        for name, found in tried.items():
            found = found if isinstance(found, Outcome) else Outcome(found)
            said = "\n".join([found.shown(expected), *found.warnings])
            rows.append(Row([*("" for _style in styled), name, said]))
        print(Table([Column(left=True)] * len(rows[0].cells), rows))

    def record(
        self,
        of: str,
        expected: Any,
        tried: Mapping[str, Any],
        *,
        instead: str = "",
        style: str = "",
    ) -> None:
        """Keep outcomes for the table: results, texts of errors, or `Outcome` objects by way."""
        row = self.situations.setdefault(of, Situation())
        outcomes = {
            _styled(name, style): o if isinstance(o, Outcome) else Outcome(o)
            for name, o in tried.items()
        }
        if not instead:
            row.eager[style] = expected
            row.ways.update({name: o.verdict(expected) for name, o in outcomes.items()})
            return
        wrong = row.instead.setdefault(instead, [])
        wrong += [name for name, found in outcomes.items() if not found.same(expected)]
        before = row.eager.get(style, expected)
        if not isinstance(before, Raised) and not Outcome(expected).same(before):
            wrong.append(_styled(_("eager"), style))

    def _called(self, way: Way, function: Function, example: Any, other: Any) -> Any:
        compiled = way(function, _fresh(example))
        compiled(_fresh(example))
        return compiled(_fresh(other))

    def _try(self, way: Way, function: Function, example: Any, other: Any) -> Outcome:
        self.reset()
        with warnings.catch_warnings(record=True) as caught:
            result = outcome(self._called, way, function, example, other)
        lines = sorted({str(first_line(entry.message)) for entry in caught if entry.message})
        return Outcome(result, tuple(lines), self.graphs())

    def _table(self) -> Table:
        """What nothing else tells the reader of stands out: a wrong result."""
        names = list(dict.fromkeys(name for row in self.situations.values() for name in row.ways))
        silent = (_("wrong result"), _("wrong result, with a warning"))
        rows = []
        for of, row in self.situations.items():
            errors = [r.kind for r in row.eager.values() if isinstance(r, Raised)]
            eager = listed(dict.fromkeys(errors)) or (_("works") if row.eager else "–")
            instead = listed(_advice(name, wrong) for name, wrong in row.instead.items())
            cells = [of, eager, *(row.ways.get(name, "–") for name in names), instead]
            rows.append(Row(cells, strong=[i for i, cell in enumerate(cells) if cell in silent]))
        heads = [_("situation"), _("eager"), *names, _("instead")]
        return Table([Column(head, left=True, wraps=True) for head in heads], rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table().html()


def _styled(name: str, style: str) -> str:
    # Translators: a way to run a function, and the style that the function is written in
    return _("{name} ({style})").format(name=name, style=style) if style else name


def _advice(name: str, wrong: list[str]) -> str:
    if not wrong:
        return name
    return _("{name} (differs: {ways})").format(name=name, ways=listed(wrong))


def _fresh(value: Any) -> Any:
    """A copy of an array, because the function may write into it."""
    for method in ("clone", "copy"):
        if hasattr(value, method):
            return getattr(value, method)()
    return copy.deepcopy(value)


def _numbers(result: Any) -> Any:
    """An array of any framework as rounded Python numbers; anything else as it is."""
    result = result.asnumpy() if hasattr(result, "asnumpy") else result
    result = result.detach() if hasattr(result, "detach") else result
    values = np.asarray(result)
    if values.dtype.kind in "OSU":
        return result
    return values.tolist() if values.dtype.kind == "b" else _rounded(values)


def _rounded(values: np.ndarray) -> Any:
    return (np.asarray(values, dtype="float64").round(DIGITS) + 0.0).tolist()
