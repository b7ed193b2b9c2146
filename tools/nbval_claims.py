"""A pytest plugin for `make test-notebooks`: claims that a busy machine could not decide.

Such a claim shows an output of a type of its own. It is left out of the comparison, on both sides;
how many there were is said at the end.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from nbval.plugin import IPyNbCell

from d2lhybrid.measurement.claims import MIME

_PROPERTY = "undecided claims"

_compare = IPyNbCell.compare_outputs


def compare_outputs(
    self: Any, test: Sequence[Any], reference: Sequence[Any], **options: Any
) -> Any:
    """As nbval's own, without what undecided claims show, here or when it was committed."""
    decided = ([one for one in side if not undecided(one)] for side in (test, reference))
    return _compare(self, *decided, **options)


def undecided(output: Any) -> bool:
    """Is it what an undecided claim shows?"""
    return MIME in (output.get("data") or {})


IPyNbCell.compare_outputs = compare_outputs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """Count the undecided claims of a cell."""
    yield
    count = sum(map(undecided, getattr(item, "test_outputs", None) or ()))
    if count:
        item.user_properties.append((_PROPERTY, count))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many claims were undecided."""
    passed = terminalreporter.stats.get("passed", ())
    found = [dict(map(tuple, report.user_properties)) for report in passed]
    count = sum(int(properties.get(_PROPERTY, 0)) for properties in found)
    if count:
        were = "claim was" if count == 1 else "claims were"
        terminalreporter.write_line(f"{count} {were} undecided: this machine was too busy to tell")
