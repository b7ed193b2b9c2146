"""What ``sweep`` returns: a comparison at each of several sizes."""

from dataclasses import dataclass
from typing import Any

from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import claims, plot, summary, text
from d2lhybrid.report.records import Result
from d2lhybrid.report.results import Comparison


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The same comparison over a range of sizes; `work` is what the plot's axis shows.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes
    (1000, 100000)
    """

    sizes: tuple[int | float, ...]
    work: tuple[int | float, ...]
    comparisons: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) == len(self.work) > 0:
            raise ValueError(_("sizes, work and comparisons differ in number"))

    def __repr__(self) -> str:
        return str(text.sweep(self))

    def _repr_html_(self) -> str:
        return text.sweep(self).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {summary.MIME: summary.of(self)}

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at some size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def clocks(self) -> list[str]:
        """The clocks that say something of their own at some size."""
        return list(dict.fromkeys(clock for c in self.comparisons for clock in c.clocks))

    def claim(self, label: str, sense: str, *, work: float | None = None, **options: Any) -> None:
        """As ``Comparison.claim``, at the size that the plot shows as `work`, or at all of them."""
        claims.require_work(work, self.work)
        for each, comparison in zip(self.work, self.comparisons, strict=True):
            if work is None or each == work:
                comparison.claim(label, sense, **options)

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw time per call against work; returns the axes.

        Args:
            xlabel: what the work is; "work" in the reader's language if empty.
        """
        return plot.sweep(self, xlabel)
