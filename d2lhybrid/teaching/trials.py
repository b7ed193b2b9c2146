"""What compilers make of the same function: ``Trials`` tries each, and keeps it for a table."""

import copy
import textwrap
import warnings
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from d2lhybrid.backends.outputs import to_host
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, listed, names
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.wording import described, unknown_label

Way = Callable[[Function, Any], Function]

LONGEST_LINE = 150  # characters of an error or a warning
DIGITS = 4  # after the point, of a result


class Raised(str):
    """What stands in place of a result: the type of an error and the first line of its message."""


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
        return _line(error)


def _line(error: Any) -> Raised:
    """An error or a warning, cut if it is long."""
    return Raised(textwrap.shorten(errors.brief(error), LONGEST_LINE))


def _numbers(value: Any) -> Any:
    """Arrays of any framework as rounded Python numbers; what is no number as it is."""
    if isinstance(value, (list, tuple)):
        return [_numbers(part) for part in value]
    if isinstance(value, Mapping):  # in one order, because JAX sorts what it returns
        return {key: _numbers(value[key]) for key in sorted(value, key=str)}
    array = to_host(value)
    if array is None:
        return value
    numbers = array.values()
    if numbers.dtype.kind in "iufc":
        wide = numbers.astype(np.result_type(numbers, np.float64))
        numbers = wide.round(DIGITS) + 0  # -0.0 becomes 0.0
    return numbers.tolist()


@dataclass(frozen=True)
class Tried:
    """What came of one way: the second call's result, warnings, and the graphs after each call."""

    result: Any
    warnings: tuple[str, ...] = ()
    graphs: tuple[int, int] = (0, 0)

    def same(self, expected: Any) -> bool:
        """Whether it is this result; by what they print, because NaN equals nothing."""
        return repr(self.result) == repr(expected)

    def verdict(self, expected: Any, as_good: bool) -> str:
        """The word for it in the table."""
        first, second = self.graphs
        if isinstance(self.result, Raised):  # also where eager execution raises it
            return self.result.partition(":")[0]
        if not self.same(expected):
            return _("different numbers") if as_good else _("wrong result")
        if first > 1:
            return _("fallback")
        return _("recompilation") if second > first else _("same as eager")

    def notice(self, expected: Any) -> str:
        """What tells somebody who has no eager result beside it."""
        if isinstance(self.result, Raised):  # also where eager execution raises it
            return _("an error")
        if self.warnings:
            return _("a warning")
        if not self.same(expected):
            return _("nothing")
        return _("slower calls") if self.graphs[1] > 1 else ""

    def shown(self, expected: Any) -> str:
        """What is printed: the result itself where it is not the expected one, and the warnings."""
        text = _("the same (graphs: {count})") if self.graphs[1] > 1 else _("the same")
        same = text.format(count=self.graphs[1])
        return "\n".join([same if self.same(expected) else str(self.result), *self.warnings])


@dataclass
class Situation:
    """One row of the table: the eager result, what each way made of it, and what to write."""

    eager: Any
    happens: str
    noticed: str
    instead: list[str] = field(default_factory=list)


