"""What ``compare`` returns: what was measured, judged and shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import claims, plot, summary, text
from d2lhybrid.report.advice import advice
from d2lhybrid.report.comparisons import ComparisonRecord


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonRecord):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Its fields, and what follows from them, are those of ``ComparisonRecord``; here is how it is
    shown.

    >>> from d2lhybrid import compare
    >>> functions = {"sum": sum, "max": max}
    >>> result = compare(functions, range(9), check=False, time_limit=0.3, progress=False)
    >>> list(result), result.baseline
    (['sum', 'max'], 'sum')
    >>> Comparison.from_json(result.to_json()) == result
    True
    """

    def __repr__(self) -> str:
        return str(text.comparison(self))

    def _repr_html_(self) -> str:
        return text.comparison(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {summary.MIME: summary.of(self)}

    def __getstate__(self) -> dict[str, Any]:
        """What is kept by pickle and copy: the record, without what could measure on."""
        return {name: value for name, value in vars(self).items() if name != "_session"}

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
        it still is then, one line says that the machine was too busy to tell. On a busy machine
        only the opposite contradicts "faster" and "slower": what differs takes the same time
        where all wait for a core.

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
