"""Claims hold, are contradicted, or cannot be decided; a doctored one fails on a noisy machine."""

import math
import re
import sys
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from by_hand import ENV, comparison, sweep
from fake import Machine

from d2lhybrid.errors import ArgumentError, ClaimError, UnknownLabelError
from d2lhybrid.experiments import judge as claims
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.experiments.experiment import is_clear
from d2lhybrid.experiments.join import join
from d2lhybrid.measuring.claim import Claim
from d2lhybrid.measuring.verdict import Verdict
from d2lhybrid.verbs.compare import compare

EDGE = 1 / 1.02  # of what counts as the same time, with the usual margin


def compared(noise=0.01, seed=1, time_limit=20.0, **times):
    m = Machine(seed)
    functions = {label: m.function(seconds, noise) for label, seconds in times.items()}
    return compare(functions, timer=m.clock, seed=seed, progress=False, time_limit=time_limit)


@pytest.fixture(scope="module")
def quiet():
    return compared(a=1e-3, twin=1e-3, quick=5e-4, slow=2e-3)


def seen(verdict, low, high, busy=False):
    """What a claim is judged by."""
    return SimpleNamespace(decide=lambda *_: Verdict(verdict, low, high, 0.02, busy))


@pytest.mark.parametrize(
    ("sense", "at_least", "found", "judged"),
    [
        ("faster", 1.5, seen("faster", 1.5, 1.6), "holds"),
        ("faster", 1.5, seen("faster", 1.2, 1.5), "undecided"),
        ("faster", 1.5, seen("faster", 1.2, 1.49), "contradicted"),
        ("faster", None, seen("undecided", 0.9, 1.0), "undecided"),
        ("faster", None, seen("same", 0.99, 1.01), "contradicted"),
        ("faster", 1.5, seen("faster", 1.5, 1.6, busy=True), "holds"),
        ("faster", 1.5, seen("faster", 1.2, 1.4, busy=True), "undecided"),  # it may be more
        ("faster", None, seen("slower", 0.5, 0.6, busy=True), "undecided"),
        ("not slower", None, seen("undecided", EDGE, 2.0, busy=True), "holds"),
        ("slower", 1.6, seen("slower", 0.5, 0.6), "holds"),
        ("slower", 2.1, seen("slower", 0.5, 0.6), "contradicted"),
        ("slower", None, seen("undecided", 0.0, math.inf), "undecided"),
        ("same", None, seen("same", 0.99, 1.01), "holds"),
        ("same", None, seen("faster", 1.5, 1.6), "contradicted"),
        ("not slower", None, seen("undecided", EDGE, 2.0), "holds"),
        ("not slower", None, seen("undecided", 0.5, EDGE), "undecided"),
        ("not slower", None, seen("undecided", 0.5, 0.98), "contradicted"),
        ("not faster", None, seen("undecided", 0.5, 1.02), "holds"),
        ("not faster", None, seen("faster", 1.01, 1.5), "contradicted"),
    ],
)
def test_what_an_interval_says_of_a_claim(sense, at_least, found, judged):
    assert Claim("b", sense, at_least).judged(found) == judged


@pytest.mark.parametrize(
    ("label", "sense", "options", "said"),
    [
        ("slow", "faster", {}, "'slow' is faster than 'a'.*0.49.*latency.*noise floor"),
        ("slow", "slower", {"at_least": 2.2}, "at least 2.20 times as long"),
        ("a", "faster", {"against": "quick", "metric": "throughput"}, "than 'quick'.*throughput"),
    ],
)
def test_a_claim_that_is_contradicted_says_all_that_is_known(quiet, label, sense, options, said):
    with pytest.raises(ClaimError, match=said) as raised:
        quiet.claim(label, sense, **options)
    assert (raised.value.claim.label, raised.value.claim.sense) == (label, sense)
    assert "seed 1" in str(raised.value)


