"""The planted cases are enough, and build; benchmarks/why.py compares them."""

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from case import FASTER, FRAMEWORKS, NOT_FASTER, cases
from processes import python

# Builds each case and calls its baseline, in a process, because some cases switch compilers off.
BUILD = """
import sys
sys.path[:0] = ["tests/helpers", "tests/planted"]
from case import cases
for case in cases(sys.argv[1]).values():
    functions, *args = case.build()
    baseline, *_others = functions
    functions[baseline](*args)
    assert case.label(functions) in functions
"""


@pytest.fixture(scope="module", params=FRAMEWORKS)
def planted(request):
    return cases(request.param)


def test_there_are_enough_of_each():
    every = [case for framework in FRAMEWORKS for case in cases(framework).values()]
    small = [case for case in every if case.planted and not case.real]
    assert len(small) >= 30
    assert len([case for case in every if not case.planted]) >= 10
    counted = Counter(case.planted for case in small)
    assert not [cause for cause in (*NOT_FASTER, *FASTER) if counted[cause] < 2]
    assert {case.planted for case in every if case.real} == {*NOT_FASTER, *FASTER}


def test_each_framework_has_at_least_seven(planted):
    assert len([case for case in planted.values() if case.planted]) >= 7


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_each_builds_and_its_baseline_runs(framework):
    python("-W", "ignore", "-c", BUILD, framework)
