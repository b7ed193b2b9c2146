"""What ``compare`` and ``sweep`` measured, and what follows from it; ``results`` shows it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from d2lhybrid import stats
from d2lhybrid.calls import unknown_label
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.provenance import Environment
from d2lhybrid.report.records import AGREE, CLOCKS, Measurement, Result, Samples, Seconds, is_busy
from d2lhybrid.report.units import NEVER


@dataclass(frozen=True, repr=False)
class ComparisonData(Result, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is that of `again`, the baseline's second
    turn in that round, from which the noise floor follows. `unavailable` says of each variant that
    was not measured why. `references` are rows to look up to, not to choose from. `stopped` is
    'clear', 'limit' or 'interrupted'; `limit_needed` the time limit, in seconds, that six rounds
    would have needed, None where there are six.
    """

    measurements: tuple[Measurement, ...]
    baseline: str
    again: Samples
    unavailable: dict[str, str] = field(hash=False)
    references: tuple[str, ...]
    checked: Seconds | bool
    seed: int
    stopped: str
    margin: Seconds = stats.MARGIN
    limit_needed: Seconds | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        rounds = {len(m.samples) for m in self.measurements}
        streams = {m.times.throughput is None for m in self.measurements}
        same = rounds == {self.rounds} and streams == {self.again.throughput is None}
        if not same or self.baseline not in list(self):
            raise ValueError(_("rounds are missing"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        raise unknown_label(label, tuple(self), self.unavailable)

    def __iter__(self) -> Iterator[str]:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    @property
    def others(self) -> list[str]:
        """The variants: all labels but the baseline's and the references'."""
        return [one for one in self if one != self.baseline and one not in self.references]

    @property
    def env(self) -> Environment:
        """Where and when it was measured."""
        return self.measurements[0].env

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(self.again.latency)

    @property
    def clocks(self) -> tuple[str, ...]:
        """The clocks that say something of their own: 'latency' and, where it differs, others."""
        pairs = [(m.median, m.median_of("throughput")) for m in self.measurements]
        apart = any(max(pair) > (1 + AGREE) * min(pair) for pair in pairs)
        says = {"latency": True, "throughput": apart, "device": bool(self.again.device)}
        return tuple(clock for clock in CLOCKS if says[clock])

    @property
    def noise_floor(self) -> float:
        """What a ratio must differ from 1 by to count, as a fraction (0.01 is 1%), by latency."""
        return self.floor_of()

    def floor_of(self, clock: str | None = None) -> float:
        """The noise floor by a clock: how far the baseline's ratio to itself reaches from 1."""
        return stats.noise_floor(self[self.baseline].samples_of(clock), self.again.of(clock))

    @property
    def busy(self) -> bool:
        """Did the machine do other things, so that these times are uncertain?"""
        return is_busy(self.env, self.noise_floor)

    def ratio(
        self, label: str, clock: str | None = None, against: str | None = None
    ) -> tuple[float, float, float]:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        that of the sign test: 95%, or 99% of 8 to 19 rounds, and of fewer than six infinite.
        Of the baseline itself, it is the ratio of its two turns.
        """
        other = self.baseline if against is None else against
        second = label == other == self.baseline
        samples = self.again.of(clock) if second else self[label].samples_of(clock)
        return stats.ratio(self[other].samples_of(clock), samples)

    def verdict(self, label: str, clock: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'. On a busy machine nothing is
        'same': what waits for a core takes the same time, whatever it computes.

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such clock, or it did not run.
        """
        if self[label].label == (self.baseline if against is None else against):
            return "same"
        interval = self.ratio(label, clock, against)
        return stats.verdict(interval, self.floor_of(clock), self.margin, self.busy)

    def break_even(self, label: str) -> float | None:
        """Calls after which what this one costs a process at first has paid for itself.

        What a process pays is loading and the first call, for what is compiled ahead is built once
        for all processes; what it gains, each call that is waited for.

        Returns:
            A whole number; ``math.inf`` where it never does, for it is not faster; None where that
            is not known.
        """
        verdict = self.verdict(label)
        if verdict == "undecided":
            return None
        if verdict != "faster":
            return NEVER
        mine, base = self[label], self[self.baseline]
        saved = base.median - mine.median
        extra = mine.cold_seconds - base.cold_seconds
        return 1 + max(0, math.ceil(extra / saved)) if saved > 0 else None


@dataclass(frozen=True, repr=False)
class SweepData(Result):
    """The same comparison over a range of sizes; `work` is what the plot's axis shows."""

    sizes: tuple[int | float, ...]
    work: tuple[int | float, ...]
    comparisons: tuple[ComparisonData, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) == len(self.work) > 0:
            raise ValueError(_("sizes, work and comparisons differ in number"))

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at some size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def clocks(self) -> list[str]:
        """The clocks that say something of their own at some size."""
        return list(dict.fromkeys(clock for c in self.comparisons for clock in c.clocks))