@pytest.mark.parametrize(
    ("label", "sense", "options", "said"),
    [
        ("quick", "faster", {}, "✓ quick is faster than a: 2.00 times."),
        ("quick", "faster", {"against": "slow"}, "✓ quick is faster than slow: 4.00 times."),
        (
            *("quick", "faster", {"at_least": 1.5}),
            "✓ quick is at least 1.50 times as fast as a: 2.00 times.",
        ),
        ("slow", "slower", {}, "✓ slow is slower than a: it takes 2.00 times as long."),
        (
            *("slow", "slower", {"at_least": 1.5}),
            "✓ slow takes at least 1.50 times as long as a: 2.00 times.",
        ),
        ("twin", "same", {}, "✓ twin takes the same time as a to within 2.0%."),
        ("quick", "not slower", {}, "✓ quick is no slower than a: it is 2.00 times as fast."),
        ("slow", "not faster", {}, "✓ slow is no faster than a: it takes 2.00 times as long."),
        (
            *("quick", "faster", {"metric": "throughput"}),
            "✓ quick is faster than a: 2.00 times. Metric: throughput.",
        ),
    ],
)
def test_a_claim_that_holds_shows_one_line(quiet, capsys, label, sense, options, said):
    quiet.claim(label, sense, **options)
    seen = re.sub(r"[1-4]\.\d\d", lambda one: f"{float(one[0]):.1f}0", capsys.readouterr().out)
    assert seen == f"{said}\n"


@pytest.mark.parametrize(
    ("label", "sense", "options", "error", "said"),
    [
        ("quick", "better", {}, ArgumentError, "among 'faster', .* 'not faster'.*'better'"),
        ("quick", "faster", {"at_least": 0.99}, ArgumentError, "1 or more.*0.99"),
        ("quick", "faster", {"at_least": "2"}, ArgumentError, "1 or more.*'2'"),
        ("quick", "not slower", {"at_least": 2}, ArgumentError, "2 with 'not slower'"),
        ("quick", "faster", {"metric": "wall"}, ArgumentError, "'wall'"),
        ("quick", "faster", {"against": "nobody"}, UnknownLabelError, "'nobody'"),
    ],
)
def test_what_is_no_claim_is_refused(quiet, label, sense, options, error, said):
    with pytest.raises(error, match=said):
        quiet.claim(label, sense, **options)


def test_an_undecided_claim_measures_on_until_it_is_decided(capsys):
    c = compared(noise=0.5, time_limit=0.3, a=1e-2, b=7e-3)
    assert c.verdict("b") == "undecided"
    judgement = c.claim("b", "faster")
    assert (judgement.claim, judgement.outcome) == (Claim("b", "faster"), "holds")
    assert judgement.comparison.verdict("b") == "faster"
    assert judgement.comparison.rounds > c.rounds
    said = capsys.readouterr().out  # for the table still says that it is undecided
    assert re.match(r"✓ b is faster than a: \S+ times\. The first rounds .* \d+ rounds do\.$", said)
    assert f"{c.rounds} rounds" not in said
    assert c.verdict("b") == "undecided"
    with pytest.raises(ClaimError) as raised:  # by all that was measured
        c.claim("b", "slower")
    assert f"in {c.rounds} rounds" not in str(raised.value)
    for other in (Comparison.from_json(c.to_json()), c.release()):
        judgement = other.claim("b", "faster")
        assert (judgement.outcome, judgement.comparison) == ("undecided", c)
        assert "Claimed: 'b' is faster than 'a'" in capsys.readouterr().out


def test_that_another_process_decided_a_claim_is_said(capsys):
    """Its rounds replace the first ones, and may be fewer."""
    later = comparison({"a": 1e-3, "b": 5e-4}, rounds=20, seed=2)
    experiment = SimpleNamespace(measure_on=lambda _is_over: later)
    c = comparison({"a": 1e-3, "b": 0.99e-3}, noise=0.2, seed=1, experiment=experiment)
    assert c.claim("b", "faster").comparison is later
    assert capsys.readouterr().out.endswith("times. Another process shows it, in 20 rounds.\n")


def test_the_rounds_of_an_earlier_claim_decide_the_next_one():
    c = compared(noise=0.5, time_limit=0.3, a=1e-2, b=7e-3)
    rounds = c.claim("b", "faster").comparison.rounds
    assert c.claim("b", "faster").comparison.rounds == rounds > c.rounds


