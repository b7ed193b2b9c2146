"""What follows from what was measured, and how it goes to JSON and comes back the same."""

import json
import math
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid.errors import DamagedResultError, MissingPackageError, UnknownLabelError
from d2lhybrid.report import plot, summary, text
from d2lhybrid.report.records import Measurement, Samples
from d2lhybrid.report.results import Comparison
from d2lhybrid.report.sweeps import Sweep
from d2lhybrid.report.units import NEVER


def exact(latency, throughput=None, again=None, **fields):
    """A comparison all of whose samples of a label are the same number."""
    c = comparison(latency, throughput, noise=0.0, **fields)
    if again is None:
        return c
    return replace(c, again=Samples((again,) * c.rounds, c.again.throughput))


def with_times(*times):
    """A comparison of a and b, and perhaps more, with these samples."""
    c = exact(dict.fromkeys("abc"[: len(times)], 1.0), rounds=len(times[0].latency))
    measured = [replace(m, times=one) for m, one in zip(c.measurements, times, strict=True)]
    return replace(c, measurements=tuple(measured), again=times[0])


def test_a_record_that_does_not_hang_together_is_refused():
    c = comparison({"a": 1e-3, "b": 5e-4})
    one, other = c.measurements
    short = replace(other, times=Samples(other.samples[:-1]))
    stream = replace(other, times=Samples(other.samples, other.samples))
    s = sweep([1, 2], {"a": [1.0, 1.0], "b": [0.5, 0.5]})
    for wrong in (
        lambda: replace(c, baseline="c"),
        lambda: replace(c, again=Samples((1e-3,) * 29)),
        lambda: replace(c, again=Samples((1e-3,) * 30, (1e-3,) * 30)),
        lambda: replace(c, measurements=(one, short)),
        lambda: replace(c, measurements=(one, stream)),
        lambda: replace(c, measurements=()),
        lambda: Samples((1e-3, 1e-3), throughput=(1e-3,)),
        lambda: Samples((1e-3, 1e-3), device=(1e-3,)),
        lambda: replace(s, sizes=(1,)),
        lambda: replace(s, comparisons=s.comparisons[:1]),
        lambda: Sweep((), (), ()),
    ):
        with pytest.raises(ValueError, match=r"missing|in number"):
            wrong()


def test_a_label_that_there_is_not_is_named_with_those_that_there_are():
    c = comparison({"a": 1e-3, "b": 5e-4}, unavailable={"c": "no compiler"})
    with pytest.raises(UnknownLabelError, match=r"'c' .*no compiler") as raised:
        c["c"]
    assert (raised.value.label, raised.value.known) == ("c", ("a", "b"))
    with pytest.raises(UnknownLabelError, match=r"one of 'a', 'b'.*'d'"):
        c["d"]


@pytest.mark.parametrize(("stream", "agree"), [(1e-3, True), (0.96e-3, True), (0.95e-3, False)])
def test_within_five_percent_latency_and_throughput_are_one_time(stream, agree):
    c = exact({"a": 1e-3, "b": 1e-3}, {"a": 1e-3, "b": stream})
    assert c.clocks == (("latency",) if agree else ("latency", "throughput"))


def test_the_clocks_are_those_of_the_second_turn():
    device = Samples((1.0,) * 30, (0.5,) * 30, (0.2,) * 30)
    c = with_times(device, device)
    assert (c.clocks, c.floor_of("device")) == (("latency", "throughput", "device"), 0.0)
    c = replace(c, again=replace(device, device=None))
    assert (c.clocks, c.floor_of("device")) == (("latency", "throughput"), math.inf)


@pytest.mark.parametrize(
    ("again", "rounds", "load", "busy"),
    [
        (1.21, 30, 0.5, True),
        (1.2, 30, 0.5, False),
        (1.21, 6, 0.5, True),
        (3, 5, 0.5, False),
        (1.0, 30, 2.0, False),
        (1.0, 30, 2.1, True),
        (1.0, 30, None, False),
    ],
)
def test_a_machine_is_busy_by_the_noise_floor_or_by_its_load(again, rounds, load, busy):
    c = exact({"a": 1.0}, again=again, rounds=rounds, env=replace(ENV, load=load, cores=2))
    assert c.busy is busy


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


