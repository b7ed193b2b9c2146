"""What follows from what was measured, and how it goes to JSON and comes back the same."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid.errors import (
    ArgumentError,
    DamagedResultError,
    MissingPackageError,
    UnknownLabelError,
)
from d2lhybrid.report import results, text
from d2lhybrid.report.provenance import Environment
from d2lhybrid.report.records import Measurement, Samples
from d2lhybrid.report.results import Comparison, Sweep
from d2lhybrid.report.table import NEVER


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
    stream = replace(other, times=Samples(other.samples, other.samples))
    s = sweep([1, 2], {"a": [1.0, 1.0], "b": [0.5, 0.5]})
    for wrong in (
        lambda: replace(c, baseline="c"),
        lambda: replace(c, again=Samples((1e-3,) * 29)),
        lambda: replace(c, measurements=(one, stream)),
        lambda: replace(c, measurements=()),
        lambda: Samples((1e-3, 1e-3), throughput=(1e-3,)),
        lambda: replace(s, sizes=(1,)),
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


def test_a_clock_that_did_not_run_is_refused():
    device = Samples((1.0,) * 30, (0.5,) * 30, (0.2,) * 30)
    c = with_times(device, replace(device, device=None))
    assert c.clocks == ("latency", "throughput", "device")
    assert (c.floor_of("device"), c["a"].median_of("device")) == (0.0, 0.2)
    for clock, label in (("device", "b"), ("wall", "a")):
        with pytest.raises(ArgumentError, match=f"'latency', 'throughput'.*{clock}"):
            c.ratio(label, clock)


@pytest.mark.parametrize(
    ("again", "rounds", "load", "busy"),
    [
        (1.21, 30, 0.5, True),
        (1.2, 30, 0.5, False),
        (3, 5, 0.5, False),
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


def test_on_a_busy_machine_nothing_is_the_same_but_the_same_variant():
    times = {"a": 1e-3, "twin": 1.001e-3, "quick": 5e-4, "slow": 2e-3}
    for env, twin in ((ENV, "same"), (BUSY, "undecided")):
        c = comparison(times, env=env)
        assert [c.verdict(one) for one in times] == ["same", twin, "faster", "slower"]
        assert c.verdict("twin", against="twin") == "same"
        assert c.verdict("quick", against="slow") == "faster"


@pytest.mark.parametrize(
    ("first", "loads", "calls"), [(0.5, 0, 1), (1.0, 0, 1), (1.5, 0, 2), (1.51, 0, 3), (1.0, 2, 5)]
)
def test_break_even_is_the_first_call_at_which_the_sum_is_no_more(first, loads, calls):
    changes = {"b": {"build_seconds": 100.0, "load_seconds": loads}}  # built once for all
    c = exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, "b": first}, changes=changes)
    assert c.break_even("b") == calls


def test_break_even_is_never_of_what_is_not_faster_and_may_be_unknown():
    c = exact({"a": 1.0, "b": 1.0, "c": 2.0}, again=1.0)
    assert c.break_even("b") == c.break_even("c") == NEVER
    assert exact({"a": 1.0, "b": 0.8}, again=1.3).break_even("b") is None  # the noise floor
    # Twice as fast in 21 of 30 rounds, and yet its median is larger.
    base = (1.0,) * 11 + (10.0,) * 10 + (1.0,) * 9
    mine = (0.5,) * 11 + (5.0,) * 10 + (10.0,) * 9
    c = with_times(Samples(base), Samples(mine))
    assert (c.verdict("b"), c["b"].median >= c["a"].median) == ("faster", True)
    assert c.break_even("b") is None


def test_in_a_notebook_a_result_is_its_page_and_its_summary():
    c, s = comparison({"a": 2e-3, "b": 1e-3}), sweep([1, 2], {"a": [1.0, 2.0]})
    for result, page in ((c, text.comparison(c)), (s, text.sweep(s))):
        assert result._repr_html_() == page.html()
        assert repr(result) == str(page)
        assert set(result._repr_mimebundle_(include=None, exclude=None)) == {results.MIME}


def test_as_a_data_frame(monkeypatch):
    pytest.importorskip("pandas")
    c = comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4})
    row = c.to_frame().loc["b"]
    assert (row["verdict"], row["latency"], row["pays_after"]) == ("faster", c["b"].median, 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pandas"):
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
        ("version", "1"),
        ("schema", "d2lhybrid-sweep"),
        ("again.latency", [1.0]),
        ("baseline", "nobody"),
        ("margin", -0.01),
        ("seed", None),
        ("measurements.0.env.date", None),
        ("measurements.0.times.latency", [-1.0] * 30),
        ("measurements.0.times.device", [1.0]),
        ("unavailable", ["b"]),
    ],
)
def test_damaged_json_is_refused(path, value):
    content = json.loads(RESULTS[0].to_json())
    changed(path, value)(content)
    with pytest.raises(DamagedResultError, match="Expected"):
        Comparison.from_json(json.dumps(content))


@pytest.mark.parametrize("kind", [Comparison, Measurement, Sweep])
@pytest.mark.parametrize("said", ["", "null", "{}", "[" * 100_000, None])
def test_other_texts_are_refused(kind, said):
    with pytest.raises(DamagedResultError):
        kind.from_json(said)


def test_the_schema_names_every_field():
    page = (Path(__file__).parents[2] / "docs" / "results-schema.md").read_text(encoding="utf-8")
    kinds = (Samples, Measurement, Comparison, Sweep, Environment)
    assert {name for kind in kinds for name in kind.__dataclass_fields__} <= set(
        re.findall(r"`(\w+)`", page)
    )