def test_an_interrupt_ends_measuring_on_and_the_comparison_says_so(capsys):
    m = Machine()
    functions = {"a": m.function(1e-2, 2.0), "b": m.function(1e-2, 2.0)}
    c = compare(functions, timer=m.clock, seed=1, progress=False, time_limit=1)
    calls, b = count(1), c.experiment.rounds.samplers["b"]
    run = b._run

    def breaks():
        if next(calls) == 50:
            raise KeyboardInterrupt
        return run()

    b._run = breaks
    judgement = c.claim("b", "not slower")
    assert (judgement.outcome, judgement.comparison.stopped) == ("undecided", "interrupted")
    assert judgement.comparison.rounds > c.rounds
    assert c.stopped == "limit"


def test_measuring_on_says_first_for_how_long(capsys):
    for progress, said in ((True, "up to 30 s"), (False, "")):
        m = Machine()
        functions = {label: m.function(1e-2, 2.0) for label in "ab"}
        c = compare(functions, timer=m.clock, seed=1, progress=progress, time_limit=10)
        capsys.readouterr()
        c.claim("b", "not slower")
        shown = capsys.readouterr().err
        assert said in shown
        assert bool(said) == bool(shown)


def test_rounds_taken_for_a_claim_need_no_longer_limit():
    m = Machine()
    functions = {"a": m.function(1.0), "b": m.function(0.5)}
    c = compare(functions, timer=m.clock, seed=1, progress=False, time_limit=2)
    assert c.limit_needed > 2
    assert c.rounds < 6
    judged = c.claim("b", "faster").comparison
    assert judged.rounds >= 6
    assert judged.limit_needed is None
    assert c.limit_needed > 2


def test_measuring_on_has_an_end(capsys):
    m = Machine(1)
    functions = {label: m.function(1e-2, 2.0) for label in "ab"}
    for limit, seconds in ((0.3, 9), (1, 20), (10, 30)):
        c = compare(functions, timer=m.clock, seed=1, progress=False, time_limit=limit)
        begin = m.now
        c.claim("b", "not slower")
        assert seconds < m.now - begin < seconds + 8
        assert "is no slower" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("noise", "busy", "said"),
    [
        (1.0, False, "30 rounds don.t decide it.* interval .*contains the bound"),
        (0.005, True, "Other programs held up these two in too many of 30 rounds"),
    ],
)
def test_what_stays_undecided_says_why(capsys, noise, busy, said):
    c = comparison({"a": 1.5e-3, "b": 1e-3}, noise=noise, busy=busy)
    c.claim("b", "faster", at_least=1.5)
    printed = capsys.readouterr().out
    assert printed.startswith("Claimed: 'b' is at least 1.50 times as fast as 'a'.")
    assert re.search(said, printed)


def test_fewer_than_six_processes_say_so(capsys):
    processes = [comparison({"a": 1e-3, "b": 5e-4}) for _process in range(3)]
    joined = join(processes, seed=1)
    assert joined.claim("b", "faster").outcome == "undecided"
    assert "Fewer than 6 processes give no interval" in capsys.readouterr().out


def test_fewer_than_six_rounds_say_so_and_have_no_confidence(capsys):
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=5)
    assert c.claim("b", "faster").outcome == "undecided"
    said = "Fewer than 6 rounds give no interval, so they don't decide it. Compare with a higher"
    assert said in capsys.readouterr().out
    assert c.confidence("b") == 0


def test_six_processes_decide_by_all_of_them(capsys):
    processes = [comparison({"a": 1e-3, "b": seconds * 1e-4}) for seconds in (5, 6, 7, 5, 6, 7)]
    joined = join(processes, seed=1)
    assert joined.ratio("b") == pytest.approx((1 / 0.6, 1 / 0.7, 2.0), rel=0.01)
    joined.claim("b", "faster", at_least=1.4)
    with pytest.raises(ClaimError, match="in 6 processes"):
        joined.claim("b", "faster", at_least=2.1)
    assert joined.claim("b", "faster", at_least=1.6).outcome == "undecided"
    assert "6 processes don't decide it: the 97% interval" in capsys.readouterr().out


