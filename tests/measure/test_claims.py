"""Claims hold, are contradicted, or cannot be decided; a doctored one fails on a busy machine."""

import math
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from by_hand import BUSY, comparison, sweep
from fake import Machine

from d2lhybrid.errors import ArgumentError, ClaimError, UnknownLabelError
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.report import claims
from d2lhybrid.report.claims import Claim
from d2lhybrid.report.records import Samples
from d2lhybrid.report.results import Comparison

EDGE = 1 / 1.02  # of what counts as the same time, with the usual margin


def compared(noise=0.01, seed=1, time_limit=20.0, **times):
    m = Machine(seed)
    functions = {label: m.function(seconds, noise) for label, seconds in times.items()}
    return compare(functions, clock=m.clock, seed=seed, progress=False, time_limit=time_limit)


@pytest.fixture
def overloaded(load):
    load[0] = 1000.0
    yield
    load[0] = 0.0


@pytest.fixture(scope="module")
def quiet(load):
    return compared(a=1e-3, twin=1e-3, quick=5e-4, slow=2e-3)


def seen(verdict, low, high, busy=False):
    """What a claim is judged by."""
    said = {"ratio": lambda *_: (1.0, low, high), "verdict": lambda *_: verdict}
    return SimpleNamespace(**said, busy=busy, margin=0.02)


@pytest.mark.parametrize(
    ("sense", "at_least", "found", "judged"),
    [
        ("faster", 1.5, seen("faster", 1.5, 1.6), "holds"),
        ("faster", 1.5, seen("faster", 1.2, 1.5), "undecided"),
        ("faster", 1.5, seen("faster", 1.2, 1.49), "contradicted"),
        ("faster", None, seen("undecided", 1.1, 1.6), "undecided"),
        ("faster", None, seen("undecided", 0.9, 1.0), "undecided"),
        ("faster", None, seen("undecided", 0.9, 0.999), "contradicted"),
        ("faster", None, seen("same", 0.99, 1.01), "contradicted"),
        ("faster", 1.5, seen("faster", 1.5, 1.6, busy=True), "holds"),
        ("faster", 1.5, seen("faster", 1.2, 1.4, busy=True), "undecided"),
        ("faster", None, seen("undecided", 0.9, EDGE, busy=True), "undecided"),
        ("faster", None, seen("undecided", 0.9, 0.98, busy=True), "contradicted"),
        ("slower", 1.6, seen("slower", 0.5, 0.6), "holds"),
        ("slower", 1.9, seen("slower", 0.5, 0.6), "undecided"),
        ("slower", 2.1, seen("slower", 0.5, 0.6), "contradicted"),
        ("slower", None, seen("undecided", 0.0, 2.0), "undecided"),
        ("slower", None, seen("undecided", 0.0, math.inf), "undecided"),
        ("same", None, seen("same", 0.99, 1.01), "holds"),
        ("same", None, seen("faster", 1.5, 1.6), "contradicted"),
        ("same", None, seen("slower", 0.5, 0.6), "contradicted"),
        ("same", None, seen("undecided", 0.5, 1.6), "undecided"),
        ("not slower", None, seen("same", 0.9, 1.01), "holds"),
        ("not slower", None, seen("undecided", EDGE, 2.0), "holds"),
        ("not slower", None, seen("undecided", 0.5, EDGE), "undecided"),
        ("not slower", None, seen("undecided", 0.5, 0.98), "contradicted"),
        ("not slower", None, seen("slower", 0.5, 0.99), "contradicted"),
        ("not faster", None, seen("slower", 0.5, 1.1), "holds"),
        ("not faster", None, seen("undecided", 0.5, 1.02), "holds"),
        ("not faster", None, seen("undecided", 0.5, 1.03), "undecided"),
        ("not faster", None, seen("faster", 1.01, 1.5), "contradicted"),
    ],
)
def test_what_an_interval_says_of_a_claim(sense, at_least, found, judged):
    assert Claim("b", sense, at_least).judged(found) == judged


