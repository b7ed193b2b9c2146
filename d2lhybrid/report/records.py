"""What was measured, apart from how: frozen records that go to JSON and come back the same.

The schema is described in docs/results-schema.md.
"""

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from d2lhybrid.errors import MissingPackageError, UnknownLabelError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.jsonrecord import Record
from d2lhybrid.measure import stats


@dataclass(frozen=True)
class Environment:
    """Where and when: enough to judge whether two results can be put side by side."""

    date: str
    versions: dict[str, str]
    system: str
    cpu: str
    cores: int
    threads: dict[str, int]
    accelerators: tuple[str, ...]
    governor: str | None
    load: float | None


@dataclass(frozen=True)
class Measurement(Record):
    """The times of one callable, in seconds per call.

    `cold_seconds` is the first call alone, with tracing and compilation; `samples` are the steady
    state, each the mean over `calls` calls. `device_samples` is None without an accelerator.

    >>> from d2lhybrid import measure
    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.ci95[0] <= result.median <= result.ci95[1]
    True
    """

    label: str
    cold_seconds: float
    samples: tuple[float, ...]
    calls: int
    warmup_calls: int
    device_samples: tuple[float, ...] | None
    env: Environment

    def check(self) -> None:
        """Raise ValueError unless all times are times."""
        _require_times((self.cold_seconds, *self.samples))
        _require_times(self.samples)
        if self.device_samples is not None:
            _require_times(self.device_samples)

    @cached_property
    def median(self) -> float:
        """The median of the steady state, in seconds per call."""
        return statistics.median(self.samples)

    @property
    def iqr(self) -> float:
        """The interquartile range of the steady state, in seconds per call."""
        return stats.iqr(self.samples)

    @property
    def ci95(self) -> tuple[float, float]:
        """The 95% interval of the median, (low, high) in seconds per call.

        By the sign test on the samples (Conover, *Practical Nonparametric Statistics*, 3.1);
        infinite with fewer than six.
        """
        return stats.median_interval(self.samples)

    @property
    def min(self) -> float:
        """The fastest sample, in seconds per call."""
        return min(self.samples)

    @property
    def device_median(self) -> float | None:
        """The median time on the accelerator, in seconds per call; None without one."""
        return statistics.median(self.device_samples) if self.device_samples else None

    def __repr__(self) -> str:
        from d2lhybrid.report import text as report

        return report.measurement(self)


@dataclass(frozen=True)
class Comparison(Record, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is `again[i]`, the baseline's second
    turn in that round, from which the noise floor follows. `unavailable` says why a variant is
    not among them. `stopped` is 'clear', 'limit' or 'interrupted'.

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
    again: tuple[float, ...]
    unavailable: dict[str, str]
    checked: float | bool
    seed: int
    stopped: str
    margin: float = stats.MARGIN

    def check(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        _require_times(self.again)
        for measurement in self.measurements:
            measurement.check()
        if {len(m.samples) for m in self.measurements} != {len(self.again)}:
            raise ValueError(_("rounds are missing"))
        if self.baseline not in self:
            raise ValueError(_("the baseline is missing"))
        if not 0 <= self.margin < math.inf:
            raise ValueError(_("the margin is not a fraction, 0 or more"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        reason = self.unavailable.get(label)
        if reason:
            text = _("{label!r} was not measured: {reason}")
            raise UnknownLabelError(text.format(label=label, reason=_(reason)))
        text = _("Expected one of {labels}. Received: {received!r}.")
        raise UnknownLabelError(text.format(labels=", ".join(map(repr, self)), received=label))

    def __iter__(self) -> Any:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    @property
    def env(self) -> Environment:
        """Where and when it was measured."""
        return self.measurements[0].env

    @property
    def noise_floor(self) -> float:
        """What a ratio must differ from 1 by to count, as a fraction (0.01 is 1%).

        How far the 95% interval of the baseline's ratio to itself reaches from 1.
        """
        return stats.noise_floor(self[self.baseline].samples, self.again)

    def ratio(self, label: str) -> tuple[float, float, float]:
        """Baseline time over this one's, and its 95% interval: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, the interval
        that of the sign test. Of the baseline itself, it is the ratio of its two turns.
        """
        samples = self.again if label == self.baseline else self[label].samples
        return stats.ratio(self[self.baseline].samples, samples)

    def verdict(self, label: str) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'.

        Raises:
            UnknownLabelError: There is no such variant.
        """
        if label == self.baseline:
            return "same"
        return stats.verdict(self.ratio(label), self.noise_floor, self.margin)

    def break_even(self, label: str) -> int | None:
        """Calls after which this one's cold start has paid for itself; None if it never does.

        Only a variant that is known to be faster ever does.
        """
        if self.verdict(label) != "faster":
            return None
        mine, base = self[label], self[self.baseline]
        saved = base.median - mine.median
        extra = mine.cold_seconds - base.cold_seconds
        return 1 + max(0, math.ceil(extra / saved)) if saved > 0 else None

    def __repr__(self) -> str:
        from d2lhybrid.report import text as report

        return report.text(self)

    def _repr_html_(self) -> str:
        from d2lhybrid.report import text as report

        return report.html(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw medians and intervals with matplotlib; returns the axes."""
        from d2lhybrid.report import plot

        return plot.comparison(self, ax)

    def to_frame(self) -> Any:
        """A pandas data frame, one row a variant."""
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
            "device_median": m.device_median,
            "cold_seconds": m.cold_seconds,
            "warmup_calls": m.warmup_calls,
            "ratio": estimate,
            "ratio_low": low,
            "ratio_high": high,
            "verdict": self.verdict(label),
            "break_even": self.break_even(label),
        }


@dataclass(frozen=True)
class Sweep(Record):
    """The same comparison over a range of sizes; `work` is what the plot's axis shows.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes, points.meeting("NumPy")
    ((1000, 100000), None)
    """

    sizes: tuple[float, ...]
    work: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def check(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) == len(self.work) > 0:
            raise ValueError(_("sizes, work and comparisons differ in number"))
        for comparison in self.comparisons:
            comparison.check()

    def meeting(self, label: str) -> float | None:
        """The work from which on this variant is no longer faster than the baseline; or None."""
        if not any(label in comparison for comparison in self.comparisons):
            self.comparisons[0][label]  # raises, with the labels that there are
        met = None
        for work, comparison in zip(self.work, self.comparisons, strict=True):
            if label in comparison and comparison.verdict(label) == "faster":
                met = None
            elif met is None:
                met = work
        return met

    def __repr__(self) -> str:
        from d2lhybrid.report import text as report

        return report.sweep_text(self)

    def _repr_html_(self) -> str:
        from d2lhybrid.report import text as report

        return report.sweep_html(self)

    def plot(
        self, ax: Any = None, *, xlabel: str = "", lines: Mapping[str, float] | None = None
    ) -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            ax: the matplotlib axes to draw on; new ones if None.
            xlabel: what the work is; "work" in the reader's language if empty.
            lines: times in seconds to draw dashed across the plot, by their labels.
        """
        from d2lhybrid.report import plot

        return plot.sweep(self, ax, xlabel, lines or {})


def _require_times(times: tuple[float, ...]) -> None:
    if not times or not all(time >= 0 for time in times):
        raise ValueError(_("a time is missing, or is no number of seconds above 0"))
