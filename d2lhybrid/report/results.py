"""What ``compare`` and ``sweep`` return: what was measured, and how it is shown and claimed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import require
from d2lhybrid.report import claims, plot, summary, text
from d2lhybrid.report.advice import advice
from d2lhybrid.report.comparisons import ComparisonData, SweepData


@dataclass(frozen=True, repr=False)
class Comparison(ComparisonData):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Its fields, and what follows from them, are those of ``ComparisonData``.

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
        claims.claim(self, label, sense, at_least=at_least, against=against, clock=clock)

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

        Its columns are those of ``d2lhybrid.report.summary``.
        """
        pandas = require("pandas", "notebooks")
        return pandas.DataFrame(summary.of(self)["rows"]).set_index("label")


@dataclass(frozen=True, repr=False)
class Sweep(SweepData):
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
        return str(text.sweep(self))

    def _repr_html_(self) -> str:
        return text.sweep(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {summary.MIME: summary.of(self)}

    def claim(self, label: str, sense: str, *, work: float | None = None, **options: Any) -> None:
        """As ``Comparison.claim``, at the size that the plot shows as `work`, or at all of them."""
        if work is not None and work not in self.work:
            text = _("Expected a work among {known}. Received: {received!r}.")
            known = ", ".join(map(str, self.work))
            raise ArgumentError(text.format(known=known, received=work))
        for each, comparison in zip(self.work, self.comparisons, strict=True):
            if work is None or each == work:
                comparison.claim(label, sense, **options)

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            xlabel: what the work is; "work" in the reader's language if empty.
        """
        return plot.sweep(self, xlabel)
