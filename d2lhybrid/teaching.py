"""What the chapters print with, beside the verbs.

Tables of figures, what compilers make of the same function, and what was found beside a reader's
guesses are made here; plots, the language and the other names are handed on. Importing this module
loads no framework and no Matplotlib.
"""

import copy
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeGuard

import numpy as np

from d2lhybrid.backends.outputs import to_host
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _, listed, pad, sentences, set_language
from d2lhybrid.core.output import quiet
from d2lhybrid.core.toolchain import USUAL_CXX, no_compiler
from d2lhybrid.display.plot import plot_calls, plot_roofline
from d2lhybrid.display.table import Column, Table
from d2lhybrid.experiment.claim import in_ipython
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.guessed import Plain, in_words
from d2lhybrid.experiment.revealed import Revealed, groups, picture, picture_in_words
from d2lhybrid.experiment.shown import uncertain
from d2lhybrid.memory import PeakMemory

__all__ = [
    "PeakMemory",
    "Trials",
    "has_compiler",
    "outcome",
    "pad",
    "plot_calls",
    "plot_roofline",
    "print_table",
    "quiet",
    "reveal",
    "set_language",
]

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
        if isinstance(self.result, Raised):
            return self.result.kind
        if not self.same(expected):
            return _("different numbers") if as_good else _("wrong result")
        if first > 1:
            return _("fallback")
        return _("recompilation") if second > first else _("same as eager")

    def notice(self, expected: Any) -> str:
        """What tells somebody who has no eager result beside it."""
        if isinstance(self.result, Raised):
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


def has_compiler() -> bool:
    """Is there the C++ compiler that ``torch.compile`` calls on this system?

    That is the one that the environment variable CXX names, or else g++, clang++ on a Mac, and cl
    on Windows.

    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", CXX="a-compiler-that-is-missing"):
    ...     has_compiler()
    False
    """
    return not no_compiler("C++", USUAL_CXX)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], group: str = "") -> None:
    """Print rows of figures under their heads; names may stand first, and `group` over the others.

    >>> print_table(["size", "copy", "sum"], [[8, 1.5, 12.25]], group="GB/s")
          GB/s
    size  copy    sum
       8   1.5  12.25
    """
    for row in rows:
        if len(row) != len(heads):
            text = _("Expected rows of {n} figures, one for each head. Received: {row}.")
            raise errors.ArgumentError(text.format(n=len(heads), row=[*row]))
    first, *others = heads
    named = any(isinstance(row[0], str) for row in rows)
    if group and others:
        others[0] = f"{group}\n{others[0]}"
    shown = [list(map(str, row)) for row in rows]
    print(Table([Column(first, left=named), *map(Column, others)], shown))


def reveal(
    actual: Mapping[str, Comparison] | Mapping[str, Plain], guess: Mapping[str, Plain]
) -> None:
    """Show what was found beside what the reader has guessed.

    Words and numbers are printed as a table with a mark where a guess is wrong, and how many
    guesses are right. A number that isn't whole may be missed by 10%. Words of ours, such as
    fates, are shown in the reader's language and may be guessed in it.

    Of comparisons, the picture comes first: a bar for each variant except the baseline and the
    references, and each guess as a hollow diamond in the row of the fastest. Below it stand a
    sentence for each bar, and the tables under *Details*. Outside of IPython all three are printed
    in words.

    Args:
        actual: by the names to show, words (such as ``graph(...).fates``), numbers, or what
            ``compare`` returned.
        guess: by these names, the word or the number; of a comparison, how many times as fast as
            the baseline the fastest variant will be. Names may be missing.

    Raises:
        ArgumentError: `actual` is no dict of words alone, numbers alone or comparisons alone; or
            `guess` has a name that `actual` has not, something of another kind, or no number
            above 0 for a comparison.
        MissingPackageError: in IPython, if matplotlib is not installed, for comparisons.

    >>> reveal({"eager": 5, "compiled": 1}, {"eager": 4})
              your guess  actual
    eager              4       5  ✗
    compiled           –       1
    You got 0 of 1 right.
    """
    if _is_plain(actual):
        print(in_words(actual, guess))
    else:
        _reveal_comparisons(actual, guess)


