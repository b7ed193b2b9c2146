"""What ``compare`` and ``sweep`` return: what was measured, what follows from it, how it shows."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

import msgspec

from d2lhybrid.core import stats
from d2lhybrid.core.arguments import unknown_label
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.stats import Estimate
from d2lhybrid.core.toolchain import require
from d2lhybrid.display.table import NEVER
from d2lhybrid.experiment import advice, drawn, shown
from d2lhybrid.experiment.claim import Claim, Judgement, Judgements, judge
from d2lhybrid.experiment.measurement import (
    AGREE,
    METRICS,
    NOISY_FLOOR,
    Measurement,
    Result,
    Samples,
    Seconds,
)
from d2lhybrid.experiment.provenance import Environment
from d2lhybrid.experiment.rows import Row, Rows, Times
from d2lhybrid.experiment.verdict import decide_verdict, in_each

# What a result shows, for programs that read notebooks: the site, README, whoever collects them.
MIME = "application/vnd.d2lhybrid.comparison+json"


class MeasuresOn(Protocol):
    """What a comparison came from, as far as it can take more rounds."""

    def measure_on(self, decided: "Callable[[Comparison], bool]", /) -> "Comparison":
        """Take rounds until `decided` is true of the result, or for so long; all rounds so far."""


@dataclass(frozen=True, repr=False)
class Comparison(Result, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is that of `baseline_repeat`, the
    baseline's second turn in that round, from which the noise floor follows. `unavailable` says of
    each variant that was not measured why. `references` are programs to compare with, not to choose
    from, and `deprecated` the variants that their makers have deprecated. `stopped` is 'clear',
    'limit' or 'interrupted'; `limit_needed` the time limit, in seconds, that six rounds would have
    needed, None if there are six. `compilers_started` has what it took to start a compiler before
    the first variant, in seconds by its name, if this process had not done so.

    `processes` are the comparisons of the fresh processes that were asked for. Then sample i of
    every measurement is the median of process i, what is paid once is the median of theirs, and a
    ratio has one value a process: the median over its rounds.

    `experiment` can measure on for a claim that is undecided, and keeps the callables and their
    arguments for it. It is no part of the data: equality, JSON, copies and pickles leave it out.

    >>> from d2lhybrid import compare
    >>> functions = {"sum": sum, "max": max}
    >>> result = compare(functions, range(9), check=False, time_limit=0.3, progress=False)
    >>> list(result), result.baseline
    (['sum', 'max'], 'sum')
    >>> Comparison.from_json(result.to_json()) == result
    True
    """

    measurements: tuple[Measurement, ...]
    baseline: str
    baseline_repeat: Samples
    unavailable: dict[str, str] = field(hash=False)
    references: tuple[str, ...]
    deprecated: tuple[str, ...]
    checked: Seconds | bool
    seed: int
    stopped: str
    margin: Seconds = stats.MARGIN
    limit_needed: Seconds | None = None
    compilers_started: dict[str, Seconds] = field(default_factory=dict, hash=False)
    processes: "tuple[Comparison, ...]" = ()
    experiment: MeasuresOn | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        times = [self.baseline_repeat, *(m.times for m in self.measurements)]
        kinds = {(samples.rounds, samples.throughput is None) for samples in times}
        is_short = self.processes and len(self.processes) != self.baseline_repeat.rounds
        if is_short or len(kinds) > 1 or self.baseline not in {m.label for m in self.measurements}:
            raise ValueError(_("rounds are missing"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        raise unknown_label(label, self, self.unavailable)

    def __iter__(self) -> Iterator[str]:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    def __getstate__(self) -> dict[str, Any]:
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        return data | {"experiment": None}

    def __repr__(self) -> str:
        return str(shown.comparison(self.rows))

    def _repr_html_(self) -> str:
        return shown.comparison(self.rows).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {MIME: self.summary()}

    def _plain(self) -> dict[str, Any]:
        content: dict[str, Any] = msgspec.to_builtins(self.release())
        del content["experiment"]
        content["processes"] = [process._plain() for process in self.processes]
        return content

    def release(self) -> "Comparison":
        """The same comparison without its experiment, so that nothing keeps models and inputs.

        Claims on it go by the rounds that there are.
        """
        return replace(self, experiment=None)

    @classmethod
    def of_processes(
        cls,
        processes: "Sequence[Comparison]",
        *,
        seed: int,
        unavailable: Mapping[str, str] = {},
        stopped: str = "",
        experiment: MeasuresOn | None = None,
    ) -> "Comparison":
        """One comparison of what several processes measured, at least one.

        A variant that one of them could not measure is left out, with its reason or that which
        `unavailable` has.
        """
        first = processes[0]
        labels = [
            label
            for label in first
            if label not in unavailable and all(label in process for process in processes)
        ]
        reasons: dict[str, str] = {}
        for process in processes:
            reasons |= process.unavailable
        reasons_to_stop = {process.stopped for process in processes}
        longest = max(process.limit_needed or 0.0 for process in processes)
        started = [process.compilers_started for process in processes]
        names = dict.fromkeys(name for seconds in started for name in seconds)
        return cls(
            measurements=tuple(
                joined([process[label] for process in processes]) for label in labels
            ),
            baseline=first.baseline,
            baseline_repeat=joined_samples([process.baseline_repeat for process in processes]),
            unavailable=reasons | dict(unavailable),
            references=tuple(label for label in first.references if label in labels),
            deprecated=tuple(label for label in first.deprecated if label in labels),
            checked=first.checked,
            seed=seed,
            stopped=stopped or ("limit" if "limit" in reasons_to_stop else "clear"),
            margin=first.margin,
            limit_needed=len(processes) * longest if longest else None,
            compilers_started={
                name: statistics.median(seconds[name] for seconds in started if name in seconds)
                for name in names
            },
            processes=tuple(process.release() for process in processes),
            experiment=experiment,
        )

    @property
    def others(self) -> list[str]:
        """The variants: all labels but the baseline's and the references'."""
        return [label for label in self if self._role(label) == "variant"]

    @property
    def env(self) -> Environment:
        """Where and when it was measured."""
        return self.measurements[0].env

    @property
    def rounds(self) -> int:
        """How many rounds there were, in all processes."""
        return sum(process.rounds for process in self.processes) or self.baseline_repeat.rounds

    @property
    def disturbed_rounds(self) -> int:
        """In how many of them other programs held up one of the callables or more."""
        if self.processes:
            return sum(process.disturbed_rounds for process in self.processes)
        turns = [self.baseline_repeat, *(m.times for m in self.measurements)]
        return len({at for samples in turns for at in samples.disturbed})

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that say something of their own: 'latency' and, where it differs, others."""
        pairs = [(m.median, m.median_of("throughput")) for m in self.measurements]
        apart = any(max(pair) > (1 + AGREE) * min(pair) for pair in pairs)
        says = {"latency": True, "throughput": apart, "device": bool(self.baseline_repeat.device)}
        return tuple(metric for metric in METRICS if says[metric])

    @property
    def noise_floor(self) -> float:
        """What a ratio must differ from 1 by to count, as a fraction (0.01 is 1%), by latency."""
        return self.floor_of()

    def floor_of(self, metric: str | None = None) -> float:
        """The noise floor by a metric: how far the baseline's ratio to itself reaches from 1."""
        return stats.noise_floor(self.log_ratios(self.baseline, metric))

    def is_busy(self, label: str, against: str | None = None) -> bool:
        """Did other programs hold up these two so often that nothing can be decided?

        Fewer than six rounds, or processes, are left in which they did not. If an operation may use
        several threads, half of the rounds have to be left.
        """
        if self.processes:
            left = len(self._quiet_processes(label, against))
            return left < self._enough_processes
        mine, its = self._pair(label, against)
        return len(mine.undisturbed(its)) < self.env.undisturbed_needed(mine.rounds)

    @property
    def busy(self) -> bool:
        """Were other programs in the way, so that the verdict on some variant is open for that?"""
        return any(map(self.is_busy, self.others or self))

    @property
    def noisy(self) -> bool:
        """Do times vary by more than 20% by themselves, without other programs in the way?"""
        return not self.busy and NOISY_FLOOR < self.noise_floor < math.inf

    def _pair(self, label: str, against: str | None) -> tuple[Samples, Samples]:
        """The samples of this one, and those that they are set against.

        Those of the baseline itself are set against its own second turns.
        """
        other = self.baseline if against is None else against
        is_repeat = label == other == self.baseline
        samples = self.baseline_repeat if is_repeat else self[label].times
        return samples, self[other].times

    @property
    def _enough_processes(self) -> int:
        return min(stats.FEWEST, len(self.processes))

    def _quiet_processes(self, label: str, against: str | None) -> "list[Comparison]":
        """The processes in which there were enough undisturbed rounds of these two."""
        for name in (label, self.baseline if against is None else against):
            _row = self[name]  # raises if it was left out
        return [each for each in self.processes if not each.is_busy(label, against)]

    def _used_processes(self, label: str, against: str | None = None) -> "list[Comparison]":
        """The quiet processes, on which the ratio rests; all, if those are too few."""
        quiet = self._quiet_processes(label, against)
        return quiet if len(quiet) >= self._enough_processes else [*self.processes]

    def log_ratios(
        self, label: str, metric: str | None = None, against: str | None = None
    ) -> list[float]:
        """The logarithms of the ratios that everything is decided by: one a round, or a process."""
        if self.processes:
            return [
                statistics.median(process.log_ratios(label, metric, against))
                for process in self._used_processes(label, against)
            ]
        mine, its = self._pair(label, against)
        return its.log_ratios(mine, metric)

    def confidence(self, label: str, against: str | None = None) -> float:
        """How sure the interval of the ratio is, as a fraction, such as 0.95.

        In one process that is 0.99 of 8 to 19 rounds, and 0.95 otherwise; of processes it is what
        the order statistics give, such as 0.969 of six; 0 where there are too few for an interval.
        """
        count = len(self.log_ratios(label, None, against))
        if self.processes:
            return stats.coverage(count)
        return stats.confidence(count)

    @property
    def advice(self) -> str:
        """What to use, by the rules in ``d2lhybrid.experiment.advice``."""
        return advice.advice(self.rows)

    def ratio(self, label: str, metric: str | None = None, against: str | None = None) -> Estimate:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        that of the sign test: 95%, or 99% of 8 to 19 rounds, and of fewer than six infinite. It
        speaks of this process. Of several processes, the estimate is the median of theirs, and
        the interval is made of order statistics of theirs: of six it reaches from the lowest to the
        highest (97%), of ten from the second to the ninth (98%), and of fewer than six it is
        infinite. It assumes nothing of how processes differ (Conover, *Practical Nonparametric
        Statistics*, 3.1). Of the baseline itself, it is the ratio of its two turns.
        """
        logarithms = self.log_ratios(label, metric, against)
        if self.processes:
            return stats.ratio(logarithms, stats.CONFIDENCE)
        return stats.ratio(logarithms, stats.confidence(len(logarithms)))

    def range_of_processes(
        self, label: str, metric: str | None = None
    ) -> tuple[float, float] | None:
        """The lowest and the highest ratio that a process saw; None of one process.

        The next one lies between them with a probability of (n - 1) / (n + 1), 5/7 of six.
        """
        if not self.processes:
            return None
        logarithms = self.log_ratios(label, metric)
        return math.exp(min(logarithms)), math.exp(max(logarithms))

    def verdict(self, label: str, metric: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'. It is also 'undecided' where
        other programs held the two up so often that too few rounds are left (``is_busy``).

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such metric, or it was not taken.
        """
        interval = self.ratio(label, metric, against)
        if label == (self.baseline if against is None else against):
            return "same"
        if self.is_busy(label, against):
            return "undecided"
        return decide_verdict(interval, self.floor_of(metric), self.margin)

    def break_even(self, label: str) -> float | None:
        """Calls after which this one has paid off its cold start.

        A process pays for loading and for the first call; what is compiled ahead of time is built
        once for all processes. It gains by each call that is waited for.

        Returns:
            A whole number; ``math.inf`` if it never does, because it isn't faster; None if that
            is not known.
        """
        verdict = self.verdict(label)
        if verdict != "faster":
            return None if verdict == "undecided" else NEVER
        mine, base = self[label], self[self.baseline]
        saved = base.median - mine.median
        extra = mine.cold_seconds - base.cold_seconds
        return 1 + max(0, math.ceil(extra / saved)) if saved > 0 else None

    @cached_property
    def rows(self) -> Rows:
        """Everything that is shown: a row for each variant, and for each that was not run."""
        measured = [self._row(measurement) for measurement in self.measurements]
        not_run = [Row(label, reason=reason) for label, reason in self.unavailable.items()]
        rows = Rows(
            (*measured, *not_run),
            metrics=self.metrics,
            rounds=self.rounds,
            disturbed_rounds=self.disturbed_rounds,
            processes=len(self.processes),
            confidence=min(
                map(self.confidence, [label for label in self if label != self.baseline] or self)
            ),
            noise_floor=self.noise_floor,
            margin=self.margin,
            busy=self.busy,
            noisy=self.noisy,
            stopped=self.stopped,
            limit_needed=self.limit_needed,
            seed=self.seed,
            env=self.env,
            compilers_started=self.compilers_started,
        )
        best = advice.best(rows)
        marked = (replace(row, is_best=True) if row is best else row for row in rows)
        return replace(rows, rows=tuple(marked))

    def _row(self, m: Measurement) -> Row:
        role = self._role(m.label)
        return Row(
            m.label,
            role=role,
            deprecated=m.label in self.deprecated,
            is_busy=self.is_busy(m.label),
            times={
                metric: self._times(m, metric)
                for metric in METRICS
                if m.times.has(metric) and self[self.baseline].times.has(metric)
            },
            build_seconds=m.build_seconds,
            load_seconds=m.load_seconds,
            first_seconds=m.first_seconds,
            cold_seconds=m.cold_seconds,
            pays_after=self.break_even(m.label) if role == "variant" else None,
            disk_cache_hit=m.disk_cache_hit,
            page_faults=m.page_faults,
            page_fault_share=m.page_fault_share,
            note=m.note,
        )

    def _role(self, label: str) -> str:
        if label == self.baseline:
            return "baseline"
        return "reference" if label in self.references else "variant"

    def _times(self, m: Measurement, metric: str) -> Times:
        samples, (low, high) = m.times.of(metric), m.interval(metric)
        spread = max(low, min(samples)), min(high, max(samples))
        if m.label == self.baseline:
            return Times(m.median_of(metric), spread=spread)
        ratio, *interval = self.ratio(m.label, metric)
        return Times(
            m.median_of(metric),
            ratio,
            (interval[0], interval[1]),
            self.verdict(m.label, metric),
            "" if self.is_busy(m.label) else in_each(self.log_ratios(m.label, metric)),
            spread,
            self.range_of_processes(m.label, metric),
            len(self._used_processes(m.label)),
            self._differs_between_processes(m.label, metric),
        )

    def _differs_between_processes(self, label: str, metric: str) -> bool:
        return stats.differs_between_processes(
            [process.log_ratios(label, metric) for process in self._used_processes(label)]
        )

    def claim(
        self,
        label: str,
        sense: str,
        *,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> "Judgement[Comparison]":
        """Check a claim, such as "tf.function is faster", against what was measured.

        A line shows that it holds: "✓ tf.function is faster than eager: 4.21 times." If it is
        undecided, and the comparison has its experiment, rounds go on, for up to three times the
        comparison's limit or 20 s, and no more than 30 times the limit; of processes, there are up
        to three times as many. The line then says how many rounds or processes it took, because
        this comparison stays as it is; or it says that the claim is still undecided, and why. That
        is said at once where more of them have no chance. Where other programs held a variant up,
        nothing contradicts a claim.

        Args:
            label: the variant.
            sense: 'faster', 'slower', 'same', 'not slower' or 'not faster'.
            at_least: how many times as fast, or as long, it must be.
            against: the other variant; the baseline if None.
            metric: 'latency', 'throughput' or 'device'; the latency if None.

        Returns:
            The Judgement, with the comparison of all rounds that were taken for it.

        Raises:
            ClaimError: what was measured contradicts it.
            ArgumentError, UnknownLabelError: there is no such claim, metric or variant.
        """
        return self._judge(Claim(label, sense, at_least, against, metric))

    def _judge(self, claim: Claim) -> "Judgement[Comparison]":
        return judge(self, claim, self.experiment.measure_on if self.experiment else None)

    def plot(self, metric: str = "latency") -> Any:
        """Draw the times per call with their intervals with matplotlib; returns the axes.

        Args:
            metric: 'latency', 'throughput' or 'device'.
        """
        self[self.baseline].times.of(metric)  # raises if there is none
        return drawn.comparison(self.rows, metric)

    def waterfall(self, labels: Sequence[str], metric: str = "latency") -> Any:
        """Draw what each layer of software adds to the time of a call; returns the axes.

        Args:
            labels: the variants in the order of the steps, such as from "C" up to "eager".
            metric: 'latency', 'throughput' or 'device'.
        """
        for label in labels:
            self[label].times.of(metric)  # raises if there is none
        return drawn.waterfall(self.rows, labels, metric)

    def to_frame(self) -> Any:
        """A pandas data frame, one row a variant; raises MissingPackageError without pandas.

        Times are in seconds per call, and ratios above 1 are faster. `pays_after` is also missing
        if a cold start never pays off.
        """
        return require("pandas", "notebooks").DataFrame(self.summary()["rows"]).set_index("label")

    def summary(self) -> dict[str, Any]:
        """What the table shows, as plain data for programs that read notebooks."""
        return shown.summary(self.rows)


def joined(measurements: Sequence[Measurement]) -> Measurement:
    """One callable in several processes: medians of theirs, one sample a process."""
    first = measurements[0]

    def median_of(name: str) -> float | None:
        known = [seconds for m in measurements if (seconds := getattr(m, name)) is not None]
        return statistics.median(known) if known else None

    return replace(
        first,
        processes=len(measurements),
        build_seconds=median_of("build_seconds"),
        load_seconds=median_of("load_seconds"),
        first_seconds=statistics.median(m.first_seconds for m in measurements),
        times=joined_samples([m.times for m in measurements]),
        note="; ".join(dict.fromkeys(m.note for m in measurements if m.note)) or None,
        env=replace(
            first.env,
            load=max((m.env.load for m in measurements if m.env.load is not None), default=None),
            page_fault_seconds=statistics.median(
                m.env.page_fault_seconds or 0.0 for m in measurements
            )
            or None,
        ),
        page_faults=median_of("page_faults"),
        disk_cache_hit=any(m.disk_cache_hit for m in measurements),
    )


def joined_samples(processes: Sequence[Samples]) -> Samples:
    """The medians of the processes by each metric that all of them took."""

    def medians(metric: str) -> tuple[float, ...]:
        return tuple(statistics.median(samples.of(metric)) for samples in processes)

    is_queued = any(samples.throughput for samples in processes)
    has_device = all(samples.device for samples in processes)
    return Samples(
        medians("latency"),
        medians("throughput") if is_queued else None,
        medians("device") if has_device else None,
    )


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The same comparison over a range of sizes.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes
    (1000, 100000)
    """

    sizes: tuple[int | float, ...]
    comparisons: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) > 0:
            raise ValueError(_("rounds are missing"))

    def __repr__(self) -> str:
        return str(shown.sweep(self.sizes, self.rows))

    def _repr_html_(self) -> str:
        return shown.sweep(self.sizes, self.rows).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        comparisons = [each.summary() for each in self.comparisons]
        busy = any(each.busy for each in self.comparisons)
        shown = {"sizes": list(self.sizes), "comparisons": comparisons, "busy": busy}
        return {MIME: {"kind": "sweep", **shown}}

    def _plain(self) -> dict[str, Any]:
        comparisons = [comparison._plain() for comparison in self.comparisons]
        return {"sizes": list(self.sizes), "comparisons": comparisons}

    @property
    def rows(self) -> list[Rows]:
        """The rows of the comparison at each size."""
        return [comparison.rows for comparison in self.comparisons]

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at some size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def deprecated(self) -> list[str]:
        """Those that are deprecated."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c.deprecated))

    @property
    def metrics(self) -> list[str]:
        """The metrics that say something of their own at some size."""
        return list(dict.fromkeys(metric for c in self.comparisons for metric in c.metrics))

    def claim(
        self,
        label: str,
        sense: str,
        *,
        size: float | None = None,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> Judgements[Comparison]:
        """As ``Comparison.claim``, at one size, or at all of them with a line for each."""
        if size is not None and size not in self.sizes:
            text = _("Expected a size among {known}. Received: {received!r}.")
            known = ", ".join(map(str, self.sizes))
            raise ArgumentError(text.format(known=known, received=size))
        return Judgements(
            comparison._judge(Claim(label, sense, at_least, against, metric, each))
            for each, comparison in zip(self.sizes, self.comparisons, strict=True)
            if size is None or each == size
        )

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw time per call against size; returns the axes.

        Args:
            xlabel: what the sizes are; "work" in the reader's language if empty.
        """
        return drawn.sweep(self.sizes, self.rows, xlabel)
