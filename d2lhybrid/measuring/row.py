"""What a comparison shows, as plain data: a row for each variant, and when it was measured.

``showing.rows`` computes it once. Table, plots, sentences, data frame and the JSON for programs
read rows, and what belongs to all of them from the measurements that the rows are of.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from d2lhybrid.core.i18n import gettext as _, number
from d2lhybrid.core.table import NEVER, calls
from d2lhybrid.measuring.measurement import Costs
from d2lhybrid.measuring.measurements import Measurements

if TYPE_CHECKING:  # it loads with the first that is observed
    from d2lhybrid.graphs.facts import Facts

FELT_CALLS = 10  # a cold start that is shorter than so many calls goes unnoticed


@dataclass(frozen=True)
class Times:
    """A variant by one metric: its time per call, its ratio to the baseline, and the verdict."""

    seconds: float
    ratio: float = 1.0  # above 1 is faster; that of the baseline is 1
    interval: tuple[float, float] = (1.0, 1.0)  # of the ratio, from 0 to infinity if there is none
    verdict: str = "same"
    # The interval of the time itself, or the range of the samples if they are too few for one.
    spread: tuple[float, float] | None = None
    differs_between_processes: bool = False  # by more than more rounds could narrow?
    # The end of the ratio that is nearer to 1, if the verdict was given while the machine was busy:
    # the ratio is at least that of what is faster, and at most that of what is slower.
    bound_while_busy: float | None = None

    @property
    def shown_ratio(self) -> str:
        """How many times as fast it is; "at least" so many, if the machine was busy."""
        return ratio_in_words(self.ratio, self.bound_while_busy)

    @property
    def shown_inverse(self) -> str:
        """How many times as long it takes."""
        inverse = 1 / self.ratio if self.ratio else inf
        return ratio_in_words(inverse, 1 / self.bound_while_busy if self.bound_while_busy else None)

    @property
    def is_not_faster(self) -> bool:
        """Does the whole interval of the ratio lie below 1, whatever the noise?"""
        return self.interval[1] < 1


@dataclass(frozen=True)
class Row(Costs):
    """A variant: its times by metric and its Costs, or the `reason` why it was not run."""

    label: str
    role: str = "variant"  # or 'baseline' or 'reference'
    deprecated: bool = False
    other_runtime: bool = False  # one that isn't the framework
    is_best: bool = False  # is it the one that is recommended?
    is_busy: bool = False  # did other programs hold it up too often for a verdict?
    has_stream: bool = False  # does the throughput say something of its own?
    times: Mapping[str, Times] = field(default_factory=dict, hash=False)
    # Calls after which it has paid off its cold start, ``math.inf`` if it never does, None if that
    # is not known; if the row `lacks_compiler_start`, at least so many.
    pays_after: float | None = None
    # The same with its build counted; None if nothing was built.
    pays_after_with_build: float | None = None
    facts: "Facts | None" = None  # what was asked of it after the rounds, if anything
    reason: str = ""  # why it has no times; "" if it has

    @property
    def name(self) -> str:
        """The label as it is shown, with a word if it is deprecated or another runtime."""
        return named(self.label, self.deprecated, self.other_runtime)

    @property
    def stream(self) -> Times | None:
        """Its times in a stream of calls if they say something of their own."""
        return self.times["throughput"] if self.has_stream else None

    @property
    def is_slower_in_stream(self) -> bool:
        """Is it slower than the baseline if calls aren't waited for one by one?"""
        return self.stream is not None and self.stream.verdict == "slower"

    @property
    def pays_at_once(self) -> bool:
        """Has it paid off its cold start at the first call, as far as that was timed whole?"""
        return self.pays_after == 1 and not self.lacks_compiler_start

    @property
    def calls_to_pay(self) -> str:
        """`pays_after` as text, with "≥" if the cold start lacks a compiler's."""
        return self._at_least(self.pays_after)

    @property
    def calls_to_pay_with_build(self) -> str:
        """`pays_after_with_build` as text, alike."""
        return self._at_least(self.pays_after_with_build)

    def _at_least(self, count: float | None) -> str:
        is_least = self.lacks_compiler_start and count not in (None, NEVER)
        return f"≥ {calls(count)}" if is_least else calls(count)

    @property
    def latency(self) -> Times:
        """Its times by the metric that decides."""
        return self.times["latency"]


@dataclass(frozen=True)
class Rows:
    """The rows of a comparison in its order, those that were not run at the end."""

    rows: tuple[Row, ...]
    measurements: Measurements  # of which these are the rows

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def processes(self) -> int:
        """How many fresh processes measured; 0 if the rounds were taken in the reader's."""
        return len(self.measurements.processes)

    @property
    def measured(self) -> list[Row]:
        """Those that were run."""
        return [row for row in self.rows if row.times]

    @property
    def not_run(self) -> list[Row]:
        """Those that were not, each with its reason."""
        return [row for row in self.rows if not row.times]

    @property
    def is_open(self) -> bool:
        """Is a verdict that the table shows undecided?"""
        verdicts = [
            row.times[metric].verdict
            for row in self.variants
            for metric in self.measurements.metrics
            if metric in row.times
        ]
        return "undecided" in verdicts

    @property
    def baseline(self) -> Row:
        """The one that ratios refer to."""
        return next(row for row in self.rows if row.role == "baseline")

    @property
    def variants(self) -> list[Row]:
        """Those that were run and may be chosen: neither the baseline nor a reference."""
        return [row for row in self.measured if row.role == "variant"]

    @property
    def recommended(self) -> Row | None:
        """The one to use in place of the baseline, if there is one."""
        return next((row for row in self.rows if row.is_best), None)

    @property
    def undecided(self) -> list[Row]:
        """The variants whose verdict on the latency is undecided."""
        return [row for row in self.variants if row.latency.verdict == "undecided"]

    @property
    def cold_start_is_felt(self) -> bool:
        """Does any cold start last so long that it is worth a column, and is there a variant?"""
        felt = [row for row in self.measured if row.cold_seconds > FELT_CALLS * row.latency.seconds]
        return bool(felt and self.variants)

    def says_calls_to_pay(self, row: Row) -> bool:
        """Does a sentence say after how many calls a row pays off its cold start?

        Not if no column may have them, nor if they are a lower bound.
        """
        return self.cold_start_is_felt and not row.lacks_compiler_start


def fastest(rows: Sequence[Row]) -> Row:
    """The one with the highest ratio of these, at least one."""
    return max(rows, key=lambda row: row.latency.ratio)


def ratio_in_words(ratio: float, nearer: float | None) -> str:
    """A ratio, or that it is at least, or at most, the end that is nearer to 1."""
    if nearer is None:
        return number(ratio)
    # Translators: in place of a number, as in "it is at least 1.5 times as fast"
    text = _("at least {ratio}") if nearer > 1 else _("at most {ratio}")
    return text.format(ratio=number(nearer))


def named(label: str, deprecated: bool, other_runtime: bool) -> str:
    """The label as it is shown, with a word if it is deprecated or another runtime."""
    if other_runtime:
        # Translators: a way to run a model in a package other than its framework
        return _("{label} (another runtime)").format(label=label)
    # Translators: a way to run a model that its makers have deprecated
    return _("{label} (deprecated)").format(label=label) if deprecated else label