def _is_plain(actual: Any) -> TypeGuard[Mapping[str, Plain]]:
    """Whether there are no comparisons to reveal, and something else."""
    if not isinstance(actual, Mapping) or isinstance(actual, Comparison) or not actual:
        return False
    return not any(isinstance(value, Comparison) for value in actual.values())


def _reveal_comparisons(results: Any, guess: Mapping[str, Any]) -> None:
    revealed = groups(results, guess)
    comparisons = [comparison.rows for comparison in results.values()]
    below = Revealed(revealed, comparisons)
    if not in_ipython():
        print(sentences(uncertain(comparisons), picture_in_words(revealed)), below, sep="\n")
        return
    from IPython.display import display
    from matplotlib.pyplot import close

    figure = picture(revealed, comparisons).figure
    display(figure)
    close(figure)  # or the notebook shows it once more below the cell
    display(below)


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

    Raises:
        ArgumentError: a call has not two inputs, or its replacement comes before any situation.

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
    situations: dict[str, Situation] = field(default_factory=dict, init=False)

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
        given = inputs or self.inputs
        if len(given) != 2:
            text = _("Expected two inputs: an example and another. Received: {received}.")
            raise errors.ArgumentError(text.format(received=len(given)))
        if instead and not (of in self.situations or (self.situations and not of)):
            text = _("Expected a situation before what to write instead. Received: {situation!r}.")
            raise errors.ArgumentError(text.format(situation=of))
        expected = self._try(lambda f, _: self.eager(f), function, *given, count=False).result
        tried = {name: self._try(way, function, *given) for name, way in self.ways.items()}
        self._show(instead or of, expected, tried)
        if instead:
            row = self.situations[of or list(self.situations)[-1]]
            replaced = expected if as_good else row.eager
            row.instead.append(_advice(instead, _differing(replaced, expected, tried)))
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

        def second() -> Any:
            version = function() if isinstance(function, type) else function
            compiled = way(version, copy.deepcopy(example))
            for given in (example, other):
                result = compiled(copy.deepcopy(given))
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


def _grouped(words: Mapping[str, str]) -> list[tuple[str, str]]:
    """Each word with the names that have it."""
    names: dict[str, list[str]] = {}
    for name, word in words.items():
        names.setdefault(word, []).append(name)
    return [(word, ", ".join(having)) for word, having in names.items()]


def _joined(words: Mapping[str, str]) -> str:
    """What each name has, or what all of them have; a name that has nothing is left out."""
    groups = [group for group in _grouped(words) if group[0]]
    if len(groups) == 1 and all(words.values()):
        return groups[0][0]
    # Translators: ways to run a function, and what came of it
    text = _("{ways}: {outcome}")
    return listed(text.format(ways=ways, outcome=word) for word, ways in groups)


def _differing(before: Any, expected: Any, tried: Mapping[str, Tried]) -> list[str]:
    """Who does not do what the replaced function did: the ways, and eager execution itself."""
    names = [way for way, each in tried.items() if not each.same(expected)]
    changed = not isinstance(before, Raised) and repr(before) != repr(expected)
    return [*names, _("eager")] if changed else names


def _advice(name: str, differing: Sequence[str]) -> str:
    text = _("{name} (differs: {ways})") if differing else "{name}"
    return text.format(name=name, ways=", ".join(differing))


def _numbers(value: Any) -> Any:
    """Arrays of any framework as rounded Python numbers; what is no number as it is."""
    if isinstance(value, (list, tuple)):
        return [_numbers(part) for part in value]
    array = to_host(value)
    if array is None:
        return value
    numbers = array.values()
    if numbers.dtype.kind in "iufc":
        wide = numbers.astype(np.result_type(numbers, np.float64))
        numbers = wide.round(DIGITS) + 0  # -0.0 becomes 0.0
    return numbers.tolist()