def test_in_a_notebook_what_is_undecided_is_an_output_of_its_own_type(capsys, monkeypatch):
    shown = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=object))
    display = SimpleNamespace(publish_display_data=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    comparison({"<a>": 1e-3, "b": 1e-3}, busy=True).claim("b", "same")
    (bundle,) = shown
    assert bundle[claims.UNDECIDED] == {"label": "b", "claim": "same", "busy": True}
    assert "'<a>'. Other programs held up these two" in bundle["text/plain"]
    for noise in (0.01, 0.5):  # by the rounds of the table, and by more of them
        compared(noise=noise, time_limit=0.3, a=1e-2, b=7e-3).claim("b", "faster")
        assert shown[-1][claims.DECIDED] == {"label": "b", "claim": "faster"}
        assert shown[-1]["text/plain"].startswith("✓ b is faster than a")
        assert claims.UNDECIDED not in shown[-1]
    assert len(shown) == 3
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("seed", range(20))
def test_on_a_busy_machine_true_claims_pass_and_doctored_ones_fail(seed):
    times = {"a": 3e-3, "quick": 1e-3, "slow": 9e-3}
    m = Machine(seed)
    functions = {k: m.function(v, noise=0.8, heavy=3.0) for k, v in times.items()}
    c = compare(functions, timer=m.clock, seed=seed, time_limit=1, progress=False)
    c.claim("quick", "faster")
    c.claim("slow", "slower")
    for label, doctored in (("quick", "slower"), ("slow", "faster")):
        with pytest.raises(ClaimError):
            c.claim(label, doctored)


def test_what_waiting_can_have_done_decides_nothing(capsys):
    c = comparison({"a": 1e-3, "quick": 7e-4, "slow": 1.5e-3}, busy=True)
    assert c.busy
    for label, sense in (("quick", "faster"), ("quick", "slower"), ("slow", "same")):
        assert c.verdict(label) == "undecided"
        assert c.claim(label, sense).outcome == "undecided"
        said = capsys.readouterr().out
        assert "in too many of 30 rounds" in said
        assert "when the machine is quieter" in said
        assert "threads" not in said  # it has one already


def test_what_waiting_cannot_have_done_decides_and_contradicts_nothing(capsys):
    c = comparison({"a": 1e-3, "quick": 2e-4, "slow": 4e-3}, busy=True)
    assert (c.verdict("quick"), c.verdict("slow"), c.busy) == ("faster", "slower", False)
    decided = c.decide("quick")
    assert decided.low == pytest.approx(5 / 1.6, rel=0.01)
    assert decided.high == pytest.approx(5 * 1.6, rel=0.01)
    assert c.claim("quick", "faster", at_least=3).outcome == "holds"
    said = capsys.readouterr().out
    assert re.search(r"3\.1\d times\. The machine was busy, so this is the least", said)
    for label, sense, at_least in (("quick", "faster", 4), ("quick", "slower", None)):
        assert c.claim(label, sense, at_least=at_least).outcome == "undecided"
    assert c.claim("slow", "slower", at_least=2).outcome == "holds"


def test_several_threads_that_wait_for_each_other_decide_nothing():
    env = replace(ENV, threads={"torch": 2})
    c = comparison({"a": 1e-3, "b": 1e-5}, env=env, busy=True)
    assert (c.verdict("b"), c.busy) == ("undecided", True)
    assert "Measure with one thread, with threads=1" in str(c)


def test_one_thread_is_not_advised_where_the_option_changes_nothing(capsys):
    env = replace(ENV, threads={})  # as with NumPy alone
    c = comparison({"a": 1e-3, "b": 1e-5}, env=env, busy=True)
    c.claim("b", "faster")
    said = capsys.readouterr().out
    assert "Compare when the machine is quieter." in said
    assert "threads" not in said + str(c)


def test_a_reference_needs_no_verdict_for_the_rounds_to_end():
    c = comparison({"a": 1e-3, "b": 5e-4, "C": 1.02e-3}, noise=0.03)
    assert c.verdict("C") == "undecided"
    assert (is_clear(c), is_clear(replace(c, references=("C",)))) == (False, True)


@pytest.mark.parametrize(
    ("processes", "ratios", "verdict"),
    [
        (6, (5,) * 6, "faster"),
        (5, (5,) * 5, "undecided"),  # too few for an interval
        (6, (5,) * 5 + (1.5,), "undecided"),  # which in one of them is no more than waiting
        (6, (5,) * 5 + (0.2,), "undecided"),
    ],
)
def test_processes_that_were_all_disturbed_decide_if_each_does(processes, ratios, verdict):
    each = [comparison({"a": 1e-3, "b": 1e-3 / ratio}, busy=True) for ratio in ratios]
    assert len(each) == processes
    joined = join(each, seed=1)
    assert joined.verdict("b") == verdict
    assert joined.busy == (verdict == "undecided")


def test_what_a_process_left_out_is_unknown_to_every_question():
    whole, part = comparison({"a": 1e-3, "b": 5e-4}), comparison({"a": 1e-3})
    joined = join([whole] * 5 + [part], seed=1, unavailable={"b": "it ended"})
    asked = (joined.ratio, joined.verdict, joined.is_busy, joined.confidence, joined.__getitem__)
    for question in (*asked, lambda label: joined.claim(label, "faster")):
        with pytest.raises(UnknownLabelError, match="it ended"):
            question("b")


def test_the_limit_that_processes_need_is_that_of_as_many_as_were_asked_for():
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=5, limit_needed=3.0)
    assert join([c] * 6, seed=1, count=2).limit_needed == 6.0


