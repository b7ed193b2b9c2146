"""What ``compare`` returns: what was measured, judged and shown."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from d2lhybrid.errors import MissingPackageError, UnknownLabelError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement import claims, stats
from d2lhybrid.report import plot, text
from d2lhybrid.report.advice import advice
from d2lhybrid.report.records import AGREE, Environment, Measurement, Result, Samples
from d2lhybrid.report.units import NEVER

BUSY_FLOOR = 0.2  # a noise floor above this says that the machine did other things
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
    unavailable: dict[str, str]
    references: tuple[str, ...]
    checked: float | bool
    seed: int
    stopped: str
    margin: float = stats.MARGIN
    limit_needed: float | None = None

    def __repr__(self) -> str:
        return str(text.comparison(self))

    def _repr_html_(self) -> str:
        return text.comparison(self).html()

    def __getstate__(self) -> dict[str, Any]:
        """What is kept by pickle and copy: the record, without what could measure on."""
        return {name: value for name, value in vars(self).items() if name != "_session"}

    def check(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        self.again.check()
        for measurement in self.measurements:
            measurement.check()
        rounds = {len(m.samples) for m in self.measurements}
        streams = {m.times.throughput is None for m in self.measurements}
        if rounds != {self.rounds} or streams != {self.again.throughput is None}:
            raise ValueError(_("rounds are missing"))
        if self.baseline not in self:
            raise ValueError(_("the baseline is missing"))
        if not 0 <= self.margin < math.inf:
            raise ValueError(_("the margin is not a fraction, 0 or more"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        known = tuple(self)
        if label in self.unavailable:
            said = _("{label!r} was not measured: {reason}")
            said = said.format(label=label, reason=_(self.unavailable[label]))
        else:
            said = _("Expected one of {labels}. Received: {received!r}.")
            said = said.format(labels=", ".join(map(repr, known)), received=label)
        raise UnknownLabelError(said, label=label, known=known)

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
    def agree(self) -> bool:
        """Is nothing queued, so that latency and throughput are one time, to within 5%?"""
        pairs = [(m.median_of("latency"), m.median_of("throughput")) for m in self.measurements]
        return all(max(pair) <= (1 + AGREE) * min(pair) for pair in pairs)

    @property
    def clocks(self) -> tuple[str, ...]:
        """The clocks that say something of their own: 'latency' and, where it differs, others."""
        streams = () if self.agree else ("throughput",)
        device = ("device",) if self.again.device else ()
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
        load = self.env.load
        return (load is not None and load > self.env.cores) or (
            self.rounds >= stats.FEWEST and self.noise_floor > BUSY_FLOOR
        )

    def ratio(
        self, label: str, clock: str | None = None, against: str | None = None
    ) -> tuple[float, float, float]:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        (95%) that of the sign test. Of the baseline itself, it is the ratio of its two turns.
        """
        other = self.baseline if against is None else against
        samples: tuple[float, ...] | None = self[label].samples_of(clock)
        if label == other == self.baseline:
            samples = self.again.of(clock)
        return stats.ratio(self[other].samples_of(clock), samples or ())

    def verdict(self, label: str, clock: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'.

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such clock, or it did not run.
        """
        if self[label].label == (self.baseline if against is None else against):
            return "same"
        interval = self.ratio(label, clock, against)
        return stats.verdict(interval, self.floor_of(clock), self.margin)

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

    @property
    def advice(self) -> str:
        """What to use, in one sentence; by the rules in ``d2lhybrid.report.advice``."""
        return advice(self)

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

        Silent if it holds. If it is undecided, rounds go on, for up to three times the
        comparison's limit or 20 s (where this came from JSON, there is nothing to go on with); if
        it still is then, one line says that the machine was too busy to tell.

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
        claims.claim(self, label, sense, at_least=at_least, against=against, clock=clock)

    def plot(self, ax: Any = None) -> Any:
        """Draw the times per call with their intervals with matplotlib; returns the axes."""
        return plot.comparison(self, ax)

    def waterfall(self, labels: Sequence[str], ax: Any = None) -> Any:
        """Draw what each layer of software adds to the latency; returns the axes.

        Args:
            labels: the variants in the order of the steps, such as from "C" up to "eager".
            ax: the matplotlib axes to draw on; new ones if None.
        """
        return plot.waterfall(self, labels, ax)

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
        return pandas.DataFrame([self._row(label) for label in self]).set_index("label")

    def _row(self, label: str) -> dict[str, Any]:
        m = self[label]
        estimate, low, high = self.ratio(label) if label != self.baseline else (1.0, 1.0, 1.0)
        return {
            "label": label,
            "median": m.median,
            "ci95_low": m.ci95[0],
            "ci95_high": m.ci95[1],
            "iqr": m.iqr,
            "min": m.min,
            "throughput_median": m.median_of("throughput"),
            "device_median": m.device_median,
            "build_seconds": m.build_seconds,
            "load_seconds": m.load_seconds,
            "first_seconds": m.first_seconds,
            "warmup_calls": m.warmup_calls,
            "peak_bytes": m.peak_bytes,
            "host_peak_bytes": m.host_peak_bytes,
            "ratio": estimate,
            "ratio_low": low,
            "ratio_high": high,
            "verdict": self.verdict(label),
            "break_even": self.break_even(label),
        }
