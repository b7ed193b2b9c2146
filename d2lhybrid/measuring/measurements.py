"""What measuring returns: several callables, measured in the same rounds, and what follows from it.

A ``Comparison``, which a reader holds, is made of it.
"""

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.table import NEVER
from d2lhybrid.core.wording import unknown_label
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.measurement import (
    METRICS,
    NEGLIGIBLE_SHARE_OF_A_TIME,
    NOISY_FLOOR,
    Measurement,
    Samples,
)
from d2lhybrid.measuring.provenance import Environment
from d2lhybrid.measuring.result import Fraction, Seconds
from d2lhybrid.measuring.stats import Estimate
from d2lhybrid.measuring.verdict import Verdict, busy_bound, decide_verdict, decide_while_busy


@dataclass(frozen=True, repr=False)
class Measurements(Mapping[str, Measurement]):
    """A mapping from label to Measurement, whose rounds are the same.

    Sample i of every measurement is from round i, and so is sample i of `baseline_repeat`. With
    several `processes`, it is the median of process i.
    """

    measurements: tuple[Measurement, ...]
    baseline: str  # the label that ratios refer to
    # The baseline's second turn in each round, which gives the noise floor.
    baseline_repeat: Samples
    unavailable: dict[str, str] = field(hash=False)  # why a variant was not measured
    references: tuple[str, ...]  # programs to compare with, not to choose from
    deprecated: tuple[str, ...]  # variants that their makers have deprecated
    other_runtimes: tuple[str, ...]  # variants in a package other than the framework
    checked: Fraction | bool  # the tolerance of the answers; True is that of their dtype
    seed: int
    stopped: str  # 'clear', 'limit', 'most' (rounds) or 'interrupted'
    margin: Fraction = stats.MARGIN  # what counts as the same
    # The time limit that six rounds would have needed; None if there are six.
    limit_needed: Seconds | None = None
    processes: "tuple[Measurements, ...]" = ()  # those of the fresh processes, if there were any
    # By label, what was observed of compiled variants; its type loads with the first.
    facts: dict[str, Any] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()  # sentences about what may not be what the reader asks
    circumstance: str = ""  # a sentence on how it was measured, if that isn't as usual

    def __post_init__(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        times = [self.baseline_repeat, *(m.times for m in self.measurements)]
        kinds = {(samples.count, samples.throughput is None) for samples in times}
        is_short = self.processes and len(self.processes) != self.baseline_repeat.count
        if is_short or len(kinds) > 1:
            raise ValueError(_("rounds are missing"))
        if self.baseline not in self:
            raise ValueError(_("the baseline is missing"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        raise unknown_label(label, self, self.unavailable)

    def __iter__(self) -> Iterator[str]:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    @property
    def others(self) -> list[str]:
        """The variants: all labels except the baseline and the references."""
        return [label for label in self if label not in (self.baseline, *self.references)]

    @property
    def env(self) -> Environment:
        """Where and when it was measured."""
        return self.measurements[0].env

    @property
    def rounds(self) -> int:
        """How many rounds there were, in all processes."""
        return sum(process.rounds for process in self.processes) or self.baseline_repeat.count

    @property
    def has_interval(self) -> bool:
        """Are there enough rounds, or processes, for intervals?"""
        return self.baseline_repeat.count >= stats.FEWEST_SAMPLES_FOR_AN_INTERVAL

    @property
    def disturbed_rounds(self) -> int:
        """In how many rounds other programs held up at least one of the callables."""
        if self.processes:
            return sum(process.disturbed_rounds for process in self.processes)
        turns = [self.baseline_repeat, *(m.times for m in self.measurements)]
        return len({at for samples in turns for at in samples.disturbed})

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that add information: 'latency', and others that differ from it."""
        pairs = [(m.median, m.median_of("throughput")) for m in self.measurements]
        apart = any(max(pair) > (1 + NEGLIGIBLE_SHARE_OF_A_TIME) * min(pair) for pair in pairs)
        says = {"latency": True, "throughput": apart, "device": bool(self.baseline_repeat.device)}
        return tuple(metric for metric in METRICS if says[metric])

    @cached_property
    def noise_floor(self) -> float:
        """How far a ratio must be from 1 to count, as a fraction (0.01 is 1%), by latency."""
        return self.floor_of()

    def floor_of(self, metric: str | None = None) -> float:
        """The noise floor by a metric: how far the baseline's ratio to itself reaches from 1."""
        return stats.noise_floor(self.log_ratios(self.baseline, metric))

    def is_busy(self, label: str, against: str | None = None) -> bool:
        """Did other programs hold up these two so often that nothing can be decided?

        This is so if fewer than six undisturbed rounds, or processes, are left. If an operation can
        use several threads, at least half of the rounds have to be left.
        """
        if self.processes:
            left = len(self._quiet_processes(label, against))
            return left < self._enough_processes
        numerator, denominator = self._pair(label, against)
        return numerator.is_busy(self.env, denominator)

    @cached_property
    def busy(self) -> bool:
        """Did other programs leave the verdict on some variant undecided?"""
        if not self.others:
            return any(map(self.is_busy, self))
        held_up = filter(self.is_busy, self.others)
        return any(self.verdict(label) == "undecided" for label in held_up)

    @property
    def noisy(self) -> bool:
        """Do times vary by more than 20% by themselves, without other programs interfering?"""
        return not self.busy and NOISY_FLOOR < self.noise_floor < math.inf

    def log_ratios(
        self, label: str, metric: str | None = None, against: str | None = None
    ) -> list[float]:
        """The logarithms of the ratios that decide everything: one per round, or per process.

        As in ``ratio``, the time of the baseline (or `against`) is over this one's.
        """
        if self.processes:
            return [
                statistics.median(process.log_ratios(label, metric, against))
                for process in self._used_processes(label, against)
            ]
        numerator, denominator = self._pair(label, against)
        return numerator.log_ratios_over(denominator, metric)

    def confidence(self, label: str, against: str | None = None) -> float:
        """The confidence level of the ratio's interval, as a fraction, such as 0.95.

        In one process, it is 0.99 for 8 to 19 rounds, and 0.95 otherwise. For several processes, it
        follows from the order statistics, such as 0.969 for six. It is 0 if there are too few for
        an interval.
        """
        count = len(self.log_ratios(label, None, against))
        if self.processes:
            return stats.coverage(count)
        return stats.confidence(count) if self.has_interval else 0.0

    def ratio(self, label: str, metric: str | None = None, against: str | None = None) -> Estimate:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, and the
        interval that of the sign test: 95%, or 99% for 8 to 19 rounds; for fewer than six rounds it
        is infinite. It holds in this process. For several processes, the estimate is the median of
        their ratios, and the interval comes from order statistics: for six processes it reaches
        from the lowest to the highest (97%), for ten from the second to the ninth (98%), and for
        fewer than six it is infinite. It assumes nothing about how processes differ (Conover,
        *Practical Nonparametric Statistics*, 3.2). For the baseline itself, it is the ratio of its
        two turns.
        """
        logarithms = self.log_ratios(label, metric, against)
        if self.processes:
            return stats.ratio(logarithms, stats.CONFIDENCE)
        return stats.ratio(logarithms, stats.confidence(len(logarithms)))

    def _ends_while_busy(
        self, label: str, metric: str | None, against: str | None
    ) -> tuple[float, float]:
        """Between what the ratio lies of two that other programs held up: (low, high).

        With one thread, waiting moves a ratio by no more than ``busy_bound``, so this is the
        interval of all rounds, of each process if there are six or more, wider by that at each end.
        Threads that wait for each other can move it anywhere: from 0 to infinity.
        """
        are_few = self.processes and not self.has_interval
        if are_few or not self.env.uses_one_thread:
            return 0.0, math.inf
        # Where too few rounds were left, ``ratio`` rests on all of them.
        ratios = [each.ratio(label, metric, against) for each in self.processes or (self,)]
        low, high = min(low for _, low, _ in ratios), max(high for *_, high in ratios)
        bound = busy_bound(self.env.threads)
        return low / bound, high * bound

    def differs_between_processes(self, label: str, metric: str) -> bool:
        """Do the processes differ by more than their rounds do?"""
        return stats.differs_between_processes(
            [process.log_ratios(label, metric) for process in self._used_processes(label)]
        )

    def verdict(self, label: str, metric: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'. If other programs held the two
        up so often that too few rounds are left (``is_busy``), it is 'faster' or 'slower' only if
        the whole interval lies beyond what waiting can do to a ratio.

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such metric, or it was not taken.
        """
        return self.decide(label, metric, against).word

    def decide(self, label: str, metric: str | None = None, against: str | None = None) -> Verdict:
        """The same, with the ends of the ratio on which it rests, also on a busy machine."""
        interval = self.ratio(label, metric, against)
        is_itself = label == (self.baseline if against is None else against)
        if self.is_busy(label, against):
            low, high = self._ends_while_busy(label, metric, against)
            word = "same" if is_itself else decide_while_busy(low, high)
            return Verdict(word, low, high, self.margin, is_busy=True)
        _estimate, low, high = interval
        word = "same"
        if not is_itself:
            word = decide_verdict(interval, self.floor_of(metric), self.margin)
        return Verdict(word, low, high, self.margin, is_busy=False)

    def break_even(self, label: str, *, with_build: bool = False) -> float | None:
        """Calls after which this one has paid off its cold start.

        A process pays for starting the compiler, for loading and for the first call; what is
        compiled ahead of time is built once for all processes. It gains with each call that it
        waits for. If nobody timed how long the compiler takes to start (`lacks_compiler_start`),
        this is the least number of calls.

        Args:
            label: the variant.
            with_build: also count what is built once, as if there were only this process.

        Returns:
            An integer; ``math.inf`` if it never does, because it isn't faster; None if that
            isn't known.
        """
        verdict = self.decide(label)
        if verdict.word != "faster":
            return None if verdict.word == "undecided" else NEVER
        mine, base = self[label], self[self.baseline]
        saved = base.median - mine.median
        if verdict.is_busy:  # the least that it can save
            saved = base.median * (1 - 1 / verdict.low)
        extra = mine.cold_seconds - base.cold_seconds
        if with_build:
            extra += (mine.build_seconds or 0.0) - (base.build_seconds or 0.0)
        return 1 + max(0, math.ceil(extra / saved)) if saved > 0 else None

    def _pair(self, label: str, against: str | None) -> tuple[Samples, Samples]:
        """The samples above and below the line of a ratio: (numerator, denominator).

        Above are those of the baseline (or `against`), below those of this one; if it is the
        baseline itself, below are its own second turns.
        """
        other = self.baseline if against is None else against
        is_repeat = label == other == self.baseline
        denominator = self.baseline_repeat if is_repeat else self[label].times
        return self[other].times, denominator

    @property
    def _enough_processes(self) -> int:
        return min(stats.FEWEST_SAMPLES_FOR_AN_INTERVAL, len(self.processes))

    def _quiet_processes(self, label: str, against: str | None) -> "list[Measurements]":
        """The processes in which there were enough undisturbed rounds of these two."""
        self._pair(label, against)  # raises if one of them was left out
        return [each for each in self.processes if not each.is_busy(label, against)]

    def _used_processes(self, label: str, against: str | None = None) -> "list[Measurements]":
        """The quiet processes, on which the ratio rests; all, if those are too few."""
        quiet = self._quiet_processes(label, against)
        return quiet if len(quiet) >= self._enough_processes else [*self.processes]
