"""What follows from a comparison's records, at the edges: numbers made by hand, no clock."""

import math
from dataclasses import replace

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid.errors import UnknownLabelError
from d2lhybrid.report import remarks
from d2lhybrid.report.advice import best
from d2lhybrid.report.records import Samples
from d2lhybrid.report.sweeps import Sweep
from d2lhybrid.report.units import NEVER


def exact(latency, throughput=None, again=None, **fields):
    """A comparison all of whose samples of a label are the same number."""
    rounds = fields.get("rounds", 30)
    c = comparison(latency, throughput, noise=0.0, **fields)
    if again is None:
        return c
    return replace(c, again=Samples((again,) * rounds, c.again.throughput))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"baseline": "c"}, "the baseline is missing"),
        ({"margin": -0.01}, "the margin is not a fraction, 0 or more"),
        ({"margin": math.inf}, "the margin is not a fraction, 0 or more"),
        ({"margin": math.nan}, "the margin is not a fraction, 0 or more"),
        ({"again": Samples((1e-3,) * 29)}, "rounds are missing"),
        ({"again": Samples((1e-3,) * 30, (1e-3,) * 30)}, "rounds are missing"),
    ],
)
def test_a_record_that_does_not_hang_together_is_refused(fields, said):
    c = comparison({"a": 1e-3, "b": 5e-4})
    with pytest.raises(ValueError, match=f"^{said}$"):
        replace(c, **fields).check()
    replace(c, margin=0.0).check()


@pytest.mark.parametrize("clock", ["throughput", "device"])
def test_clocks_have_the_same_rounds(clock):
    Samples((0.0, 1e-3), **{clock: (1e-3, 0.0)}).check()  # a coarse clock says 0
    with pytest.raises(ValueError, match=r"^rounds are missing$"):
        Samples((1e-3, 1e-3), **{clock: (1e-3,)}).check()
    with pytest.raises(
        ValueError, match=r"^a time is missing, or is no number of seconds, 0 or more$"
    ):
        Samples((1e-3,), **{clock: ()}).check()


def test_one_measurement_of_other_rounds_is_refused():
    c = comparison({"a": 1e-3, "b": 5e-4})
    one, other = c.measurements
    short = replace(other, times=Samples(other.samples[:-1]))
    with pytest.raises(ValueError, match=r"^rounds are missing$"):
        replace(c, measurements=(one, short)).check()
    stream = replace(other, times=Samples(other.samples, other.samples))
    with pytest.raises(ValueError, match=r"^rounds are missing$"):
        replace(c, measurements=(one, stream)).check()


def test_each_measurement_and_the_second_turn_are_checked_themselves():
    c = comparison({"a": 1e-3, "b": 5e-4})
    one, other = c.measurements
    wrong = replace(other, times=Samples((-1.0, *other.samples[1:])))
    for changed in ({"measurements": (one, wrong)}, {"again": wrong.times}):
        with pytest.raises(ValueError, match="no number of seconds, 0 or more"):
            replace(c, **changed).check()


def test_a_label_that_there_is_not_is_named_with_those_that_there_are():
    c = comparison({"a": 1e-3, "b": 5e-4}, unavailable={"c": "no compiler"})
    with pytest.raises(UnknownLabelError, match=r"^'c' was not measured: no compiler$") as raised:
        c["c"]
    assert (raised.value.label, raised.value.known) == ("c", ("a", "b"))
    with pytest.raises(UnknownLabelError, match=r"^Expected one of 'a', 'b'\. Received: 'd'\.$"):
        c["d"]


@pytest.mark.parametrize(("stream", "agree"), [(1e-3, True), (0.96e-3, True), (0.95e-3, False)])
def test_within_five_percent_latency_and_throughput_are_one_time(stream, agree):
    c = exact({"a": 1e-3, "b": 1e-3}, {"a": 1e-3, "b": stream})
    assert c.agree is agree
    assert c.clocks == (("latency",) if agree else ("latency", "throughput"))


def test_exactly_five_percent_is_one_time():
    assert exact({"a": 1.05}, {"a": 1.0}).agree