@dataclass(repr=False, eq=False)
class Trials:
    """Calls functions eagerly and compiled, prints the results, and keeps them for a table.

    Every version is called twice, with an example and then with another input, and the second
    result counts: it shows whether the compiler froze a value from the example. Results
    are compared as they are printed, with four digits after the point. The object itself shows
    as a table of all situations.

    Args:
        ways: the compilers by name. Each takes the function and the example, and returns what
            to call.
        inputs: the example and the other input, if a call names none.
        eager: makes the uncompiled version of a function; the function itself if not given.
        reset: called before each way, and before the eager calls.
        graphs: how many graphs a compiled function has so far.
        situations: the rows of the table, which several of these objects may share.

    >>> import operator
    >>> trials = Trials({"frozen": lambda f, example: lambda x: f(example)}, inputs=(1, 2))
    >>> trials(operator.neg, "a changed input")
    a changed input
      eager   -2.0
      frozen  -1.0
    >>> trials
    situation        what happens  what you notice  write instead
    a changed input  wrong result  nothing
    """

    ways: Mapping[str, Way]
    _: KW_ONLY
    inputs: tuple[Any, ...] = ()
    eager: Callable[[Function], Function] = lambda function: function
    reset: Callable[[], object] = lambda: None
    graphs: Callable[[Function], int] = lambda compiled: 0
    situations: dict[str, Situation] = field(default_factory=dict)

    def __call__(
        self,
        function: Function,
        of: str = "",
        *,
        instead: str = "",
        inputs: tuple[Any, ...] = (),
        as_good: bool = False,
    ) -> None:
        """Try a function in every way and print what comes.

        Args:
            function: what is tried. A class is made anew for each way, so that none finds what
                another has left in an object.
            of: the situation that this is about, which becomes a row of the table.
            instead: what this function uses in place of what went wrong in the situation, by
                default the latest; its eager result is compared with that of the function that it
                replaces.
            inputs: the example and the other input, in place of those of this object.
            as_good: different numbers are right as well, rounded or drawn differently: those of a
                way in a situation, and the eager ones of a replacement.
        """
        inputs = inputs or self.inputs
        text = _("Expected {examples}. Received: {received}.")
        if len(inputs) != 2:
            received = f"inputs=({described(inputs, {})})"
            fields = {"examples": "inputs=(example, other)", "received": received}
            raise ArgumentError(text.format(**fields))
        if instead and not self.situations:
            fields = {"examples": 'trials(function, "situation")', "received": f"{instead=}"}
            raise ArgumentError(text.format(**fields))
        if instead and of and of not in self.situations:
            raise unknown_label(of, self.situations, {})
        example, other = inputs
        eager = self._try(lambda f, _: self.eager(f), function, example, other, count=False)
        expected = eager.result
        tried = {name: self._try(way, function, example, other) for name, way in self.ways.items()}
        self._show(instead or of, expected, tried)
        if instead:
            row = self.situations[of or list(self.situations)[-1]]
            # Who does not do what the replaced function did: the ways, and eager execution itself.
            differing = [way for way, each in tried.items() if not each.same(expected)]
            is_same = as_good or isinstance(row.eager, Raised) or repr(row.eager) == repr(expected)
            differing += [] if is_same else [_("eager")]
            text = _("{name} (differs: {ways})") if differing else "{name}"
            row.instead.append(text.format(name=instead, ways=names(differing)))
        elif of:
            happens = {name: each.verdict(expected, as_good) for name, each in tried.items()}
            noticed = {name: each.notice(expected) for name, each in tried.items()}
            self.situations[of] = Situation(expected, _joined(happens), _joined(noticed))

    def _try(
        self, way: Way, function: Function, example: Any, other: Any, *, count: bool = True
    ) -> Tried:
        """The result for the other input, after the example; each call may write into a copy."""
        self.reset()
        graphs = []
        for_compiler, *inputs = map(_copied, (example, example, other))

        def second() -> Any:
            version = function() if isinstance(function, type) else function
            compiled = way(version, for_compiler)
            for given in inputs:
                result = compiled(given)
                graphs.append(self.graphs(compiled) if count else 0)
            return result

        with warnings.catch_warnings(record=True) as caught:
            result = outcome(second)
        warned = tuple(sorted({_line(warning.message) for warning in caught}))
        return Tried(result, warned, (graphs[0], graphs[1]) if len(graphs) == 2 else (0, 0))

    def _show(self, title: str, expected: Any, tried: Mapping[str, Tried]) -> None:
        shown = {name: each.shown(expected) for name, each in tried.items()}
        rows = [[_("eager"), str(expected)], *([ways, text] for text, ways in _grouped(shown))]
        table = str(Table([Column(left=True)] * 2, rows))
        print(title, textwrap.indent(table, "  "), sep="\n") if title else print(table)

    def _table(self) -> Table:
        heads = [_("situation"), _("what happens"), _("what you notice"), _("write instead")]
        rows = [
            [of, row.happens, row.noticed, listed(row.instead)]
            for of, row in self.situations.items()
        ]
        return Table([Column(head, left=True, wraps=True) for head in heads], rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table().html()


def _copied(given: Any) -> Any:
    """A copy of an input; raises ArgumentError if it can't be copied."""
    try:
        return copy.deepcopy(given)
    except Exception as error:
        text = _("Expected inputs that can be copied. Received: {received} ({reason}).")
        received, reason = described([given], {}), _line(error)
        raise ArgumentError(text.format(received=received, reason=reason)) from error


def _grouped(words: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each word with the names that have it."""
    having: dict[str, list[str]] = {}
    for name, word in words.items():
        having.setdefault(word, []).append(name)
    return [(word, names(group)) for word, group in having.items()]


def _joined(words: Mapping[str, str]) -> str:
    """What each name has, or what all of them have; a name that has nothing is left out."""
    groups = [group for group in _grouped(words) if group[0]]
    if len(groups) == 1 and all(words.values()):
        return groups[0][0]
    # Translators: ways to run a function, and what came of it
    text = _("{ways}: {outcome}")
    return listed(text.format(ways=ways, outcome=word) for word, ways in groups)
