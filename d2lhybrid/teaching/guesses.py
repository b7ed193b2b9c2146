"""Words or numbers beside a reader's guesses: a table, and how many guesses are right."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import count, gettext as _, names, number
from d2lhybrid.core.table import Column, Table
from d2lhybrid.core.usage import kind_of

Plain = str | float  # numbers of NumPy, too
NEAR = 0.1 + 1e-9  # how far a guess may lie from a measured number, as a fraction of it
_WRONG = "✗"
_NO_GUESS = "–"


def require_guesses(guess: Any, actual: Mapping[str, Any], example: object) -> None:
    """Raise ArgumentError unless it is a dict without a name that `actual` lacks."""
    if not isinstance(guess, Mapping):
        message = _("Expected a dict of guesses, such as {example}. Received: {kind}.")
        shown = dict.fromkeys([*actual][:1], example)
        raise ArgumentError(message.format(example=shown, kind=type(guess).__name__))
    for name in guess:
        if name not in actual:
            message = _("Expected guesses for {names}. Received: one for {received!r}.")
            said = message.format(names=names(map(repr, actual)), received=name)
            raise ArgumentError(said + write_nearest(name, [*actual]))


def in_words(actual: Mapping[str, Plain], guess: Mapping[str, Plain]) -> str:
    """A row for each name, with a mark where the guess is wrong, and how many are right.

    Raises:
        ArgumentError: `actual` holds something else than words alone or numbers alone, or `guess`
            something of the other kind or a name that `actual` has not.

    >>> print(in_words({"exp": "dropped", "tanh": "fused"}, {"exp": "dropped", "tanh": "kept"}))
          your guess  actual
    exp   dropped     dropped
    tanh  kept        fused    ✗
    You got 1 of 2 right.
    """
    of_words = _are_words(actual)
    require_guesses(guess, actual, next(iter(actual.values())))
    for name, guessed in guess.items():
        _require_same_kind(name, guessed, of_words)
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
    heads = _("your guess"), _("actual")
    columns = [Column(left=True), *(Column(head, left=of_words) for head in heads), Column()]
    score = _("You got {right} of {guesses} right.").format(right=len(right), guesses=len(guess))
    return "\n".join([str(Table(columns, rows)), *([score] if guess else [])])


def _are_words(actual: Mapping[str, Any]) -> bool:
    """Whether they are words; else they are numbers."""
    for name, value in actual.items():
        if not isinstance(value, str) and not _is_number(value):
            message = _(
                "Expected comparisons, words or numbers. Received: {received} for {name!r}."
            )
            raise ArgumentError(message.format(received=kind_of(value), name=name))
    words = [value for value in actual.values() if isinstance(value, str)]
    numbers = [value for value in actual.values() if not isinstance(value, str)]
    if words and numbers:
        message = _("Expected words alone or numbers alone. Received: {word!r} and {number!r}.")
        raise ArgumentError(message.format(word=words[0], number=numbers[0]))
    return bool(words)


def _require_same_kind(name: str, guessed: Any, of_words: bool) -> None:
    if of_words and not isinstance(guessed, str):
        message = _("Expected a word as the guess for {name!r}. Received: {received!r}.")
        raise ArgumentError(message.format(name=name, received=guessed))
    if not of_words and not _is_number(guessed):
        message = _("Expected a number as the guess for {name!r}. Received: {received!r}.")
        raise ArgumentError(message.format(name=name, received=guessed))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


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