def test_the_clocks_are_those_of_the_second_turn():
    c = exact({"a": 1.0, "b": 0.5}, {"a": 0.5, "b": 0.1})
    device = Samples((1.0,) * 30, (0.5,) * 30, (0.2,) * 30)
    a, b = (replace(m, times=device) for m in c.measurements)
    c = replace(c, measurements=(a, b))
    assert (c.clocks, c.floor_of("throughput")) == (("latency", "throughput"), 0.0)
    assert c.floor_of("device") == math.inf
    c = replace(c, again=device)
    assert (c.clocks, c.floor_of("device")) == (("latency", "throughput", "device"), 0.0)


@pytest.mark.parametrize(
    ("again", "rounds", "busy"),
    [(1.21, 30, True), (1.2, 30, False), (1.21, 6, True), (3, 5, False)],
)
def test_a_noise_floor_above_a_fifth_is_busy_where_there_are_enough_rounds(again, rounds, busy):
    assert exact({"a": 1.0}, again=again, rounds=rounds).busy is busy


@pytest.mark.parametrize("clock", [None, "throughput"])
@pytest.mark.parametrize("against", [None, "a", "b", "c"])
def test_a_ratio_is_the_time_of_the_other_over_ones_own(clock, against):
    latency, stream = {"a": 8.0, "b": 4.0, "c": 1.0}, {"a": 6.0, "b": 2.0, "c": 1.5}
    c = exact(latency, stream)
    times = latency if clock is None else stream
    for label in latency:
        wanted = times[against or "a"] / times[label]
        assert c.ratio(label, clock, against) == pytest.approx((wanted,) * 3)
        other = "faster" if wanted > 1 else "slower" if wanted < 1 else "same"
        assert c.verdict(label, clock, against) == other


def test_the_baseline_s_ratio_to_itself_is_that_of_its_two_turns():
    c = exact({"a": 1.0, "b": 2.0}, again=1.1)
    assert c.ratio("a") == c.ratio("a", against="a") == pytest.approx((1 / 1.1,) * 3)
    assert c.ratio("b", against="b") == (1.0, 1.0, 1.0)
    assert c.floor_of() == c.noise_floor == pytest.approx(0.1)


def test_on_a_busy_machine_nothing_is_the_same_but_the_same_variant():
    times = {"a": 1e-3, "twin": 1.001e-3, "quick": 5e-4, "slow": 2e-3}
    for env, twin in ((ENV, "same"), (BUSY, "undecided")):
        c = comparison(times, env=env)
        assert [c.verdict(one) for one in times] == ["same", twin, "faster", "slower"]
        assert c.verdict("twin", against="twin") == "same"
        assert c.verdict("quick", against="slow") == "faster"


@pytest.mark.parametrize(("again", "verdict"), [(1.0, "faster"), (1.3, "undecided")])
def test_a_difference_counts_beyond_the_noise_floor_of_its_clock(again, verdict):
    assert exact({"a": 1.0, "b": 0.8}, again=again).verdict("b") == verdict


def test_the_margin_is_the_comparison_s_own():
    assert exact({"a": 1.0, "b": 0.9}).verdict("b") == "faster"
    assert exact({"a": 1.0, "b": 0.95}, margin=0.1).verdict("b") == "same"


@pytest.mark.parametrize(
    ("first", "second", "skewed"),
    [
        # medians: a 1.0, b 1.0; ratios within rounds: half are first, half second
        ((1.0, 2.0, 1.0), (1.0, 1.0, 2.0), False),
        ((1.0, 2.0, 2.0), (1.0, 1.0, 2.0), True),
        ((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), True),
        ((1.0, 1.05, 1.05), (1.0, 1.0, 1.05), False),
        ((1.0, 1.06, 1.06), (1.0, 1.0, 1.06), True),
    ],
)
def test_a_ratio_that_is_not_the_quotient_of_the_two_times_is_marked(first, second, skewed):
    c = exact({"a": 1.0, "b": 1.0})
    a, b = (
        replace(m, times=Samples(times * 10))
        for m, times in zip(c.measurements, (first, second), strict=True)
    )
    c = replace(c, measurements=(a, b), again=Samples(first * 10))
    assert c.skewed("b") is skewed
    assert c.skewed("a") is False


