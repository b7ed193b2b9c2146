"""A pytest plugin for `make test-notebooks`: the cells with the tag `gpu`.

Committed is what they print where there is no GPU, and there they are compared like all others.
Where there is one, what they print is that machine's own: they only have to run. How many of them
were left out is said at the end.
"""

import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from book.check import left_out

_PROPERTY = ("gpu", "left out")


def _needs_gpu(item: pytest.Item) -> bool:
    cell = getattr(item, "cell", None)
    return cell is not None and "gpu" in cell.metadata.get("tags", ())


def pytest_collection_modifyitems(items: Sequence[Any]) -> None:
    """Compare no output of these cells on a machine with a GPU."""
    if shutil.which("nvidia-smi"):
        for item in filter(_needs_gpu, items):
            item.options["check"] = False


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Note which of these cells did nothing but say that it needs a GPU."""
    yield
    if _needs_gpu(item) and left_out(item.cell.source, item.test_outputs or ()):
        item.user_properties.append(_PROPERTY)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many cells were left out."""
    passed = terminalreporter.stats.get("passed", ())
    count = sum(_PROPERTY in map(tuple, report.user_properties) for report in passed)
    if count:
        were = "cell was" if count == 1 else "cells were"
        terminalreporter.write_line(f"{count} {were} left out: no GPU")
