"""Claims hold, are contradicted, or cannot be decided; a doctored one fails on a busy machine."""

import sys
from types import SimpleNamespace

import pytest
from fake import Machine

from d2lhybrid.errors import ArgumentError, ClaimError, UnknownLabelError
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.sweeping import sweep
from d2lhybrid.report import claims
from d2lhybrid.report.results import Comparison


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


@pytest.mark.parametrize(
    ("label", "sense", "options"),
    [
        ("quick", "faster", {}),
        ("quick", "faster", {"at_least": 1.9}),
        ("quick", "faster", {"against": "slow", "at_least": 3.5}),
        ("quick", "faster", {"clock": "throughput"}),
        ("quick", "not slower", {}),
        ("slow", "slower", {}),
        ("slow", "slower", {"at_least": 1.9}),
        ("slow", "not faster", {}),
        ("twin", "same", {}),
        ("twin", "not slower", {}),
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
        ("slow", "faster", {}, "Expected 'slow' to be faster than 'a'"),
        ("twin", "faster", {}, "Expected 'twin' to be faster"),
        ("quick", "faster", {"at_least": 2.2}, "at least 2.20 times as fast"),
        ("quick", "slower", {}, "to be slower than 'a'"),
        ("twin", "slower", {}, "to be slower than 'a'"),
        ("slow", "slower", {"at_least": 2.2}, "at least 2.20 times as long"),
        ("quick", "same", {}, "to take the same time as 'a'"),
        ("slow", "not slower", {}, "to be no slower than 'a'"),
        ("quick", "not faster", {}, "to be no faster than 'a'"),
        ("a", "faster", {"against": "quick"}, "'a' to be faster than 'quick'"),
    ],
)
def test_a_claim_that_is_contradicted_is_an_error_with_the_numbers(
    quiet, label, sense, options, said
):
    with pytest.raises(ClaimError, match=said) as raised:
        quiet.claim(label, sense, **options)
    for part in ("95% interval", "noise floor", "20 rounds", "Python", "seed 1"):
        assert part in str(raised.value)
    assert raised.value.claim.sense == sense


@pytest.mark.parametrize(
    ("label", "sense", "options", "error", "said"),
    [
        ("quick", "better", {}, ArgumentError, "among 'faster'.*'better'"),
        ("quick", "same", {"at_least": 2}, ArgumentError, "at_least"),
        ("quick", "faster", {"at_least": 0.5}, ArgumentError, "0.5"),
        ("quick", "faster", {"clock": "wall"}, ArgumentError, "'wall'"),
        ("quick", "faster", {"clock": "device"}, ArgumentError, "'device'"),
        ("nobody", "faster", {}, UnknownLabelError, "'nobody'"),
        ("quick", "faster", {"against": "nobody"}, UnknownLabelError, "'nobody'"),
    ],
)
def test_what_is_no_claim_is_refused(quiet, label, sense, options, error, said):
    with pytest.raises(error, match=said):
        quiet.claim(label, sense, **options)


def test_an_undecided_claim_measures_on_until_it_is_decided(capsys):
    c = compared(noise=0.5, time_limit=0.3, a=1e-2, b=7e-3)
    assert c.verdict("b") == "undecided"
    c.claim("b", "faster")
    assert capsys.readouterr().out == ""
    more = c._session.result()
    assert more.rounds > c.rounds
    assert more.verdict("b") == "faster"


def test_an_undecided_claim_says_that_the_machine_was_too_busy(capsys):
    c = compared(noise=2.0, time_limit=0.3, a=1e-2, b=1e-2)
    c.claim("b", "faster")
    said = capsys.readouterr().out
    assert "Expected 'b' to be faster than 'a'. This machine was too busy to tell (load " in said
    assert "noise floor" in said


def test_a_record_from_json_cannot_measure_on(capsys):
    c = Comparison.from_json(compared(noise=0.5, time_limit=0.3, a=1e-2, b=7e-3).to_json())
    c.claim("b", "faster")
    assert "too busy to tell" in capsys.readouterr().out


def test_in_a_notebook_it_is_an_output_of_its_own_type(monkeypatch):
    shown = []
    fake = SimpleNamespace(get_ipython=lambda: object())
    display = SimpleNamespace(publish_display_data=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    compared(noise=2.0, time_limit=0.3, a=1e-2, b=1e-2).claim("b", "faster")
    (bundle,) = shown
    assert bundle[claims.MIME] == {"label": "b", "claim": "faster"}
    assert "too busy" in bundle["text/plain"]
    assert "too busy" in bundle["text/html"]


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
    compared(a=1e-3, twin=1e-3, quick=5e-4, slow=2e-3, time_limit=0.3).claim(
        label, sense, **options
    )
    assert "too busy to tell (load 1,000 on" in capsys.readouterr().out


def test_where_all_wait_for_a_core_the_opposite_contradicts(overloaded, capsys):
    c = compared(a=1e-3, twin=1e-3, quick=5e-4, slow=2e-3)
    c.claim("quick", "faster", at_least=1.9)
    assert capsys.readouterr().out == ""
    for label, sense in (("quick", "slower"), ("slow", "faster"), ("quick", "same")):
        with pytest.raises(ClaimError):
            c.claim(label, sense)


def test_what_was_measured_elsewhere_does_not_heed_the_load_of_today(quiet, overloaded):
    c = Comparison.from_json(quiet.to_json())
    with pytest.raises(ClaimError):
        c.claim("twin", "faster")


def test_claims_about_a_sweep():
    m = Machine()

    def make(n):
        return {"eager": m.function(1e-4 + n * 1e-8), "compiled": m.function(1e-5 + n * 1e-8)}, n

    s = sweep(make, [10, 10**7], work=lambda n: 2 * n, clock=m.clock, progress=False)
    s.claim("compiled", "faster", work=20)
    s.claim("compiled", "same", work=2 * 10**7)
    s.claim("compiled", "not slower")
    with pytest.raises(ClaimError):
        s.claim("compiled", "faster")
    with pytest.raises(ArgumentError, match="among 20, 20000000"):
        s.claim("compiled", "faster", work=10)