def test_the_baseline_s_ratio_to_itself_is_that_of_its_two_turns_everywhere():
    c = exact({"a": 1.0, "b": 2.0}, again=1.1)
    assert c.ratio("a") == c.ratio("a", against="a") == pytest.approx((1 / 1.1,) * 3)
    assert c.floor_of() == c.noise_floor == pytest.approx(0.1)
    pytest.importorskip("pandas")
    assert c.to_frame()["ratio"].tolist() == [c.ratio(label)[0] for label in c]


def test_on_a_busy_machine_nothing_is_the_same_but_the_same_variant():
    times = {"a": 1e-3, "twin": 1.001e-3, "quick": 5e-4, "slow": 2e-3}
    for env, twin in ((ENV, "same"), (BUSY, "undecided")):
        c = comparison(times, env=env)
        assert [c.verdict(one) for one in times] == ["same", twin, "faster", "slower"]
        assert c.verdict("twin", against="twin") == "same"
        assert c.verdict("quick", against="slow") == "faster"


def test_a_difference_counts_beyond_the_noise_floor_and_the_margin_of_the_comparison():
    assert exact({"a": 1.0, "b": 0.8}, again=1.0).verdict("b") == "faster"
    assert exact({"a": 1.0, "b": 0.8}, again=1.3).verdict("b") == "undecided"
    assert exact({"a": 1.0, "b": 0.95}, margin=0.1).verdict("b") == "same"


def test_a_ratio_that_is_not_the_quotient_of_the_two_times_is_marked_by_each_clock():
    for first, second, skewed in [
        ((1.0, 2.0, 1.0), (1.0, 1.0, 2.0), False),
        ((1.0, 2.0, 2.0), (1.0, 1.0, 2.0), True),
        ((1.0, 1.0, 2.0), (1.0, 2.0, 2.0), True),
        ((1.0, 1.05, 1.05), (1.0, 1.0, 1.05), False),
        ((1.0, 1.06, 1.06), (1.0, 1.0, 1.06), True),
    ]:
        latency = (1.0,) * 30
        c = with_times(Samples(latency, first * 10), Samples(latency, second * 10))
        assert (c.skewed("b"), c.skewed("b", "throughput")) == (False, skewed)


@pytest.mark.parametrize(("first", "calls"), [(0.5, 1), (1.0, 1), (1.5, 2), (1.51, 3), (6.0, 11)])
def test_break_even_is_the_first_call_at_which_the_sum_is_no_more(first, calls):
    assert exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, "b": first}).break_even("b") == calls


def test_break_even_counts_what_each_process_loads_and_not_what_is_built_once():
    changes = {"b": {"build_seconds": 100.0, "load_seconds": 2.0}}
    c = exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, "b": 1.0}, changes=changes)
    assert c.break_even("b") == 5


def test_break_even_is_never_of_what_is_not_faster_and_may_be_unknown():
    c = exact({"a": 1.0, "b": 1.0, "c": 2.0}, again=1.0)
    assert c.break_even("b") == c.break_even("c") == NEVER
    assert exact({"a": 1.0, "b": 0.8}, again=1.3).break_even("b") is None
    # Twice as fast in 21 of 30 rounds, and yet its median is larger.
    base = (1.0,) * 11 + (10.0,) * 10 + (1.0,) * 9
    mine = (0.5,) * 11 + (5.0,) * 10 + (10.0,) * 9
    c = with_times(Samples(base), Samples(mine))
    assert (c.verdict("b"), c["b"].median >= c["a"].median) == ("faster", True)
    assert c.break_even("b") is None


def test_a_sweep_has_the_labels_and_clocks_of_all_its_sizes_once():
    one = comparison({"a": 1e-3, "b": 5e-4})
    other = comparison({"a": 1e-3, "c": 5e-4}, {"a": 1e-4, "c": 2e-4})
    s = Sweep((1, 2), (1, 2), (one, other))
    assert (s.labels, s.clocks) == (["a", "b", "c"], ["latency", "throughput"])


