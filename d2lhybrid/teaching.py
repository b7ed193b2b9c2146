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

from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _, listed, pad, sentences, set_language
from d2lhybrid.core.output import quiet
from d2lhybrid.core.toolchain import has_compiler
from d2lhybrid.display.plot import plot_calls, plot_roofline
from d2lhybrid.display.table import Column, Table
from d2lhybrid.experiment.claim import in_ipython
from d2lhybrid.experiment.comparison import Comparison
from d2lhybrid.experiment.guessed import Plain, in_words
from d2lhybrid.experiment.revealed import Revealed, groups, picture, picture_in_words
from d2lhybrid.experiment.shown import uncertain
from d2lhybrid.frameworks import to_host
from d2lhybrid.timing import PeakMemory

__all__ = [
    "Outcome",
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
Tried = Mapping[str, Any]  # by way: a result, the text of an error, or an Outcome

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
        wrong = _("wrong result, with a warning") if self.warnings else _("wrong result")
        return _("other numbers") if self.as_good else wrong

    def shown(self, expected: Any) -> str:
        """What is printed: the result itself where it is not the expected one, and the warnings."""
        text = _("the same (graphs: {count})") if self.graphs else _("the same")
        same = text.format(count=self.graphs)
        return "\n".join([same if self.same(expected) else str(self.result), *self.warnings])


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
        return _line(error)


def _line(error: Any) -> Raised:
    """An error or a warning, cut if it is long."""
    return Raised(textwrap.shorten(errors.brief(error), LONGEST_LINE))


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], group: str = "") -> None:
    """Print rows of figures under their heads; names may stand first, and `group` over the others.

    >>> print_table(["size", "copy", "sum"], [[8, 1.5, 12.25]], group="GB/s")
          GB/s
    size  copy    sum
       8   1.5  12.25
    """
    first, second, *others = heads
    named = any(isinstance(row[0], str) for row in rows)
    columns = [f"{group}\n{second}" if group else second, *others]
    shown = [list(map(str, row)) for row in rows]
    print(Table([Column(first, left=named), *map(Column, columns)], shown))


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
    if not isinstance(actual, Mapping) or not actual:
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
    """Calls functions eagerly and compiled, prints what each way gives, and keeps it for a table.

    Every version is called twice, with an example and then with another input, and the second
    result counts: a compiler that has fixed something of the example shows it there. Results
    are compared as they are printed, with four digits after the point. The object itself shows
    as a table of all the situations that were named with ``of``.

    Args:
        ways: the compilers by name. Each takes the function and the example, and returns what
            to call.
        inputs: the example and the other input, where a call names none.
        eager: makes the uncompiled version of a function; the function itself if not given.
        reset: called before each way.
        graphs: how many graphs the last way has compiled.

    Raises:
        ArgumentError: a call has not two inputs.

    >>> import operator
    >>> trials = Trials({"frozen": lambda f, example: lambda x: f(example)}, inputs=(1, 2))
    >>> trials(operator.neg, of="a changed input")
    eager   -2.0
    frozen  -1.0
    >>> trials
    situation        eager  frozen        instead
    a changed input  works  wrong result
    """

    ways: Mapping[str, Way]
    _: KW_ONLY
    inputs: tuple[Any, ...] = ()
    eager: Callable[[Function], Function] = lambda function: function
    reset: Callable[[], object] = lambda: None
    graphs: Callable[[], int] = lambda: 0
    situations: dict[str, Situation] = field(default_factory=dict, init=False)

    def __call__(
        self, function: Function, *inputs: Any, of: str = "", instead: str = "", style: str = ""
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
        given = inputs or self.inputs
        if len(given) != 2:
            text = _("Expected two inputs: an example and another. Received: {received}.")
            raise errors.ArgumentError(text.format(received=len(given)))
        expected = outcome(_second, lambda f, _: self.eager(f), function, *given)
        tried = {name: self._try(way, function, *given) for name, way in self.ways.items()}
        self.show(expected, tried, style=style)
        if of:
            self.record(of, expected, tried, instead=instead, style=style)

    def show(self, expected: Any, tried: Tried, *, style: str = "") -> None:
        """Print what eager execution gave and what each way made of it."""
        shown = {name: _outcome(result).shown(expected) for name, result in tried.items()}
        rows = [[name, text] for name, text in {_("eager"): str(expected), **shown}.items()]
        if style:  # of one width, for all to line up
            rows = [[pad(style, len("classic")), *rows[0]], *(["", *row] for row in rows[1:])]
        print(Table([Column(left=True)] * len(rows[0]), rows))

    def record(
        self, of: str, expected: Any, tried: Tried, *, instead: str = "", style: str = ""
    ) -> None:
        """Keep what came of each way for the table; results, texts of errors, or outcomes."""
        row = self.situations.setdefault(of, Situation())
        outcomes = {_styled(name, style): _outcome(result) for name, result in tried.items()}
        if not instead:
            row.eager[style] = expected
            row.ways.update({name: each.verdict(expected) for name, each in outcomes.items()})
            return
        wrong = row.instead.setdefault(instead, [])
        wrong += [name for name, each in outcomes.items() if not each.same(expected)]
        before = row.eager.get(style, expected)
        if not isinstance(before, Raised) and not Outcome(expected).same(before):
            wrong.append(_styled(_("eager"), style))

    def _try(self, way: Way, function: Function, example: Any, other: Any) -> Outcome:
        self.reset()
        with warnings.catch_warnings(record=True) as caught:
            result = outcome(_second, way, function, example, other)
        warned = tuple(sorted({_line(warning.message) for warning in caught}))
        return Outcome(result, warned, self.graphs())

    def _table(self) -> Table:
        names = list(dict.fromkeys(name for row in self.situations.values() for name in row.ways))
        rows = []
        for of, row in self.situations.items():
            raised = [result.kind for result in row.eager.values() if isinstance(result, Raised)]
            eager = listed(dict.fromkeys(raised)) or (_("works") if row.eager else "–")
            instead = listed(_advice(name, wrong) for name, wrong in row.instead.items())
            rows.append([of, eager, *(row.ways.get(name, "–") for name in names), instead])
        heads = [_("situation"), _("eager"), *names, _("instead")]
        return Table([Column(head, left=True, wraps=True) for head in heads], rows)

    def __repr__(self) -> str:
        return str(self._table())

    def _repr_html_(self) -> str:
        return self._table().html()


def _second(way: Way, function: Function, example: Any, other: Any) -> Any:
    """What a function gives for the other input, after the example; it may write into a copy."""
    compiled = way(function, copy.deepcopy(example))
    compiled(copy.deepcopy(example))
    return compiled(copy.deepcopy(other))


def _outcome(result: Any) -> Outcome:
    return result if isinstance(result, Outcome) else Outcome(result)


def _styled(name: str, style: str) -> str:
    # Translators: a way to run a function, and the style that the function is written in
    return _("{name} ({style})").format(name=name, style=style) if style else name


def _advice(name: str, wrong: list[str]) -> str:
    text = _("{name} (differs: {ways})") if wrong else "{name}"
    return text.format(name=name, ways=listed(wrong))


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
