"""Comparisons by name beside a reader's guesses: their rows, and the reasons of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from typing import Any

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.table import NEVER
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.teaching.guesses import require_guesses
from d2lhybrid.verbs.comparison import Comparison
from d2lhybrid.why.rules import reasons as reasons_of


@dataclass(frozen=True)
class Group:
    """A comparison under its name: the baseline, the variants, and the reader's guess.

    The guess is how many times as fast as the baseline the fastest variant will be; None if there
    is none. `margin` is what counts as the same time, and `floor` the noise floor, as fractions.
    `reasons` are sentences by label: why a row takes its time.
    """

    name: str
    baseline: Row
    rows: tuple[Row, ...]
    processes: int
    margin: float
    floor: float
    guess: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict, hash=False)  # pictures are cached

    @property
    def fastest(self) -> Row | None:
        """The variant with the highest ratio, whose sentence the guess follows."""
        return max(self.rows, key=lambda row: row.latency.ratio, default=None)


def groups(results: Mapping[str, Comparison], guess: Mapping[str, float]) -> list[Group]:
    """The rows of these comparisons, by latency, without references.

    Raises:
        ArgumentError: `results` is no dict of comparisons by name, or `guess` has a name that
            `results` has not, or something else than a number above 0.
    """
    _require_comparisons(results)
    require_guesses(guess, results, example=1.5)
    for name, guessed in guess.items():
        _require_ratio(name, guessed)
    return [_group(str(name), c.rows, guess.get(name)) for name, c in results.items()]


def _require_comparisons(results: Any) -> None:
    example = '{"ResNet, batch 1": compare(net, x)}'
    if not isinstance(results, Mapping) or isinstance(results, Comparison) or not results:
        message = _(
            "Expected a dict of comparisons, words or numbers by name, such as {example}. "
            "Received: {received}."
        )
        received = "{}" if results == {} else type(results).__name__
        raise ArgumentError(message.format(example=example, received=received))
    for name, result in results.items():
        if not isinstance(result, Comparison):
            message = _(
                "Expected what compare returns, such as {example}. Received: {kind} for {name!r}."
            )
            kind = type(result).__name__
            raise ArgumentError(message.format(example=example, kind=kind, name=name))


def _require_ratio(name: str, guessed: Any) -> None:
    is_number = isinstance(guessed, Real) and not isinstance(guessed, bool)
    if not is_number or not 0 < guessed < inf:
        message = _(
            "Expected a guess above 0, such as 1.5 for 1.5 times as fast. Received: "
            "{received!r} for {name!r}."
        )
        raise ArgumentError(message.format(received=guessed, name=name))


def _group(name: str, rows: Rows, guess: float | None) -> Group:
    variants = tuple(_without_early_pay_off(row, rows) for row in rows.variants)
    circumstances = rows.processes, rows.comparison.margin, rows.comparison.noise_floor
    reasons = {reason.label: str(reason) for reason in reasons_of(rows)}
    return Group(name, rows.baseline, variants, *circumstances, guess, reasons)


def _without_early_pay_off(row: Row, rows: Rows) -> Row:
    """The row as a sentence has it: a cold start that nobody feels is not spoken of."""
    is_spoken_of = rows.cold_start_is_felt and row.pays_after not in (1, NEVER)
    return row if is_spoken_of else replace(row, pays_after=None)