@pytest.mark.parametrize(
    ("label", "sense", "options"),
    [
        ("quick", "faster", {}),
        ("quick", "faster", {"against": "slow", "at_least": 3.5}),
        ("quick", "faster", {"clock": "throughput", "at_least": 1}),
        ("quick", "not slower", {}),
        ("slow", "slower", {"at_least": 1.9}),
        ("twin", "same", {}),
        ("twin", "not faster", {}),
        ("a", "same", {}),
    ],
)
def test_a_claim_that_holds_is_silent(quiet, capsys, label, sense, options):
    assert quiet.claim(label, sense, **options) is None
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("label", "sense", "options", "said"),
    [
        ("slow", "faster", {}, "'slow' to be faster than 'a'.*0.49.*clock latency.*noise floor"),
        ("quick", "faster", {"at_least": 2.2}, "at least 2.20 times as fast"),
        ("twin", "slower", {}, "to be slower than 'a'"),
        ("slow", "slower", {"at_least": 2.2}, "at least 2.20 times as long"),
        ("quick", "same", {}, "to take the same time as 'a'"),
        ("slow", "not slower", {}, "to be no slower than 'a'"),
        ("quick", "not faster", {}, "to be no faster than 'a'"),
        ("a", "faster", {"against": "quick", "clock": "throughput"}, "than 'quick'.*throughput"),
    ],
)
def test_a_claim_that_is_contradicted_says_all_that_is_known(quiet, label, sense, options, said):
    with pytest.raises(ClaimError, match=said) as raised:
        quiet.claim(label, sense, **options)
    assert (raised.value.claim.label, raised.value.claim.sense) == (label, sense)
    assert "seed 1" in str(raised.value)


@pytest.mark.parametrize(
    ("label", "sense", "options", "error", "said"),
    [
        ("quick", "better", {}, ArgumentError, "among 'faster', .* 'not faster'.*'better'"),
        ("quick", "faster", {"at_least": 0.99}, ArgumentError, "1 or more.*0.99"),
        ("quick", "faster", {"at_least": math.nan}, ArgumentError, "nan"),
        ("quick", "not slower", {"at_least": 2}, ArgumentError, "2 with 'not slower'"),
        ("quick", "faster", {"clock": "wall"}, ArgumentError, "'wall'"),
        ("nobody", "faster", {}, UnknownLabelError, "'nobody'"),
        ("quick", "faster", {"against": "nobody"}, UnknownLabelError, "'nobody'"),
    ],
)
def test_what_is_no_claim_is_refused(quiet, label, sense, options, error, said):
    with pytest.raises(error, match=said):
        quiet.claim(label, sense, **options)


def test_an_undecided_claim_on_the_newest_comparison_measures_on_until_it_is_decided(capsys):
    c = compared(noise=0.5, time_limit=0.3, a=1e-2, b=7e-3)
    assert c.verdict("b") == "undecided"
    c.claim("b", "faster")
    assert capsys.readouterr().out == ""
    with pytest.raises(ClaimError) as raised:  # by all that was measured
        c.claim("b", "slower")
    assert f"in {c.rounds} rounds" not in str(raised.value)
    for other in (Comparison.from_json(c.to_json()), c):
        compared(a=1e-2)  # a newer one
        other.claim("b", "faster")
        assert "Expected 'b' to be faster than 'a'" in capsys.readouterr().out


def test_measuring_on_has_an_end(capsys):
    m = Machine()
    functions = {label: m.function(1e-2, 2.0) for label in "ab"}
    for limit, seconds in ((0.3, 20), (10, 30)):
        c = compare(functions, clock=m.clock, seed=1, progress=False, time_limit=limit)
        begin = m.now
        c.claim("b", "same")
        assert seconds < m.now - begin < seconds + 8
        assert "to take the same time" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("noise", "env", "said"),
    [
        (1.0, {}, r"too busy to tell \(load 0\.40 on 2 cores, noise floor .* 30 rounds"),
        (0.005, {"load": 15.0}, r"too busy to tell \(load 15 on 2 cores"),
        (0.03, {"load": None}, "after 30 rounds.* interval .*holds the bound"),
    ],
)
def test_what_stays_undecided_says_why(capsys, noise, env, said):
    c = comparison({"a": 1.5e-3, "b": 1e-3}, noise=noise)
    c = replace(c, measurements=tuple(replace(m, env=replace(c.env, **env)) for m in c.values()))
    c.claim("b", "faster", at_least=1.5)
    printed = capsys.readouterr().out
    assert printed.startswith("Expected 'b' to be at least 1.50 times as fast as 'a'.")
    assert re.search(said, printed)


