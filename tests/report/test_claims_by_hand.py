"""Claims about records made by hand: the rules at their edges, and every word of what is said."""

import math
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid.errors import ArgumentError, ClaimError
from d2lhybrid.report import claims
from d2lhybrid.report.claims import SENSES, Found
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Samples

EDGE = 1 / 1.02  # of what counts as the same time, with the usual margin


def found(verdict, low, high, at_least=1.0, busy=False):
    return Found(verdict, low, high, 1.02, at_least, busy)


@pytest.mark.parametrize(
    ("sense", "seen", "judged"),
    [
        ("faster", found("faster", 1.5, 1.6, 1.5), "holds"),
        ("faster", found("faster", 1.49, 1.6, 1.5), "undecided"),
        ("faster", found("faster", 1.2, 1.5, 1.5), "undecided"),
        ("faster", found("faster", 1.2, 1.49, 1.5), "contradicted"),
        ("faster", found("undecided", 1.1, 1.6), "undecided"),
        ("faster", found("undecided", 0.9, 1.0), "undecided"),
        ("faster", found("undecided", 0.9, 0.999), "contradicted"),
        ("faster", found("same", 0.99, 1.01), "contradicted"),
        ("faster", found("faster", 1.5, 1.6, 1.5, busy=True), "holds"),
        ("faster", found("faster", 1.2, 1.4, 1.5, busy=True), "undecided"),
        ("faster", found("undecided", 0.9, EDGE, busy=True), "undecided"),
        ("faster", found("undecided", 0.9, 0.98, busy=True), "contradicted"),
        ("faster", found("slower", 0.5, 0.6, busy=True), "contradicted"),
        ("slower", found("slower", 0.5, 0.6, 1.6), "holds"),
        ("slower", found("slower", 0.5, 0.6, 1.9), "undecided"),
        ("slower", found("slower", 0.5, 0.6, 2.1), "contradicted"),
        ("slower", found("undecided", 0.0, 2.0), "undecided"),
        ("same", found("same", 0.99, 1.01), "holds"),
        ("same", found("faster", 1.5, 1.6), "contradicted"),
        ("same", found("slower", 0.5, 0.6), "contradicted"),
        ("same", found("undecided", 0.5, 1.6), "undecided"),
        ("not slower", found("same", 0.9, 1.01), "holds"),
        ("not slower", found("faster", 0.9, 1.6), "holds"),
        ("not slower", found("undecided", EDGE, 2.0), "holds"),
        ("not slower", found("undecided", 0.98, 2.0), "undecided"),
        ("not slower", found("undecided", 0.5, EDGE), "undecided"),
        ("not slower", found("undecided", 0.5, 0.98), "contradicted"),
        ("not slower", found("slower", 0.5, 0.99), "contradicted"),
        ("not faster", found("slower", 0.5, 1.1), "holds"),
        ("not faster", found("same", 0.99, 1.1), "holds"),
        ("not faster", found("undecided", 0.5, 1.02), "holds"),
        ("not faster", found("undecided", 0.5, 1.03), "undecided"),
        ("not faster", found("faster", 1.01, 1.5), "contradicted"),
    ],
)
def test_what_an_interval_says_of_a_claim(sense, seen, judged):
    assert SENSES[sense](seen) == judged


def test_a_claim_turned_is_about_the_reciprocal_ratio():
    assert found("faster", 2.0, 4.0, 1.5, busy=True).turned() == found(
        "slower", 0.25, 0.5, 1.5, busy=True
    )
    assert found("slower", 0.25, 0.5).turned() == found("faster", 2.0, 4.0)
    assert found("same", 0.5, 2.0).turned() == found("same", 0.5, 2.0)
    assert found("undecided", 0.0, 0.5).turned() == found("undecided", 2.0, math.inf)
    assert found("undecided", 0.0, 0.0).turned() == found("undecided", math.inf, math.inf)


def exact(latency, throughput=None, **fields):
    """Every sample is the label's number, and the second turn of the baseline 1% more."""
    c = comparison(latency, throughput, noise=0.0, **fields)
    first, stream = c["a"].samples, c["a"].times.throughput
    return replace(c, again=Samples(tuple(1.01 * time for time in first), stream))


SAID = {
    ("faster", None): "Expected 'b' to be faster than 'a'.",
    ("slower", None): "Expected 'b' to be slower than 'a'.",
    ("same", None): "Expected 'b' to take the same time as 'a'.",
    ("not slower", None): "Expected 'b' to be no slower than 'a'.",
    ("not faster", None): "Expected 'b' to be no faster than 'a'.",
    ("faster", 1.5): "Expected 'b' to be at least 1.50 times as fast as 'a'.",
    ("slower", 1.5): "Expected 'b' to take at least 1.50 times as long as 'a'.",
}


