"""What the cells of executed notebooks measured, read from the summaries that results carry.

Beside what a reader sees, each table of ``compare`` holds a summary for programs. The site, the
first page in JupyterLab and README take their figures from there.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import msgspec
import nbformat

from book.errors import BookError

MIME = "application/vnd.d2lhybrid.comparison+json"


class Row(msgspec.Struct, frozen=True):
    """A variant. Times in seconds a call; a ratio above 1 is faster than the baseline."""

    label: str
    verdict: str
    latency: float
    ratio: float | None = None
    throughput: float | None = None  # where the work is queued
    throughput_ratio: float | None = None
    reference: bool = False  # compiles nothing: it says how far there is to go


class Comparison(msgspec.Struct, frozen=True, dict=True):
    """The rows of a table, and when and on what they were measured."""

    baseline: str
    rows: tuple[Row, ...]
    processor: str
    date: str

    @cached_property
    def variants(self) -> dict[str, Row]:
        """The framework's own ways by their labels, without references."""
        return {row.label: row for row in self.rows if not row.reference}

    @property
    def best(self) -> Row:
        """The fastest of the framework's own ways."""
        return max(self.variants.values(), key=lambda row: row.ratio or 0)

    @property
    def slower(self) -> list[Row]:
        """Those that are slower than the baseline beyond doubt, the slowest first."""
        found = [row for row in self.variants.values() if row.verdict == "slower" and row.ratio]
        return sorted(found, key=lambda row: row.ratio or 0)


def comparisons(notebook: nbformat.NotebookNode) -> Iterator[Comparison]:
    """The comparisons of a notebook's cells, in order; none where nothing was executed.

    Raises BookError where an output holds something else.
    """
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            summary: Any = output.get("data", {}).get(MIME)
            if summary is None or summary.get("kind") == "sweep":
                continue
            try:
                yield msgspec.convert(summary, Comparison)
            except msgspec.ValidationError as error:
                raise BookError(
                    f"cell {cell.get('id')}: expected the summary of a comparison ({error}); "
                    "run `make notebooks`."
                ) from None
