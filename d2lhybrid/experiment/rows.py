"""What a comparison shows, as plain data: a row for each variant, and when it was measured.

``Comparison.rows`` computes it once. The table, the plots, the sentences, the data frame and the
JSON for programs read rows and nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from d2lhybrid.core.i18n import gettext as _, ngettext, noop as N_, number
from d2lhybrid.core.stats import FEWEST
from d2lhybrid.display.table import NEVER, calls
from d2lhybrid.experiment.provenance import Environment
from d2lhybrid.why.facts import Facts

FELT_CALLS = 10  # a cold start that is shorter than so many calls goes unnoticed


class Verdict(NamedTuple):
    """How one verdict is worded, in English as the catalogs have it, and how it is drawn.

    `sign` tells it in a table and `marker` (of matplotlib) in a plot, where colours cannot be told
    apart. The colours are those of Okabe and Ito (*Color Universal Design*, 2008), which are made
    for the colour-blind, and read on a light page as on a dark one.
    """

    word: str
    sign: str
    marker: str
    colour: str


VERDICTS = {
    "faster": Verdict(N_("faster"), "▲", "<", "#009E73"),
    "slower": Verdict(N_("slower"), "▼", ">", "#D55E00"),
    "same": Verdict(N_("same"), "=", "s", "#56B4E9"),
    "undecided": Verdict(N_("undecided"), "?", "D", "#E69F00"),
}


@dataclass(frozen=True)
class Times:
    """A variant by one metric: its time per call, and its ratio to the baseline with the verdict.

    A ratio above 1 is faster; that of the baseline is 1. `interval` is that of the ratio, from 0 to
    infinity if there are too few rounds for one. `spread` is the interval of the time itself, or
    the range of the samples if they are too few. `in_each` is 'faster' or 'slower' if there are too
    few rounds, or processes, for a verdict and each of them says that by a factor of two or more.
    `range_of_processes` are the lowest and the highest ratio among so many `processes`, which may
    differ by more than more rounds could narrow. `while_busy` is the end of the ratio that is
    nearer to 1, if the verdict was given while the machine was busy: the ratio is at least that of
    what is faster, and at most that of what is slower.
    """

    seconds: float
    ratio: float = 1.0
    interval: tuple[float, float] = (1.0, 1.0)
    verdict: str = "same"
    in_each: str = ""
    spread: tuple[float, float] | None = None
    range_of_processes: tuple[float, float] | None = None
    processes: int = 0
    differs_between_processes: bool = False
    while_busy: float | None = None

    @property
    def shown_ratio(self) -> str:
        """How many times as fast it is; "at least" so many, if the machine was busy."""
        return in_words(self.ratio, self.while_busy)

    @property
    def shown_inverse(self) -> str:
        """How many times as long it takes."""
        inverse = 1 / self.ratio if self.ratio else inf
        return in_words(inverse, 1 / self.while_busy if self.while_busy else None)

    @property
    def is_not_faster(self) -> bool:
        """Does the whole interval of the ratio lie below 1, whatever the noise?"""
        return self.interval[1] < 1

    @property
    def shown_verdict(self) -> str:
        """The verdict whose sign is shown: if there is none, what each of a few rounds says."""
        return self.in_each or self.verdict


@dataclass(frozen=True)
class Row:
    """A variant: its times by metric and what it costs once, or the `reason` why it has none.

    It `ended_later` if one of several processes ended at it, which others had measured.

    `role` is 'baseline', 'variant' or 'reference'. An `other_runtime` isn't the framework.
    `pays_after` is the number of calls after which it has paid off its cold start, ``math.inf`` if
    it never does, None if that is not known; `pays_after_with_build` is the same with its build
    counted, and None if nothing was built. `compiler` is the one that a process has to start for
    it; `compiler_seconds`, what that took, are part of `cold_seconds`. If they are not known, the
    row `lacks_compiler_start`: then a cold start and what it takes to pay off are at least so much.
    `has_stream` is true if the throughput says something of its own.
    `is_busy` is true if other programs held it up too often for a verdict. `page_fault_share` is
    the part of its time that new memory takes, None where nobody tells. `first_compilations` are
    the programs that its first call compiled, `later_compilations` those of the `later_calls`
    since, None where nobody counts. `facts` is what was asked of it after the rounds, if anything.
    """

    label: str
    role: str = "variant"
    deprecated: bool = False
    other_runtime: bool = False
    is_best: bool = False
    is_busy: bool = False
    has_stream: bool = False
    times: Mapping[str, Times] = field(default_factory=dict, hash=False)
    build_seconds: float | None = None
    load_seconds: float | None = None
    first_seconds: float | None = None
    cold_seconds: float | None = None
    compiler: str = ""
    compiler_seconds: float | None = None
    lacks_compiler_start: bool = False
    pays_after: float | None = None
    pays_after_with_build: float | None = None
    disk_cache_hit: bool = False
    page_faults: float | None = None
    page_fault_share: float | None = None
    first_compilations: int | None = None
    later_compilations: int | None = None
    later_calls: int = 0
    facts: Facts | None = None
    note: str | None = None
    reason: str = ""
    ended_later: bool = False

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

    @property
    def compilations_per_call(self) -> float | None:
        """How many programs a call after the first compiled, in the mean; None if not counted."""
        if self.later_compilations is None or not self.later_calls:
            return None
        return self.later_compilations / self.later_calls


@dataclass(frozen=True)
class Rows:
    """The rows of a comparison in its order, those that were not run at the end.

    `metrics` are those that say something of their own. `processes` is the number of fresh ones; 0
    if the rounds were taken in this process. In `disturbed_processes` of them, other programs held
    a variant up too often. `confidence` is the lowest of the intervals'.
    `warnings` are sentences about what may not be what the reader asks. `limit_needed` is the time
    limit that enough rounds would have needed, None if there are enough. `circumstance` is a
    sentence on how it was measured, if any, and `took` the seconds of all of it, None if unknown.
    """

    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    rounds: int
    disturbed_rounds: int
    processes: int
    disturbed_processes: int
    confidence: float
    noise_floor: float
    margin: float
    busy: bool
    noisy: bool
    stopped: str
    limit_needed: float | None
    seed: int
    env: Environment = field(hash=False)
    warnings: tuple[str, ...] = ()
    circumstance: str = ""
    took: float | None = None

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

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
            row.times[metric].shown_verdict
            for row in self.variants
            for metric in self.metrics
            if metric in row.times
        ]
        return "undecided" in verdicts

    @property
    def has_interval(self) -> bool:
        """Are there enough rounds, or processes, for intervals?"""
        return (self.processes or self.rounds) >= FEWEST

    @property
    def baseline(self) -> Row:
        """The one that ratios refer to."""
        return next(row for row in self.rows if row.role == "baseline")

    @property
    def variants(self) -> list[Row]:
        """Those that were run and may be chosen: neither the baseline nor a reference."""
        return [row for row in self.measured if row.role == "variant"]

    @property
    def cold_start_is_felt(self) -> bool:
        """Does any cold start last so long that it is worth a column, and is there a variant?"""
        felt = [
            row
            for row in self.measured
            if (row.cold_seconds or 0.0) > FELT_CALLS * row.latency.seconds
        ]
        return bool(felt and self.variants)


def in_words(ratio: float, nearer: float | None) -> str:
    """A ratio, or that it is at least, or at most, the end that is nearer to 1."""
    if nearer is None:
        return number(ratio)
    # Translators: in place of a number, as in "it is at least 1.5 times as fast"
    text = _("at least {ratio}") if nearer > 1 else _("at most {ratio}")
    return text.format(ratio=number(nearer))


def named(label: str, deprecated: bool, other_runtime: bool = False) -> str:
    """The label as it is shown, with a word if it is deprecated or another runtime."""
    if other_runtime:
        # Translators: a way to run a model in a package other than its framework
        return _("{label} (another runtime)").format(label=label)
    # Translators: a way to run a model that its makers have deprecated
    return _("{label} (deprecated)").format(label=label) if deprecated else label


def verdict_in_words(times: Times, rounds: int, processes: int) -> str:
    """The verdict, or what each of a few rounds or processes says."""
    if not times.in_each:
        return _(VERDICTS[times.verdict].word)
    if processes and times.in_each == "faster":
        text = ngettext("faster in {n} process", "faster in each of {n} processes", processes)
    elif processes:
        text = ngettext("slower in {n} process", "slower in each of {n} processes", processes)
    elif times.in_each == "faster":
        text = ngettext("faster in {n} round", "faster in each of {n} rounds", rounds)
    else:
        text = ngettext("slower in {n} round", "slower in each of {n} rounds", rounds)
    return text.format(n=processes or rounds)


def not_run(rows: Iterable[Row]) -> Iterator[str]:
    """What was left out, and why, a line each; a reason may be the sentence of an error."""
    for row in {row.label: row for row in rows if not row.times}.values():
        text = _("{label} was not run: {reason}.")
        if row.ended_later:
            text = _("{label} was left out: {reason}.")
        yield text.format(label=row.label, reason=_(row.reason).rstrip(".。"))
