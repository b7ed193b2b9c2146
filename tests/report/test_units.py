"""Times and fractions as they are shown."""

from dataclasses import replace

import pytest
from by_hand import ENV

from d2lhybrid import i18n
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.units import percent, seconds, span, unit


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.9996, "1.00 s"),
        (0.9994, "999 ms"),
        (9.996e-4, "1.00 ms"),
        (9.996e-7, "1.00 µs"),
        (1.0, "1.00 s"),
        (1e-12, "0.00100 ns"),
        (4321.0, "4,320 s"),
        (0, "0 s"),
    ],
)
def test_a_time_never_has_four_digits_where_the_next_unit_has_one(value, shown):
    assert seconds(value) == shown


def test_the_unit_of_a_time():
    assert unit(-0.5) == ("ms", 1e-3)
    assert unit(0) == ("ns", 1e-9)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.5, "50%"), (9.99, "1,000%"), (10, "> 1000%"), (float("inf"), "?")]
)
def test_fractions(value, shown):
    assert percent(value) == shown


def test_an_interval_without_an_end_is_not_known():
    for ends in ((0, 2), (1, float("inf")), (float("-inf"), float("inf"))):
        assert span(*ends) == ("?", "?")
    assert span(1e-3, 2e-3, seconds) == ("1.00 ms", "2.00 ms")


def test_portuguese_has_a_decimal_comma():
    i18n.set_language("pt")
    assert seconds(0.0025) == "2,50 ms"


def test_the_stamp_says_where_and_when():
    env = replace(ENV, governor="powersave", accelerators=("H100",), cores=1)
    assert stamp(env, 7) == (
        "2026-11-21 · Python 3.11.9 · PyTorch 2.13.0 · Intel(R) Xeon(R) Processor @ 2.60GHz · "
        "H100 · 1 core · PyTorch: 1 thread · governor powersave · load 0.40 · seed 7"
    )
    assert stamp(replace(ENV, load=None)).endswith("@ 2.60GHz · 2 cores · PyTorch: 1 thread")


def test_what_is_not_known_by_a_name_is_called_what_it_is_called():
    versions = {"python": "3.11.9", "d2lhybrid": "2.0", "fake": "1"}
    env = replace(ENV, versions=versions, threads={"torch": 2, "fake": 1})
    assert stamp(env) == (
        "2026-11-21 · Python 3.11.9 · fake 1 · Intel(R) Xeon(R) Processor @ 2.60GHz · 2 cores · "
        "PyTorch: 2 threads · fake: 1 thread · load 0.40"
    )
