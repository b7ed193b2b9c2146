"""Numbers that are printed beside each other agree, whatever was measured."""

from dataclasses import replace

import pytest
from by_hand import comparison
from hypothesis import given, settings, strategies as st
from processes import ROOT

from d2lhybrid.core.table import NEVER
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.experiments.join import join
from d2lhybrid.measuring.measurement import Samples
from d2lhybrid.showing import pictures
from d2lhybrid.showing.advice import advice
from d2lhybrid.showing.page import comparison_page
from d2lhybrid.showing.remarks import warnings

SECONDS = st.floats(1e-5, 1.0)
RECORDED = sorted((ROOT / "recorded" / "cpu").glob("*.json"))
generated = settings(deadline=None, derandomize=True, max_examples=60)


@st.composite
def comparisons(draw):
    """Of three variants, some in a stream, some with a compiler, some busy, some noisy."""
    labels = ("eager", "b", "c", "d")
    latency = {label: draw(SECONDS) for label in labels}
    stream = {label: draw(st.floats(0.3, 1.3)) * latency[label] for label in labels}
    compiler = {
        "compiler": "Compiler",
        "compiler_seconds": draw(st.none() | st.floats(0.1, 20)),
    }
    built = draw(st.sampled_from([{}, {"build_seconds": 3.0, "load_seconds": 0.1}]))
    c = comparison(
        latency,
        draw(st.sampled_from([None, stream])),
        first={label: draw(st.floats(1e-4, 1e4)) for label in labels},
        noise=draw(st.sampled_from([0.001, 0.02, 0.3])),
        rounds=draw(st.sampled_from([3, 7, 30])),
        busy=draw(st.booleans()),
        changes={"b": compiler, "c": built},
    )
    return join([c, c], seed=1) if draw(st.booleans()) else c


def require_agreement(c):
    """Hold a comparison to everything that this page is about."""
    rows, page = c.rows, comparison_page(c.rows)
    for row in rows.measured:
        parts = [row.first_seconds, row.load_seconds or 0.0, row.compiler_seconds or 0.0]
        assert max(parts) <= sum(parts) == pytest.approx(row.cold_seconds)
        assert row.lacks_compiler_start == (bool(row.compiler) and row.compiler_seconds is None)
    require_good_advice(rows, rows.recommended, page.advice)
    above = [line for line in page.cautions if line not in warnings([rows])]
    verdicts = {
        row.times[metric].verdict for row in rows.variants for metric in rows.measurements.metrics
    }
    assert not above or "undecided" in verdicts
    assert pictures.notes([rows]).above == (above[0] if above else "")
    require_explained_ratios(rows, "\n".join(page.remarks))


def require_good_advice(rows, used, said):
    assert not (used is None and said.startswith("Use "))
    for row in rows.variants:
        if row.latency.interval[1] < 1:
            assert "undecided" not in said or row.label not in said.partition(":")[2].split()
    if used is None:
        return
    assert used.latency.verdict == "faster"
    assert used.pays_after not in (None, NEVER)
    assert (
        "throughput" not in rows.measurements.metrics
        or used.times["throughput"].verdict != "slower"
    )
    assert ("pays off" not in said) or rows.cold_start_is_felt
    if used.lacks_compiler_start and "pays off" in said:
        assert "≥" in said


def require_explained_ratios(rows, said):
    for row in rows.measured:
        if row.role == "baseline":
            continue
        for metric in rows.measurements.metrics:
            if metric not in row.times or metric not in rows.baseline.times:
                continue
            times = row.times[metric]
            low, high = times.interval
            quotient = rows.baseline.times[metric].seconds / times.seconds
            if not 0.99 * low <= quotient <= 1.01 * high:
                assert "the times divided don't give the ratio" in said
                assert row.name in said


@generated
@given(comparisons())
def test_what_is_printed_of_one_comparison_agrees(c):
    require_agreement(c)


@pytest.mark.parametrize("path", RECORDED, ids=[path.stem for path in RECORDED])
def test_what_is_printed_of_a_recorded_comparison_agrees(path):
    require_agreement(Comparison.from_json(path.read_text(encoding="utf-8")))


@generated
@given(comparisons(), st.permutations([1, 2, 3]))
def test_no_row_depends_on_the_order(c, order):
    if c.processes:
        return
    base, *_others = c.measurements
    moved = replace(c, measurements=(base, *(c.measurements[at] for at in order)))
    by_label = {row.label: replace(row, is_best=False) for row in c.rows}
    assert {row.label: replace(row, is_best=False) for row in moved.rows} == by_label


def test_ratios_that_do_not_follow_from_the_times_are_explained_once_without_a_cause():
    base = (1.0,) * 14 + (10.0,) * 16  # a slow half, in which b is once in a while much faster
    mine = (0.5,) * 14 + (0.4,) * 2 + (5.0,) * 14
    of = {"a": Samples(base), "b": Samples(mine)}
    changes = {label: {"times": times} for label, times in of.items()}
    c = comparison({"a": 1.0, "b": 1.0}, changes=changes, baseline_repeat=of["a"])
    assert c["a"].median / c["b"].median == 20
    assert c.ratio("b") == pytest.approx((2, 2, 2))
    said = "b: the times divided don't give the ratio, because ratios are taken within each round,"
    assert str(c).count(said) == 1
    assert "the times divided" not in str(comparison({"a": 1.0, "b": 0.5}))


def test_a_compiler_that_was_started_before_makes_a_cold_start_a_lower_bound():
    changes = {"b": {"compiler": "Compiler"}}
    c = comparison({"a": 1e-3, "b": 5e-4}, first={"b": 1.0}, changes=changes)
    said = str(c)
    assert "1.00 s §" in said
    assert "§: Compiler had been started in this process before, so a fresh process pays" in said
    assert f"≥ {c.break_even('b'):,}" in said
    assert advice(c.rows) == "Use b: it is 2.00 times as fast as a."
    known = comparison(
        {"a": 1e-3, "b": 5e-4},
        first={"b": 1.0},
        changes={"b": {"compiler": "Compiler", "compiler_seconds": 10.0}},
    )
    assert known["b"].cold_seconds == 11.0
    assert "b: its cold start of 11.0 s includes 10.0 s of starting Compiler." in str(known)
    assert "≥" not in str(known)
    assert known.break_even("b") > 10 * c.break_even("b")


def test_a_row_that_is_slower_in_a_stream_is_said_to_be():
    c = comparison({"a": 10e-3, "b": 5e-3}, {"a": 9e-3, "b": 7e-3})
    said = "b: calls that aren't waited for one by one take longer (7.00 ms instead of 5.00 ms)"
    assert said in str(c)
    assert "a: calls" not in str(c)
    noisy = comparison({"a": 10e-3, "b": 5e-3}, {"a": 9e-3, "b": 7e-3}, noise=0.9)
    assert noisy.rows.measurements.noise_floor > 0.4
    assert "calls that aren't waited for" not in str(noisy)
