"""What was measured of one callable, but not how: its samples, its costs, and a Measurement."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import count, gettext as _, ngettext, noop as N_, sentences
from d2lhybrid.core.table import percent, seconds, span
from d2lhybrid.core.wording import write_nearest
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.provenance import Environment, stamp
from d2lhybrid.measuring.result import Result, Seconds

# What is timed, and the words for it.
METRICS = {
    # Translators: what is timed; the time of a call that is waited for
    "latency": N_("latency"),
    # Translators: what is timed; the time per call of many that are waited for only at the end
    "throughput": N_("throughput"),
    "device": N_("device time"),
}
# A latency and a throughput that differ by no more than this part of them are one time.
NEGLIGIBLE_SHARE_OF_A_TIME = 0.05
NOISY_FLOOR = 0.2  # above this noise floor times vary too much by themselves

EachRound = Annotated[tuple[Seconds, ...], msgspec.Meta(min_length=1)]


@dataclass(frozen=True)
class Samples:
    """Seconds per call by metric, one number per round; None for a metric that was not taken.

    `latency`: each call is waited for. `throughput`: the slope of a stream's time over its number
    of calls; None if nothing was queued, because then it equals the latency. `device`: the same
    slope by the accelerator's own events; None without an accelerator. `disturbed` are the rounds,
    from 0, in which other programs held this callable up. Their times are kept, but decide nothing.
    """

    latency: EachRound
    throughput: EachRound | None = None
    device: EachRound | None = None
    disturbed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError unless there are as many times by each metric."""
        times = [self.latency, self.throughput or self.latency, self.device or self.latency]
        if {*map(len, times)} != {self.count} or not {*self.disturbed} <= {*range(self.count)}:
            raise ValueError(_("rounds are missing"))

    @property
    def count(self) -> int:
        """How many samples there are: one a round, or one a process where several measured."""
        return len(self.latency)

    def undisturbed(self, *others: "Samples") -> list[int]:
        """The rounds in which other programs held up neither this callable nor those `others`."""
        held_up = {*self.disturbed}.union(*(other.disturbed for other in others))
        return [at for at in range(self.count) if at not in held_up]

    def enough_undisturbed(self, *others: "Samples") -> list[int]:
        """These rounds if they are enough for an interval, else all rounds."""
        rounds = self.undisturbed(*others)
        is_enough = len(rounds) >= stats.FEWEST_SAMPLES_FOR_AN_INTERVAL
        return rounds if is_enough else [*range(self.count)]

    def is_busy(self, env: Environment, *others: "Samples") -> bool:
        """Are there too few undisturbed rounds to decide anything?

        It takes six, and half of them where an operation may use several threads: threads that
        share what other programs leave also wait for one another, which nobody counts as waiting
        for a processor.
        """
        needed = min(stats.FEWEST_SAMPLES_FOR_AN_INTERVAL, self.count)
        if not env.uses_one_thread:
            needed = max(needed, (self.count + 1) // 2)
        return len(self.undisturbed(*others)) < needed

    def usable(self, metric: str | None = None) -> tuple[float, ...]:
        """The samples of the undisturbed rounds, or of all rounds if those are fewer than six.

        By one metric, the latency if None; raises ArgumentError if it was not taken.
        """
        times = self.all_rounds(metric)
        return tuple(times[at] for at in self.enough_undisturbed())

    def log_ratios_over(self, denominator: "Samples", metric: str | None = None) -> list[float]:
        """The logarithms of this time over another's, in the rounds that disturbed neither."""
        above, below = self.all_rounds(metric), denominator.all_rounds(metric)
        rounds = self.enough_undisturbed(denominator)
        return stats.log_ratios([above[at] for at in rounds], [below[at] for at in rounds])

    def all_rounds(self, metric: str | None = None) -> tuple[float, ...]:
        """The samples of all rounds by one metric; raises ArgumentError if it was not taken."""
        by_metric, metric = self.by_metric, metric or "latency"
        if metric not in by_metric:
            text = _("Expected a metric among {metrics}. Received: {received!r}.")
            message = text.format(metrics=", ".join(map(repr, by_metric)), received=metric)
            raise ArgumentError(message + write_nearest(metric, by_metric))
        return by_metric[metric]

    @property
    def by_metric(self) -> dict[str, tuple[float, ...]]:
        """The samples of all rounds; if no work is queued, the throughput is the latency."""
        taken = {"latency": self.latency, "throughput": self.throughput or self.latency}
        return taken | ({"device": self.device} if self.device else {})


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What a callable costs beside its steady state, and what was counted of its calls.

    A Measurement and the row that is shown of it have the same.
    """

    build_seconds: Seconds | None = None  # to compile ahead of time, once for all processes
    load_seconds: Seconds | None = None  # what each process pays to load what was built
    first_seconds: Seconds = 0.0  # the first call, with tracing and compiling
    # The compiler that each process has to start for it, "" if it needs none; and what starting it
    # took, which is no part of the first call, None if nobody timed it, because it ran already.
    compiler: str = ""
    compiler_seconds: Seconds | None = None
    disk_cache_hit: bool = False  # did the compiler find its program on the disk?
    # Programs that were compiled in the first call and in the calls after it, None if the framework
    # doesn't count them; and how many those calls are.
    first_compilations: int | None = None
    later_compilations: int | None = None
    later_calls: int = 0
    note: str | None = None  # what else is to be said of how it was measured

    @property
    def cold_seconds(self) -> float:
        """What a fresh process pays from the model to its first answer.

        That is starting the compiler, if it was timed, loading, and the first call.
        """
        return (self.compiler_seconds or 0.0) + (self.load_seconds or 0.0) + self.first_seconds

    @property
    def lacks_compiler_start(self) -> bool:
        """Does a fresh process pay more than the cold start, to start the compiler?"""
        return bool(self.compiler) and self.compiler_seconds is None

    @property
    def compilations_per_call(self) -> float | None:
        """How many programs a call after the first compiled, in the mean; None if not counted."""
        if self.later_compilations is None or not self.later_calls:
            return None
        return self.later_compilations / self.later_calls


@dataclass(frozen=True, repr=False)
class Measurement(Result, Costs):
    """The times of one callable, in seconds per call, and its Costs.

    `first_seconds` is the first call, with tracing and compiling. `times` are the samples of the
    steady state by each metric, and `inner_iterations` the calls in a sample of the latency. All of
    this describes one process, unless several `processes` were joined: then sample i is the median
    of process i, one-time costs are those of the first process, and counts of later calls are sums.

    >>> from d2lhybrid import measure
    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> low, high = result.interval()
    >>> low <= result.median <= high
    True
    """

    label: str
    times: Samples
    inner_iterations: int
    stream_calls: int | None
    warmup_calls: int
    env: Environment = field(hash=False)
    processes: int = 0

    def __repr__(self) -> str:
        low, high = span(*self.interval(), seconds)
        text = _(
            "{label}: {median} per call (95% interval in this process: {low} to {high}); first "
            "call {cold}; warm-up calls: {calls}."
        )
        if self.processes:
            text = _(
                "{label}: {median} per call (median of {processes} processes, {confidence} "
                "interval {low} to {high}); first call {cold}."
            )
        if self.times.count < stats.FEWEST_SAMPLES_FOR_AN_INTERVAL:
            text = _(
                "{label}: {median} per call, with too few samples for an interval; first call "
                "{cold}."
            )
        message = text.format(
            processes=count(self.processes),
            confidence=percent(stats.coverage(self.processes)),
            label=self.label,
            median=seconds(self.median),
            low=low,
            high=high,
            cold=seconds(self.first_seconds),
            calls=count(self.warmup_calls),
        )
        lines = [self._uncertain(), sentences(message, *self._remarks()), stamp(self.env)]
        return "\n".join(filter(None, lines))

    def _uncertain(self) -> str:
        """Why this time is uncertain, if it is."""
        if not self.times.is_busy(self.env):
            return ""
        text = _(
            "⚠ The machine was busy: in {n} of {rounds} samples, other programs held {label} up, "
            "so its time is uncertain. Measure again when the machine is quieter."
        )
        n, rounds = count(len(self.times.disturbed)), count(self.times.count)
        return text.format(n=n, rounds=rounds, label=self.label)

    def _remarks(self) -> Iterator[str]:
        """What else there is to know of these times, a sentence each."""
        if self.times.throughput:
            text = _("In a stream of calls: {time} per call.")
            yield text.format(time=seconds(self.median_of("throughput")))
        if compiled := self.later_compilations:
            text = ngettext(
                "The {calls} calls after the first compiled {n} more program.",
                "The {calls} calls after the first compiled {n} more programs.",
                compiled,
            )
            yield text.format(calls=count(self.later_calls), n=count(compiled))

    @property
    def samples(self) -> tuple[float, ...]:
        """The samples of the latency, in seconds per call, of the rounds that count."""
        return self.times.usable()

    def median_of(self, metric: str | None = None) -> float:
        """The median by a metric, in seconds per call."""
        return statistics.median(self.times.usable(metric))

    def interval(self, metric: str | None = None) -> tuple[float, float]:
        """The 95% interval of the median by a metric, (low, high) in seconds per call.

        It is that of the sign test on the samples (Conover, *Practical Nonparametric Statistics*,
        3.2); with fewer than six samples it is infinite.
        """
        return stats.median_interval(self.times.usable(metric))

    @property
    def median(self) -> float:
        """The median latency, in seconds per call."""
        return self.median_of()
