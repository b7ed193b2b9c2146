"""What ``sweep`` returns: a comparison at each of several sizes."""

from dataclasses import dataclass
from typing import Any

from d2lhybrid.report import claims, plot, summary, text
from d2lhybrid.report.comparisons import SweepRecord
from d2lhybrid.report.results import Comparison


@dataclass(frozen=True, repr=False)
class Sweep(SweepRecord):
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
        claims.claim_of_sweep(self, label, sense, work=work, **options)

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            xlabel: what the work is; "work" in the reader's language if empty.
        """
        return plot.sweep(self, xlabel)