@pytest.mark.parametrize(
    ("first", "calls"),
    [({"b": 0.5}, 1), ({"b": 1.0}, 1), ({"b": 1.5}, 2), ({"b": 1.51}, 3), ({"b": 6.0}, 11)],
)
def test_break_even_is_the_first_call_at_which_the_sum_is_no_more(first, calls):
    c = exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, **first})
    assert c.break_even("b") == calls


def test_break_even_counts_what_each_process_loads_and_not_what_is_built_once():
    changes = {"b": {"build_seconds": 100.0, "load_seconds": 2.0}}
    c = exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, "b": 1.0}, changes=changes)
    assert c.break_even("b") == 5


def test_break_even_of_what_is_not_faster():
    c = exact({"a": 1.0, "b": 1.0, "c": 2.0}, again=1.0)
    assert c.break_even("b") == c.break_even("c") == NEVER
    assert exact({"a": 1.0, "b": 0.8}, again=1.3).break_even("b") is None


@pytest.mark.parametrize("apart", [(1.0, 10.0), (0.1, 9.0)])
def test_break_even_is_not_known_where_the_medians_contradict_the_verdict(apart):
    # Twice as fast in 21 of 30 rounds, and yet its median is larger, or the same.
    base, mine = apart
    c = exact({"a": 1.0, "b": 0.5})
    times = (
        (1.0,) * 11 + (10.0 if base == 1 else 2.0,) * 10 + (base,) * 9,
        (0.5,) * 11 + (5.0 if base == 1 else 1.0,) * 10 + (mine,) * 9,
    )
    a, b = (replace(m, times=Samples(own)) for m, own in zip(c.measurements, times, strict=True))
    c = replace(c, measurements=(a, b), again=Samples(times[0]))
    assert (c.verdict("b"), b.median >= a.median) == ("faster", True)
    assert c.break_even("b") is None


def test_a_sweep_whose_parts_differ_in_number_is_refused():
    s = sweep([1, 2], {"a": [1.0, 1.0], "b": [0.5, 0.5]})
    s.check()
    for fields in ({"sizes": (1,)}, {"work": (1,)}, {"comparisons": s.comparisons[:1]}):
        with pytest.raises(ValueError, match=r"^sizes, work and comparisons differ in number$"):
            replace(s, **fields).check()
    with pytest.raises(ValueError, match="differ in number"):
        Sweep((), (), ()).check()
    broken = replace(s.comparisons[1], baseline="c")
    with pytest.raises(ValueError, match=r"^the baseline is missing$"):
        replace(s, comparisons=(s.comparisons[0], broken)).check()


def test_a_sweep_has_the_labels_and_clocks_of_all_its_sizes_once():
    one = comparison({"a": 1e-3, "b": 5e-4})
    other = comparison({"a": 1e-3, "c": 5e-4}, {"a": 1e-4, "c": 2e-4})
    s = Sweep((1, 2), (1, 2), (one, other))
    assert s.labels == ["a", "b", "c"]
    assert s.clocks == ["latency", "throughput"]


@pytest.mark.parametrize(
    ("times", "met"),
    [
        ([0.5, 0.5, 0.5], None),
        ([0.5, 0.5, 1.0], 40),
        ([0.5, 1.0, 1.0], 20),
        ([1.0, 1.0, 2.0], 10),
        ([1.0, 0.5, 1.0], 40),
        ([1.0, 1.0, 0.5], None),
    ],
)
def test_the_work_from_which_on_a_variant_is_no_longer_faster(times, met):
    s = sweep([10, 20, 40], {"a": [1.0] * 3, "b": times})
    assert s.meeting("b") == met


def test_where_a_variant_is_missing_it_is_not_faster():
    both = comparison({"a": 1e-3, "b": 5e-4})
    alone = comparison({"a": 1e-3})
    assert Sweep((1, 2), (10, 20), (both, alone)).meeting("b") == 20
    assert Sweep((1, 2), (10, 20), (alone, both)).meeting("b") is None
    with pytest.raises(UnknownLabelError, match=r"Expected one of 'a', 'b'\. Received: 'c'"):
        Sweep((1, 2), (10, 20), (both, alone)).meeting("c")


