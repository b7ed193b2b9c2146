"""What ``compare`` returns: what was measured, and what follows from it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from d2lhybrid import stats
from d2lhybrid.calls import unknown_label
from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import claims, plot, summary, text
from d2lhybrid.report.advice import advice
from d2lhybrid.report.provenance import Environment
from d2lhybrid.report.records import AGREE, Measurement, Result, Samples, Seconds, is_busy
from d2lhybrid.report.units import NEVER

SKEWED = 0.05  # a ratio within rounds that is farther than this from that of the medians


@dataclass(frozen=True, repr=False)
class Comparison(Result, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is that of `again`, the baseline's second
    turn in that round, from which the noise floor follows. `unavailable` says of each variant that
    was not measured why. `references` are rows to look up to, not to choose from. `stopped` is
    'clear', 'limit' or 'interrupted'; `limit_needed` the time limit, in seconds, that six rounds
    would have needed, None where there are six.

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
        if rounds != {self.rounds} or streams != {self.again.throughput is None}:
            raise ValueError(_("rounds are missing"))
        if self.baseline not in list(self):
            raise ValueError(_("the baseline is missing"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        raise unknown_label(label, tuple(self), self.unavailable)

    def __iter__(self) -> Iterator[str]:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    def __repr__(self) -> str:
        return str(text.comparison(self))

    def _repr_html_(self) -> str:
        return text.comparison(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {summary.MIME: summary.of(self)}

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
        pairs = [(m.median_of("latency"), m.median_of("throughput")) for m in self.measurements]
        agree = all(max(pair) <= (1 + AGREE) * min(pair) for pair in pairs)
        streams, device = () if agree else ("throughput",), ("device",) if self.again.device else ()
        return ("latency", *streams, *device)

    @property
    def noise_floor(self) -> float:
        """What a ratio must differ from 1 by to count, as a fraction (0.01 is 1%), by latency."""
        return self.floor_of()

    def floor_of(self, clock: str | None = None) -> float:
        """The noise floor by a clock: how far the baseline's ratio to itself reaches from 1."""
        again = self.again.of(clock)
        samples = self[self.baseline].samples_of(clock)
        return stats.noise_floor(samples, again) if again else math.inf

    @property
    def busy(self) -> bool:
        """Did the machine do other things, so that these times are uncertain?"""
        return is_busy(self.env, self.noise_floor)

    @property
    def advice(self) -> str:
        """What to use, in one sentence; by the rules in ``d2lhybrid.report.advice``."""
        return advice(self)

    def ratio(
        self, label: str, clock: str | None = None, against: str | None = None
    ) -> tuple[float, float, float]:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        that of the sign test: 95%, or 99% of 8 to 19 rounds, and of fewer than six infinite.
        Of the baseline itself, it is the ratio of its two turns.
        """
        other = self.baseline if against is None else against
        samples: tuple[float, ...] | None = self[label].samples_of(clock)
        if label == other == self.baseline:
            samples = self.again.of(clock)
        return stats.ratio(self[other].samples_of(clock), samples or ())

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

    def skewed(self, label: str, clock: str | None = None) -> bool:
        """Is the ratio within rounds another, by more than 5%, than that of the two medians?"""
        base = self[self.baseline]
        quotient = base.median_of(clock) / self[label].median_of(clock)
        within = self.ratio(label, clock)[0]
        return max(quotient, within) > (1 + SKEWED) * min(quotient, within)

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

    def claim(
        self,
        label: str,
        sense: str,
        *,
        at_least: float | None = None,
        against: str | None = None,
        clock: str | None = None,
    ) -> None:
        """Hold a claim, such as "tf.function is faster", against what was measured.

        Silent if it holds. If it is undecided, and this is what ``compare`` returned last, rounds
        go on, for up to three times the comparison's limit or 20 s; if it still is then, one line
        says so, and whether the machine was too busy to tell. On a busy machine only the opposite
        contradicts "faster" and "slower": what differs takes the same time where all wait for a
        core.

        Args:
            label: the variant.
            sense: 'faster', 'slower', 'same', 'not slower' or 'not faster'.
            at_least: how many times as fast, or as long, it must be.
            against: the other variant; the baseline if None.
            clock: 'latency', 'throughput' or 'device'; the latency if None.

        Raises:
            ClaimError: what was measured contradicts it.
            ArgumentError, UnknownLabelError: there is no such claim, clock or variant.
        """
        claims.claim(self, claims.Claim(label, sense, at_least, against, clock))

    def plot(self) -> Any:
        """Draw the times per call with their intervals with matplotlib; returns the axes."""
        return plot.comparison(self)

    def waterfall(self, labels: Sequence[str], clock: str = "latency") -> Any:
        """Draw what each layer of software adds to the time of a call; returns the axes.

        Args:
            labels: the variants in the order of the steps, such as from "C" up to "eager".
            clock: 'latency', 'throughput' or 'device'.
        """
        return plot.waterfall(self, labels, clock)

    def to_frame(self) -> Any:
        """A pandas data frame, one row a variant; raises MissingPackageError without pandas."""
        try:
            import pandas
        except ImportError as error:
            raise MissingPackageError(
                _("Expected pandas for a data frame. Received: none. Install it: {command}").format(
                    command="pip install pandas"
                )
            ) from error
        return pandas.DataFrame([self._row(m) for m in self.measurements]).set_index("label")

    def _row(self, m: Measurement) -> dict[str, Any]:
        names = ["label", "median", "iqr", "min", "device_median"]
        names += ["build_seconds", "load_seconds", "first_seconds", "warmup_calls"]
        row = {name: getattr(m, name) for name in names}
        row["throughput_median"] = m.median_of("throughput")
        row["ci95_low"], row["ci95_high"] = m.ci95
        row["ratio"], row["ratio_low"], row["ratio_high"] = self.ratio(m.label)
        row["verdict"], row["break_even"] = self.verdict(m.label), self.break_even(m.label)
        return row
