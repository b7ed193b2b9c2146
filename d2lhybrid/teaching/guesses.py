"""What was found beside what the reader has guessed: words, numbers or comparisons."""

from collections.abc import Mapping
from math import inf
from numbers import Integral, Real
from typing import Any

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import count, gettext as _, names, number, sentences
from d2lhybrid.core.progress import ipython
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.wording import kind_of, write_nearest
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.showing.remarks import uncertain
from d2lhybrid.teaching.bars import Group, picture, picture_in_words
from d2lhybrid.teaching.revealed import Revealed

Plain = str | float  # numbers of NumPy, too
NEAR = 0.1 + 1e-9  # how far a guess may lie from a measured number, as a fraction of it
_WRONG = "✗"
_NO_GUESS = "–"


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
    kind = _kind_of_all(actual)
    _require_guesses(guess, actual, kind)
    if kind is Comparison:
        _reveal_comparisons(actual, guess)
    else:
        print(guesses_table(actual, guess))


def _reveal_comparisons(results: Any, guess: Mapping[str, Any]) -> None:
    rows = {str(name): comparison.rows for name, comparison in results.items()}
    guess = {str(name): guessed for name, guessed in guess.items()}
    groups = [Group.of(name, each, guess.get(name)) for name, each in rows.items()]
    below = Revealed(rows, guess)
    if ipython() is None:
        above = sentences(uncertain([*rows.values()]), picture_in_words(groups))
        print(above, below, sep="\n")
        return
    from IPython.display import display
    from matplotlib.pyplot import close

    figure = picture(groups, [*rows.values()]).figure
    display(figure)
    close(figure)  # or the notebook shows it once more below the cell
    display(below)


def _kind_of_all(actual: Any) -> type:
    """Of which kind all of these are: Comparison, str, or Real for numbers.

    Raises:
        ArgumentError: they are no dict of one kind.
    """
    kinds, received = set(), kind_of(actual)
    if isinstance(actual, Mapping) and not isinstance(actual, Comparison):
        kinds = {_kind(value) for value in actual.values()}
        shown = (f"{name!r}: {kind_of(value)}" for name, value in actual.items())
        received = "{" + ", ".join(shown) + "}"
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        message = _(
            "Expected a dict of comparisons, words or numbers by name, such as {example}. "
            "Received: {received}."
        )
        example = '{"ResNet, batch 1": compare(net, x)}'
        raise ArgumentError(message.format(example=example, received=received))
    return kind


def _kind(value: Any) -> type | None:
    if isinstance(value, bool):
        return None
    return next((kind for kind in (Comparison, str, Real) if isinstance(value, kind)), None)


def _require_guesses(guess: Any, actual: Mapping[str, Any], kind: type) -> None:
    """Raise ArgumentError unless it is a dict of guesses of what is of this kind."""
    if not isinstance(guess, Mapping):
        message = _("Expected a dict of guesses, such as {example}. Received: {kind}.")
        name, value = next(iter(actual.items()))
        example = {name: 1.5 if kind is Comparison else value}
        raise ArgumentError(message.format(example=example, kind=type(guess).__name__))
    for name, guessed in guess.items():
        if name not in actual:
            message = _("Expected guesses for {names}. Received: one for {received!r}.")
            said = message.format(names=names(map(repr, actual)), received=name)
            raise ArgumentError(said + write_nearest(name, [*actual]))
        _require_guess(name, guessed, kind)


def _require_guess(name: str, guessed: Any, kind: type) -> None:
    if kind is Comparison:
        is_fit = _kind(guessed) is Real and 0 < guessed < inf
        message = _(
            "Expected a guess above 0, such as 1.5 for 1.5 times as fast. Received: "
            "{received!r} for {name!r}."
        )
    else:
        is_fit = _kind(guessed) is kind
        message = _("Expected a number as the guess for {name!r}. Received: {received!r}.")
        if kind is str:
            message = _("Expected a word as the guess for {name!r}. Received: {received!r}.")
    if not is_fit:
        raise ArgumentError(message.format(name=name, received=guessed))


def guesses_table(actual: Mapping[str, Any], guess: Mapping[str, Plain]) -> str:
    """A row for each name, with a mark where the guess is wrong, and how many are right.

    >>> guesses = {"exp": "dropped", "tanh": "kept"}
    >>> print(guesses_table({"exp": "dropped", "tanh": "fused"}, guesses))
          your guess  actual
    exp   dropped     dropped
    tanh  kept        fused    ✗
    You got 1 of 2 right.
    """
    right = {name for name, guessed in guess.items() if _is_right(guessed, actual[name])}
    rows = [
        [
            str(name),
            _shown(guess[name]) if name in guess else _NO_GUESS,
            _shown(value),
            _WRONG if name in guess and name not in right else "",
        ]
        for name, value in actual.items()
    ]
    of_words = isinstance(next(iter(actual.values())), str)
    heads = _("your guess"), _("actual")
    columns = [Column(left=True), *(Column(head, left=of_words) for head in heads), Column()]
    score = _("You got {right} of {guesses} right.").format(right=len(right), guesses=len(guess))
    return "\n".join([str(Table(columns, rows)), *([score] if guess else [])])


def _is_right(guessed: Any, value: Any) -> bool:
    """Words may also be in the reader's language; a whole number has to be met exactly."""
    if isinstance(value, str):
        return guessed.strip().lower() in (value.lower(), _(value).lower())
    if isinstance(value, Integral) or not value:
        return bool(guessed == value)
    return bool(guessed == value or abs(guessed / value - 1) <= NEAR)


def _shown(value: Any) -> str:
    """A word in the reader's language where the catalog has it, such as a fate; a number."""
    if isinstance(value, str):
        return _(value)
    return count(int(value)) if isinstance(value, Integral) else number(value)