@pytest.mark.parametrize(("sense", "at_least"), SAID)
def test_a_contradiction_says_all_that_is_known(sense, at_least):
    b = {"faster": 4.0, "not slower": 4.0}.get(sense, 0.5 if sense != "same" else 4.0)
    c = exact({"a": 2.0, "b": b})
    with pytest.raises(ClaimError) as raised:
        c.claim("b", sense, at_least=at_least)
    ratio = "0.500" if b == 4 else "4.00"
    assert str(raised.value) == (
        f"{SAID[sense, at_least]} Received: the ratio {ratio} (95% interval {ratio} to {ratio}, "
        "clock latency) in 30 rounds, with a noise floor of 1.0%. Correct the claim, or what is "
        f"compared.\n{stamp(ENV, 1)}"
    )
    made = raised.value.claim
    assert (made.label, made.sense, made.at_least) == ("b", sense, at_least)
    assert (made.against, made.clock) == (None, None)


def test_a_claim_by_another_clock_against_another_variant_says_so():
    c = exact({"a": 2.0, "b": 1.0, "c": 1.0}, {"a": 2.0, "b": 2.0, "c": 1.0})
    c.claim("b", "same", against="c")
    c.claim("b", "slower", against="c", clock="throughput", at_least=2)
    with pytest.raises(
        ClaimError, match=r"'b' to be faster than 'c'.*0\.500.*clock throughput"
    ) as (raised):
        c.claim("b", "faster", against="c", clock="throughput")
    assert "noise floor of 0.0%" in str(raised.value)
    assert (raised.value.claim.against, raised.value.claim.clock) == ("c", "throughput")


def test_an_interval_has_two_ends():
    c = comparison({"a": 2.0, "b": 1.0}, noise=0.05)
    with pytest.raises(ClaimError) as raised:
        c.claim("b", "slower")
    said = re.search(r"ratio (\S+) \(95% interval (\S+) to (\S+),", str(raised.value))
    assert [float(one) for one in said.groups()] == pytest.approx(c.ratio("b"), rel=0.01)
    assert len(set(said.groups())) == 3


@pytest.mark.parametrize(
    ("load", "said"), [(15.0, "15"), (None, "?"), (2.04, "2.0"), (1234.0, "1,200")]
)
def test_what_is_undecided_says_how_busy_the_machine_was(capsys, load, said):
    env = replace(ENV, load=load)
    c = comparison({"a": 1e-3, "b": 1e-3}, noise=1.0, env=env)
    floor = re.search(r"noise floor (\S+) after", claims._too_busy(CLAIM, c))[1]
    c.claim("b", "faster")
    assert capsys.readouterr().out == (
        f"Expected 'b' to be faster than 'a'. This machine was too busy to tell (load {said} on 2 "
        f"cores, noise floor {floor} after 30 rounds). Run it again when it is quiet.\n"
    )
    assert float(floor.rstrip("%")) == pytest.approx(100 * c.noise_floor, rel=0.1)


CLAIM = claims.Claim("b", "faster", None, None, None)


def test_the_noise_floor_is_that_of_the_clock():
    c = exact({"a": 2.0, "b": 1.0}, {"a": 2.0, "b": 1.0})
    assert "noise floor 1.0% after" in claims._too_busy(CLAIM, c)
    assert "noise floor 0.0% after" in claims._too_busy(replace(CLAIM, clock="throughput"), c)


@pytest.mark.parametrize(("load", "busy"), [(2.0, False), (2.5, True)])
def test_a_machine_is_busy_where_the_load_is_above_the_cores(capsys, load, busy):
    c = exact({"a": 1.0, "b": 1.0}, env=replace(ENV, load=load))
    if busy:
        c.claim("b", "faster")
        assert "too busy" in capsys.readouterr().out
    else:
        with pytest.raises(ClaimError):
            c.claim("b", "faster")


def test_what_is_no_slower_is_so_to_within_the_margin_of_the_comparison():
    c = exact({"a": 0.95, "b": 1.0}, margin=0.1, env=BUSY)
    assert c.verdict("b") == "undecided"  # nothing is the same on a busy machine
    c.claim("b", "not slower")
    with pytest.raises(ClaimError):
        replace(c, margin=0.02).claim("b", "not slower")


def test_the_load_of_now_counts_where_it_is_measured_on_and_else_that_of_then(monkeypatch):
    c = exact({"a": 1.0, "b": 1.0})
    monkeypatch.setattr(claims, "load", lambda: 7.0)
    assert claims._load(c) == ENV.load
    object.__setattr__(c, "_session", object())
    assert claims._load(c) == 7.0