def test_a_meeting_is_by_the_clock_that_is_asked_for():
    c = exact({"a": 1.0, "b": 0.5}, {"a": 0.5, "b": 0.5})
    s = Sweep((1,), (10,), (c,))
    assert s.meeting("b") is None
    assert s.meeting("b", "throughput") == 10


def test_whether_a_ratio_is_skewed_is_asked_by_each_clock():
    rounds = 10
    base = Samples((1.0,) * 3 * rounds, (1.0, 2.0, 2.0) * rounds)
    other = Samples((1.0,) * 3 * rounds, (1.0, 1.0, 2.0) * rounds)
    c = exact({"a": 1.0, "b": 1.0})
    a, b = (replace(m, times=own) for m, own in zip(c.measurements, (base, other), strict=True))
    c = replace(c, measurements=(a, b), again=base)
    c.check()
    assert (c.skewed("b"), c.skewed("b", "throughput")) == (False, True)
    turned = replace(c, measurements=(replace(a, times=other), replace(b, times=base)), again=other)
    assert (turned.skewed("b"), turned.skewed("b", "throughput")) == (False, True)


def test_an_interval_is_that_of_its_clock():
    m = exact({"a": 1.0}, {"a": 0.5})["a"]
    assert (m.interval(), m.interval("throughput")) == ((1.0, 1.0), (0.5, 0.5))


def test_the_floor_in_a_sentence_is_that_of_its_clock():
    c = exact({"a": 1.0, "b": 0.8}, {"a": 1.0, "b": 0.9})
    c = replace(c, again=Samples((1.01,) * 30, (1.25,) * 30))
    assert "noise floor 25%" in remarks.sentence(c, "b", "throughput")
    assert "25%" not in remarks.sentence(c, "b", "latency")


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (0.8, "It pays from the first call on."),
        (1.1, "Its cold start has paid for itself after 2 calls."),
        (501.0, "Its cold start has paid for itself after 1,002 calls."),
    ],
)
def test_what_a_variant_costs_at_first_is_said_with_its_verdict(first, said):
    c = exact({"a": 1.0, "b": 0.5}, first={"a": 0.8, "b": first})
    assert remarks.sentence(c, "b", "latency").endswith(f". {said}")
    assert said not in remarks.sentence(replace(c, references=("b",)), "b", "latency")
    assert said not in remarks.sentence(c, "b", "throughput")


def test_what_would_puzzle_in_a_table_is_explained_in_whole_sentences():
    c = exact({"a": 1.0, "b": 0.5}, changes={"b": {"build_seconds": 3.0}})
    assert remarks.reading(c) == [
        "A build is done once for all processes; “pays after” counts what each process pays: "
        "loading and the first call."
    ]
    assert remarks.reading(exact({"a": 1.0, "b": 0.5})) == []
    c = exact({"a": 1.0, "b": 1.0})
    a, b = c.measurements
    first, second = (1.0, 2.0, 2.0) * 10, (1.0, 1.0, 2.0) * 10
    a, b = replace(a, times=Samples(first)), replace(b, times=Samples(second))
    c = replace(c, measurements=(a, b), again=Samples(first))
    assert remarks.reading(c) == [
        "A ratio is the median of the ratios within each round, where drift of the machine cancels "
        "out; so it is not the quotient of the two times."
    ]


def test_of_the_fastest_by_the_median_the_ratio_counts_and_not_its_ends():
    wide = tuple(0.5 * (0.7 if i % 2 else 1.2) for i in range(30))
    c = exact({"a": 1.0, "b": 0.55, "c": 0.5}, first={"b": 0.2, "c": 0.3})
    a, b, other = c.measurements
    c = replace(c, measurements=(a, b, replace(other, times=Samples(wide))))
    assert c.ratio("c")[0] > c.ratio("b")[0] > c.ratio("c")[1]
    assert best(c) == "c"  # both pay from the first call on, and it is the faster one
    later = replace(c, measurements=(a, b, replace(c["c"], first_seconds=9.0)))
    assert best(later) == "b"
