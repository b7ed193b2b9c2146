"""What ``compare`` and ``sweep`` return: what was measured, what follows from it, how it shows."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from d2lhybrid.core import stats
from d2lhybrid.core.arguments import unknown_label
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.stats import Estimate
from d2lhybrid.core.toolchain import require
from d2lhybrid.display import plot
from d2lhybrid.display.table import NEVER
from d2lhybrid.experiment import claim as claims, text
from d2lhybrid.experiment.measurement import (
    AGREE,
    CLOCKS,
    Measurement,
    Result,
    Samples,
    Seconds,
    is_busy,
)
from d2lhybrid.experiment.provenance import Environment

# What a result shows, for programs that read notebooks: the site, README, whoever collects them.
MIME = "application/vnd.d2lhybrid.comparison+json"


@dataclass(frozen=True, repr=False)
class Comparison(Result, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is that of `again`, the baseline's second
    turn in that round, from which the noise floor follows. `unavailable` says of each variant that
    was not measured why. `references` are programs to compare with, not to choose from, and
    `deprecated` the variants that their makers have deprecated. `stopped` is 'clear', 'limit' or
    'interrupted'; `limit_needed` the time limit, in seconds, that six rounds would have needed,
    None if there are six.

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
    deprecated: tuple[str, ...]
    checked: Seconds | bool
    seed: int
    stopped: str
    margin: Seconds = stats.MARGIN
    limit_needed: Seconds | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        times = [self.again, *(m.times for m in self.measurements)]
        kinds = {(len(one.latency), one.throughput is None) for one in times}
        if len(kinds) > 1 or self.baseline not in {m.label for m in self.measurements}:
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

    def __repr__(self) -> str:
        return str(text.comparison(self))

    def _repr_html_(self) -> str:
        return text.comparison(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {MIME: self.summary()}

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
        return stats.noise_floor(self[self.baseline].times.of(clock), self.again.of(clock))

    @property
    def busy(self) -> bool:
        """Was the machine busy, or did the times vary so much, that they are uncertain?"""
        return is_busy(self.env, self.noise_floor)

    @property
    def advice(self) -> str:
        """What to use, by the rules in ``d2lhybrid.experiment.claim.advice``."""
        return claims.advice(self)

    def ratio(self, label: str, clock: str | None = None, against: str | None = None) -> Estimate:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        that of the sign test: 95%, or 99% of 8 to 19 rounds, and of fewer than six infinite.
        Of the baseline itself, it is the ratio of its two turns.
        """
        other = self.baseline if against is None else against
        samples = self.again if label == other == self.baseline else self[label].times
        return stats.ratio(self[other].times.of(clock), samples.of(clock))

    def verdict(self, label: str, clock: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'. On a busy machine nothing is
        'same': what waits for a core takes the same time, whatever it computes.

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such clock, or it did not run.
        """
        interval = self.ratio(label, clock, against)
        if label == (self.baseline if against is None else against):
            return "same"
        return stats.verdict(interval, self.floor_of(clock), self.margin, self.busy)

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

    def claim(
        self,
        label: str,
        sense: str,
        *,
        at_least: float | None = None,
        against: str | None = None,
        clock: str | None = None,
    ) -> None:
        """Check a claim, such as "tf.function is faster", against what was measured.

        A line shows that it holds: "✓ tf.function is faster than eager: 4.21 times." If it is
        undecided, and this is what ``compare`` returned last, rounds go on, for up to three times
        the comparison's limit or 20 s, and no more than 30 times the limit. The line then says how
        many rounds it took, because the table and ``verdict`` stay as they are; or it says that the
        claim is still undecided, and whether the times are too uncertain.
        On a busy machine only the opposite contradicts "faster" and "slower": variants that wait
        for a core all take the same time.

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

    def plot(self, clock: str = "latency") -> Any:
        """Draw the times per call with their intervals with matplotlib; returns the axes.

        Args:
            clock: 'latency', 'throughput' or 'device'.
        """
        return plot.comparison(self, clock)

    def waterfall(self, labels: Sequence[str], clock: str = "latency") -> Any:
        """Draw what each layer of software adds to the time of a call; returns the axes.

        Args:
            labels: the variants in the order of the steps, such as from "C" up to "eager".
            clock: 'latency', 'throughput' or 'device'.
        """
        return plot.waterfall(self, labels, clock)

    def to_frame(self) -> Any:
        """A pandas data frame, one row a variant; raises MissingPackageError without pandas.

        Times are in seconds per call, and ratios above 1 are faster. `pays_after` is also missing
        if a cold start never pays off.
        """
        return require("pandas", "notebooks").DataFrame(self.summary()["rows"]).set_index("label")

    def summary(self) -> dict[str, Any]:
        """What the table shows, as plain data for programs that read notebooks."""
        told = {"kind": "comparison", "baseline": self.baseline, "clocks": list(self.clocks)}
        where = {"processor": self.env.cpu, "cores": self.env.cores, "date": self.env.date[:10]}
        return {**told, "rows": [self._row(label) for label in self], **where}

    def _row(self, label: str) -> dict[str, Any]:
        m, queued = self[label], "throughput" in self.clocks
        kind = {"verdict": self.verdict(label), "reference": label in self.references}
        kind |= {"deprecated": label in self.deprecated}
        ratio = dict(zip(("ratio", "low", "high"), self._known(label, "latency"), strict=True))
        stream = m.median_of("throughput"), self._known(label, "throughput")[0]
        time, stream_ratio = stream if queued else (None, None)
        pays = self.break_even(label) if label in self.others else None
        row = {"label": label, **kind, "latency": m.median, "throughput": time, **ratio}
        once = {"cold": m.cold_seconds, "pays_after": None if pays == NEVER else pays}
        return {**row, "throughput_ratio": stream_ratio, **once}

    def _known(self, label: str, clock: str) -> list[float | None]:
        """The ratio and its interval as far as it has one; the baseline's is 1, as in the table."""
        ratio = [1.0] * 3 if label == self.baseline else self.ratio(label, clock)
        return [value if value and math.isfinite(value) else None for value in ratio]


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
        return str(text.sweep(self))

    def _repr_html_(self) -> str:
        return text.sweep(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        comparisons = [each.summary() for each in self.comparisons]
        return {MIME: {"kind": "sweep", "sizes": list(self.sizes), "comparisons": comparisons}}

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at some size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def deprecated(self) -> list[str]:
        """Those that are deprecated."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c.deprecated))

    @property
    def clocks(self) -> list[str]:
        """The clocks that say something of their own at some size."""
        return list(dict.fromkeys(clock for c in self.comparisons for clock in c.clocks))

    def claim(
        self,
        label: str,
        sense: str,
        *,
        work: float | None = None,
        at_least: float | None = None,
        against: str | None = None,
        clock: str | None = None,
    ) -> None:
        """As ``Comparison.claim``, at the size `work`, or at all of them with a line for each."""
        if work is not None and work not in self.sizes:
            text = _("Expected a work among {known}. Received: {received!r}.")
            known = ", ".join(map(str, self.sizes))
            raise ArgumentError(text.format(known=known, received=work))
        for each, comparison in zip(self.sizes, self.comparisons, strict=True):
            if work is None or each == work:
                made = claims.Claim(label, sense, at_least, against, clock, each)
                claims.claim(comparison, made)

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            xlabel: what the work is; "work" in the reader's language if empty.
        """
        return plot.sweep(self, xlabel)