def test_of_rounds_that_were_disturbed_the_others_decide():
    c = comparison({"a": 1e-3, "b": 5e-4})
    waits = replace(c["b"].times, latency=(5e-3,) * 20 + c["b"].times.latency[20:])
    held_up = replace(waits, disturbed=tuple(range(20)))
    for times, verdict, disturbed in ((waits, "undecided", 0), (held_up, "faster", 20)):
        b = replace(c["b"], times=times)
        other = replace(c, measurements=(c["a"], b))
        assert not other.busy
        assert (other.verdict("b"), other.disturbed_rounds) == (verdict, disturbed)
    assert other["b"].median == pytest.approx(5e-4, rel=0.01)
    assert other.ratio("b")[0] == pytest.approx(2.0, rel=0.01)


def test_a_claim_is_measured_on_only_while_more_rounds_can_decide_it():
    def measure_on(is_over):
        raise AssertionError("more rounds")

    experiment = SimpleNamespace(measure_on=measure_on)
    times = {"a": 1e-3, "b": 0.9e-3}
    c = comparison(times, experiment=experiment)
    assert c.claim("b", "faster").outcome == "holds"
    with pytest.raises(ClaimError, match=r"at least 2\.00 times"):
        c.claim("b", "faster", at_least=2)
    with pytest.raises(AssertionError, match="more rounds"):
        c.claim("b", "faster", at_least=c.ratio("b")[0])
    busy = comparison(times, experiment=experiment, busy=True)
    assert busy.claim("b", "faster").outcome == "undecided"


def test_claims_of_a_sweep_are_about_one_size_or_all(capsys):
    s = sweep([10, 20], {"a": [1.0, 1.0], "b": [0.5, 2.0]})
    s.claim("b", "faster", size=10, at_least=1.9)
    (judgement,) = s.claim("b", "slower", size=20)
    assert (judgement.outcome, judgement.comparison) == ("holds", s.comparisons[1])
    assert capsys.readouterr().out.splitlines() == [
        "✓ b is at least 1.90 times as fast as a: 2.00 times. Size: 10.",
        "✓ b is slower than a: it takes 2.00 times as long. Size: 20.",
    ]
    for sense in ("slower", "faster"):
        with pytest.raises(ClaimError, match=sense):
            s.claim("b", sense)
    with pytest.raises(ArgumentError, match=r"among 10, 20.*30"):
        s.claim("b", "faster", size=30)


def test_a_size_that_a_sweep_has_twice_is_judged_twice():
    s = sweep([10, 10], {"a": [1.0, 1.0], "b": [0.5, 0.25]})
    judged = [judgement.comparison for judgement in s.claim("b", "faster")]
    assert judged == [*s.comparisons]