class Session:
    """A comparison that is measured on: undecided, until so many rounds more were taken."""

    def __init__(self, time_limit, rounds):
        self.time_limit, self.rounds, self.taken = time_limit, rounds, 0
        self.asked = []

    def result(self):
        c = comparison({"a": 1e-3, "b": 7e-4}, noise=0.005 if self.taken >= self.rounds else 2.0)
        object.__setattr__(c, "_session", self)
        return c

    def go_on(self, seconds, clear):
        self.asked.append(seconds)
        while self.taken < 9 and not clear():
            self.taken += 1


@pytest.fixture
def quiet(monkeypatch):
    monkeypatch.setattr(claims, "load", lambda: 0.1)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(("limit", "seconds"), [(2.0, 20.0), (10.0, 30.0)])
def test_an_undecided_claim_is_measured_on_until_it_is_clear(capsys, limit, seconds):
    session = Session(limit, rounds=3)
    session.result().claim("b", "faster")
    assert (session.asked, session.taken) == ([seconds], 3)
    assert capsys.readouterr().out == ""
    with pytest.raises(ClaimError, match="in 30 rounds"):  # by what was measured, not by the record
        session.result().claim("b", "slower")


@pytest.mark.usefixtures("quiet")
def test_one_that_stays_undecided_says_so_and_one_that_is_clear_measures_nothing(capsys):
    session = Session(2.0, rounds=100)
    session.result().claim("b", "faster")
    assert session.taken == 9
    assert "too busy to tell (load 0.10 on 2 cores" in capsys.readouterr().out
    clear = Session(2.0, rounds=0)
    clear.result().claim("b", "faster")
    assert clear.asked == []


@pytest.mark.usefixtures("quiet")
def test_what_has_been_measured_since_counts_and_not_the_record(capsys):
    session = Session(2.0, rounds=1)
    old = session.result()
    session.taken = 1
    old.claim("b", "faster")
    assert (session.asked, capsys.readouterr().out) == ([], "")


@pytest.mark.parametrize(
    ("sense", "at_least", "said"),
    [
        (
            "better",
            None,
            "Expected a claim among 'faster', 'slower', 'same', 'not slower', 'not faster'. "
            "Received: 'better'.",
        ),
        (
            "faster",
            0.99,
            "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: 0.99 "
            "with 'faster'.",
        ),
        (
            "faster",
            math.nan,
            "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: nan "
            "with 'faster'.",
        ),
        (
            "not slower",
            2,
            "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: 2 with "
            "'not slower'.",
        ),
    ],
)
def test_what_is_no_claim_is_named(sense, at_least, said):
    with pytest.raises(ArgumentError) as raised:
        exact({"a": 2.0, "b": 1.0}).claim("b", sense, at_least=at_least)
    assert str(raised.value) == said


def test_at_least_once_as_fast_is_faster():
    exact({"a": 2.0, "b": 1.0}).claim("b", "faster", at_least=1)


def test_claims_of_a_sweep_are_about_one_size_or_all():
    s = sweep([10, 20], {"a": [1.0, 1.0], "b": [0.5, 2.0]})
    s.claim("b", "faster", work=10, at_least=1.9)
    s.claim("b", "slower", work=20)
    with pytest.raises(ClaimError, match=r"at least 2\.10"):
        s.claim("b", "faster", work=10, at_least=2.1)
    with pytest.raises(ClaimError, match="slower"):
        s.claim("b", "slower")
    with pytest.raises(ClaimError, match="faster"):
        s.claim("b", "faster")
    with pytest.raises(ArgumentError) as raised:
        s.claim("b", "faster", work=30)
    assert str(raised.value) == "Expected a work among 10, 20. Received: 30."


@pytest.fixture
def undecided():
    return comparison({"<a>": 1e-3, "b": 1e-3}, noise=1.0)


@pytest.mark.parametrize("kernel", [True, False])
def test_in_a_notebook_what_is_undecided_is_an_output_and_else_a_line(
    undecided, kernel, capsys, monkeypatch
):
    shown = []
    fake = SimpleNamespace(get_ipython=lambda: object() if kernel else None)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    display = SimpleNamespace(publish_display_data=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    undecided.claim("b", "same")
    printed = capsys.readouterr().out
    if not kernel:
        assert (printed.count("too busy"), shown) == (1, [])
        return
    (bundle,) = shown
    text = bundle["text/plain"]
    assert text.startswith("Expected 'b' to take the same time as '<a>'. This machine was")
    assert bundle["text/html"] == f"<div>⚠ {claims.escape(text)}</div>"
    assert "&lt;a&gt;" in bundle["text/html"]
    mime = "application/vnd.d2lhybrid.undecided+json"
    assert bundle[mime] == {"label": "b", "claim": "same"}
    assert (set(bundle), printed) == ({"text/plain", "text/html", mime}, "")


def test_without_ipython_it_is_a_line(undecided, capsys, monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    undecided.claim("b", "same")
    assert "too busy" in capsys.readouterr().out
