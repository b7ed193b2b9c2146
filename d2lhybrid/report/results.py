"""What ``measure``, ``compare`` and ``sweep`` return: the records, shown and judged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement import claims
from d2lhybrid.report import plot, records, text
from d2lhybrid.report.advice import advice


@dataclass(frozen=True, repr=False)
class Measurement(records.Measurement):
    """The times of one callable, in seconds per call.

    `build_seconds` is what was compiled ahead of time, once for all processes, `load_seconds` what
    each process pays to load it, `first_seconds` the first call, with tracing and compiling; None
    where there is no such step. `times` are the samples of the steady state by each clock.

    >>> from d2lhybrid import measure
    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.ci95[0] <= result.median <= result.ci95[1]
    True
    """

    def __repr__(self) -> str:
        return text.measurement(self)


@dataclass(frozen=True, repr=False, eq=True)
class Comparison(records.Comparison):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    >>> from d2lhybrid import compare
    >>> functions = {"sum": sum, "max": max}
    >>> result = compare(functions, range(9), check=False, time_limit=0.3, progress=False)
    >>> list(result), result.baseline
    (['sum', 'max'], 'sum')
    >>> Comparison.from_json(result.to_json()) == result
    True
    """

    measurements: tuple[Measurement, ...]

    def __repr__(self) -> str:
        return text.text(self)

    def _repr_html_(self) -> str:
        return text.html(self)

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

    def __getstate__(self) -> dict[str, Any]:
        """What is kept by pickle and copy: the record, without what could measure on."""
        return {name: value for name, value in vars(self).items() if name != "_session"}

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


@dataclass(frozen=True, repr=False)
class Sweep(records.Sweep):
    """The same comparison over a range of sizes; `work` is what the plot's axis shows.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes
    (1000, 100000)
    """

    comparisons: tuple[Comparison, ...]

    def __repr__(self) -> str:
        return text.sweep_text(self)

    def _repr_html_(self) -> str:
        return text.sweep_html(self)

    def claim(self, label: str, sense: str, *, work: float | None = None, **options: Any) -> None:
        """As ``Comparison.claim``, at the size that the plot shows as `work`, or at all of them."""
        claims.claim_of_sweep(self, label, sense, work=work, **options)

    def plot(
        self, ax: Any = None, *, xlabel: str = "", lines: Mapping[str, float] | None = None
    ) -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            ax: the matplotlib axes to draw on; new ones if None.
            xlabel: what the work is; "work" in the reader's language if empty.
            lines: times in seconds to draw dashed across the plot, by their labels.
        """
        return plot.sweep(self, ax, xlabel, lines or {})