@pytest.mark.parametrize("kernel", [True, False])
def test_in_a_notebook_what_is_undecided_is_an_output_of_its_own_type(kernel, capsys, monkeypatch):
    shown = []
    fake = SimpleNamespace(get_ipython=lambda: object() if kernel else None)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    display = SimpleNamespace(publish_display_data=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    comparison({"<a>": 1e-3, "b": 1e-3}, noise=1.0).claim("b", "same")
    printed = capsys.readouterr().out
    if not kernel:
        assert ("too busy" in printed, shown) == (True, [])
        return
    (bundle,) = shown
    assert bundle[claims.MIME] == {"label": "b", "claim": "same"}
    assert "'<a>'. This machine was too busy" in bundle["text/plain"]
    assert printed == ""


@pytest.mark.parametrize("seed", range(20))
def test_on_a_busy_machine_true_claims_pass_and_doctored_ones_fail(seed):
    times = {"a": 3e-3, "quick": 1e-3, "slow": 9e-3}
    m = Machine(seed)
    functions = {k: m.function(v, noise=0.8, heavy=3.0) for k, v in times.items()}
    c = compare(functions, clock=m.clock, seed=seed, time_limit=1, progress=False)
    c.claim("quick", "faster")
    c.claim("slow", "slower")
    for label, doctored in (("quick", "slower"), ("slow", "faster")):
        with pytest.raises(ClaimError):
            c.claim(label, doctored)


@pytest.mark.parametrize(
    ("label", "sense", "options"),
    [
        ("twin", "faster", {}),
        ("twin", "slower", {}),
        ("twin", "same", {}),
        ("quick", "faster", {"at_least": 2.2}),
        ("slow", "slower", {"at_least": 2.2}),
    ],
)
def test_where_all_wait_for_a_core_too_small_a_difference_says_nothing(
    overloaded, capsys, label, sense, options
):
    times = {"a": 1e-3, "twin": 1e-3, "quick": 5e-4, "slow": 2e-3}
    compared(**times, time_limit=0.3).claim(label, sense, **options)
    assert "too busy to tell (load 1,000 on" in capsys.readouterr().out


def test_where_all_wait_for_a_core_the_opposite_contradicts(overloaded, capsys):
    c = compared(a=1e-3, twin=1e-3, quick=5e-4, slow=2e-3)
    c.claim("quick", "faster", at_least=1.9)
    assert capsys.readouterr().out == ""
    for label, sense in (("quick", "slower"), ("slow", "faster"), ("quick", "same")):
        with pytest.raises(ClaimError):
            c.claim(label, sense)


def test_no_time_is_spent_on_what_cannot_be_the_same_at_such_a_load(overloaded):
    m = Machine()
    c = compare({label: m.function(1e-2) for label in "ab"}, clock=m.clock, time_limit=0.3)
    begin = m.now
    c.claim("b", "same")
    assert m.now == begin


def test_the_load_of_now_counts_where_it_is_measured_on_and_else_that_of_then(load, capsys):
    c = compared(a=1e-3, twin=1e-3)
    load[0] = 1000.0
    try:
        c.claim("twin", "faster")
        assert "load 1,000" in capsys.readouterr().out
        with pytest.raises(ClaimError):
            Comparison.from_json(c.to_json()).claim("twin", "faster")
    finally:
        load[0] = 0.0


def test_what_is_no_slower_is_so_to_within_the_margin_of_the_comparison():
    c = comparison({"a": 0.95, "b": 1.0}, noise=0.0, margin=0.1, env=BUSY)
    assert c.verdict("b") == "undecided"  # nothing is the same on a busy machine
    c.claim("b", "not slower")
    with pytest.raises(ClaimError):
        replace(c, margin=0.02).claim("b", "not slower")


def test_the_noise_floor_is_that_of_the_clock():
    c = comparison({"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0}, noise=0.0)
    c = replace(c, again=Samples((2.02,) * 30, (2.0,) * 30))
    for clock, floor in (("latency", "1.0%"), ("throughput", "0.0%")):
        with pytest.raises(ClaimError, match=f"floor of {floor}"):
            c.claim("b", "slower", clock=clock)


def test_claims_of_a_sweep_are_about_one_size_or_all():
    s = sweep([10, 20], {"a": [1.0, 1.0], "b": [0.5, 2.0]})
    s.claim("b", "faster", work=10, at_least=1.9)
    s.claim("b", "slower", work=20)
    for sense in ("slower", "faster"):
        with pytest.raises(ClaimError, match=sense):
            s.claim("b", sense)
    with pytest.raises(ArgumentError, match=r"among 10, 20.*30"):
        s.claim("b", "faster", work=30)