def test_in_a_notebook_a_result_is_its_page_and_its_summary():
    c, s = comparison({"a": 2e-3, "b": 1e-3}), sweep([1, 2], {"a": [1.0, 2.0]})
    for result, page in ((c, text.comparison(c)), (s, text.sweep(s))):
        assert result._repr_html_() == page.html()
        assert repr(result) == str(page)
        bundle = result._repr_mimebundle_(include=None, exclude=None)
        assert bundle == {summary.MIME: summary.of(result)}


def test_a_result_hands_itself_to_its_plot(monkeypatch):
    for name in ("comparison", "waterfall", "sweep"):
        monkeypatch.setattr(plot, name, lambda *args, name=name: (name, *args))
    c, s = comparison({"a": 2e-3, "b": 1e-3}), sweep([1, 2], {"a": [1.0, 2.0]})
    assert c.plot() == ("comparison", c)
    assert c.waterfall(["a"], clock="device") == ("waterfall", c, ["a"], "device")
    assert s.plot(xlabel="batch") == ("sweep", s, "batch")


def test_as_a_data_frame(monkeypatch):
    pytest.importorskip("pandas")
    c = comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4})
    row = c.to_frame().loc["b"].to_dict()
    m, (estimate, low, high) = c["b"], c.ratio("b")
    assert row["throughput_median"] == m.median_of("throughput")
    assert (row["median"], row["iqr"], row["min"]) == (m.median, m.iqr, m.min)
    assert (row["ci95_low"], row["ci95_high"]) == m.ci95
    assert (row["ratio"], row["ratio_low"], row["ratio_high"]) == (estimate, low, high)
    assert (row["verdict"], row["break_even"]) == ("faster", 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pip install pandas"):
        c.to_frame()


RESULTS = [
    comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4}, unavailable={"c": "no"}),
    comparison({"a": 2e-3}, changes={"a": {"build_seconds": 3.0, "note": "a word"}})["a"],
    sweep([1, 2.5], {"a": [1.0, 2.0], "b": [2.0, 1.0]}),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda one: type(one).__name__)
def test_json_round_trips_exactly(result):
    again = type(result).from_json(result.to_json())
    assert again == result
    assert hash(again) == hash(result)
    assert again.to_json() == result.to_json()
    assert str(again) == str(result)


def changed(path, value):
    """A change of one place in the content of a comparison; None takes it out."""

    def change(content):
        *above, last = path.split(".")
        for step in above:
            content = content[int(step) if step.isdigit() else step]
        content.pop(last)
        if value is not None:
            content[last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 99),
        ("version", 0),
        ("version", True),
        ("version", "1"),
        ("schema", "pyperf"),
        ("schema", "d2lhybrid-sweep"),
        ("again.latency", [1.0]),
        ("again.latency", []),
        ("baseline", "nobody"),
        ("margin", -0.01),
        ("measurements", []),
        ("seed", None),
        ("measurements.0.env.date", None),
        ("measurements.0.times.latency", [-1.0] * 30),
        ("measurements.0.times.throughput", None),
        ("measurements.0.times.device", [1.0]),
        ("measurements.0.build_seconds", -1.0),
        ("unavailable", ["b"]),
    ],
)
def test_damaged_json_is_refused(path, value):
    content = json.loads(RESULTS[0].to_json())
    changed(path, value)(content)
    with pytest.raises(DamagedResultError, match="Expected"):
        Comparison.from_json(json.dumps(content))


@pytest.mark.parametrize("kind", [Comparison, Measurement, Sweep])
@pytest.mark.parametrize("said", ["", "[]", "null", "{}", "\x00", "[" * 100_000, None])
def test_other_texts_are_refused(kind, said):
    with pytest.raises(DamagedResultError):
        kind.from_json(said)


def test_the_schema_names_every_field():
    page = (Path(__file__).parents[2] / "docs" / "results-schema.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page))

    def fields(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if key not in ("versions", "threads", "unavailable"):
                    yield from fields(item)
                yield key
        elif isinstance(value, list):
            for item in value:
                yield from fields(item)

    for result in RESULTS:
        assert set(fields(json.loads(result.to_json()))) <= named
