"""Comparisons by name beside a reader's guesses: their rows, and the reasons of these."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from d2lhybrid.core.table import NEVER
from d2lhybrid.measuring.row import Row, Rows
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
    """The rows of these comparisons, by latency, without references."""
    return [_group(str(name), c.rows, guess.get(name)) for name, c in results.items()]


def _group(name: str, rows: Rows, guess: float | None) -> Group:
    variants = tuple(_without_early_pay_off(row, rows) for row in rows.variants)
    circumstances = rows.processes, rows.measurements.margin, rows.measurements.noise_floor
    reasons = {reason.label: str(reason) for reason in reasons_of(rows)}
    return Group(name, rows.baseline, variants, *circumstances, guess, reasons)


def _without_early_pay_off(row: Row, rows: Rows) -> Row:
    """The row as a sentence has it: a cold start too short to be felt is left out."""
    is_spoken_of = rows.cold_start_is_felt and row.pays_after not in (1, NEVER)
    return row if is_spoken_of else replace(row, pays_after=None)
