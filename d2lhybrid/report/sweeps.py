"""What ``sweep`` returns: a comparison at each of several sizes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement import claims
from d2lhybrid.report import plot, text
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

    sizes: tuple[float, ...]
    work: tuple[float, ...]
    comparisons: tuple[Comparison, ...]

    def __repr__(self) -> str:
        return str(text.sweep(self))

    def _repr_html_(self) -> str:
        return text.sweep(self).html()

    def check(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) == len(self.work) > 0:
            raise ValueError(_("sizes, work and comparisons differ in number"))
        for comparison in self.comparisons:
            comparison.check()

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at some size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def clocks(self) -> list[str]:
        """The clocks that say something of their own at some size."""
        return list(dict.fromkeys(clock for c in self.comparisons for clock in c.clocks))

    def meeting(self, label: str, clock: str | None = None) -> float | None:
        """The work from which on this variant is no longer faster than the baseline; or None."""
        if label not in self.labels:
            self.comparisons[0][label]  # raises, with the labels that there are
        met = None
        for work, c in zip(reversed(self.work), reversed(self.comparisons), strict=True):
            if label in c and c.verdict(label, clock) == "faster":
                break
            met = work
        return met

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
