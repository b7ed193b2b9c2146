"""What follows from what was measured, and how it goes to JSON and comes back the same."""

import json
import math
import re
import sys
from dataclasses import replace
from itertools import product

import pytest
from by_hand import comparison, sweep
from processes import ROOT

from d2lhybrid.core import table
from d2lhybrid.core.table import NEVER
from d2lhybrid.errors import ArgumentError, DamagedResultError, MissingPackageError
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.experiments.join import join
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.graphs.program import Program
from d2lhybrid.measuring.measurement import Measurement, Samples
from d2lhybrid.measuring.provenance import Environment
from d2lhybrid.showing.advice import advice
from d2lhybrid.verbs.sweep import Sweep


def exact(latency, throughput=None, again=None, **fields):
    """A comparison all of whose samples of a label are the same number."""
    c = comparison(latency, throughput, noise=0.0, **fields)
    return replace(c, baseline_repeat=Samples((again,) * c.rounds)) if again else c


def with_times(a, b):
    """A comparison of a and b with these samples."""
    changes = {"a": {"times": a}, "b": {"times": b}}
    return comparison({"a": 1.0, "b": 1.0}, changes=changes, baseline_repeat=a)


def test_the_metrics_are_those_that_say_something_and_another_is_refused():
    for stream, metrics in ((0.96e-3, ["latency"]), (0.95e-3, ["latency", "throughput"])):
        c = exact({"a": 1e-3, "b": 1e-3}, {"a": 1e-3, "b": stream})
        assert list(c.metrics) == metrics
    device = Samples((1.0,) * 30, (0.5,) * 30, (0.2,) * 30)
    c = with_times(device, replace(device, device=None))
    assert c.metrics == ("latency", "throughput", "device")
    assert (c.floor_of("device"), c["a"].median_of("device")) == (0.0, 0.2)
    for metric, label in (("device", "b"), ("wall", "a")):
        with pytest.raises(ArgumentError, match=f"'latency', 'throughput'.*{metric}"):
            c.ratio(label, metric)


def test_a_ratio_is_the_time_of_the_other_over_ones_own():
    latency, stream = {"a": 8.0, "b": 4.0, "c": 1.0}, {"a": 6.0, "b": 2.0, "c": 1.5}
    c = exact(latency, stream)
    for times, metric in ((latency, None), (stream, "throughput")):
        for label, against in product("abc", (None, "a", "b", "c")):
            wanted = times[against or "a"] / times[label]
            assert c.ratio(label, metric, against) == pytest.approx((wanted,) * 3)
            other = "faster" if wanted > 1 else "slower" if wanted < 1 else "same"
            assert c.verdict(label, metric, against) == other


def test_break_even_is_the_first_call_at_which_the_sum_is_no_more():
    for first, loads, calls in ((0.5, 0, 1), (1.0, 0, 1), (1.5, 0, 2), (1.51, 0, 3), (1.0, 2, 5)):
        changes = {"b": {"build_seconds": 100.0, "load_seconds": loads}}  # built once for all
        c = exact({"a": 1.0, "b": 0.5}, first={"a": 1.0, "b": first}, changes=changes)
        assert c.break_even("b") == calls
    c = exact({"a": 1.0, "b": 1.0, "c": 2.0}, again=1.0)
    assert c.break_even("b") == c.break_even("c") == NEVER
    assert exact({"a": 1.0, "b": 0.8}, again=1.3).break_even("b") is None  # the noise floor


def test_what_is_faster_in_most_rounds_and_not_in_the_median_is_not_used():
    base = (1.0,) * 11 + (10.0,) * 10 + (1.0,) * 9
    mine = (0.5,) * 11 + (5.0,) * 10 + (10.0,) * 9
    c = with_times(Samples(base), Samples(mine))
    assert (c.verdict("b"), c.break_even("b"), c.rows.recommended) == ("faster", None, None)
    assert advice(c.rows).startswith("Stay with a for now")


@pytest.mark.parametrize(
    ("times", "options", "used", "said"),
    [
        ({"a": 1e-3, "C": 1e-5}, {"references": ("C",)}, "a", "Use a: .*4.00 times .* first call"),
        ({"a": 2e-3, "b": 1e-3}, {"first": {"b": 3.0}}, "b", "Use b: .*4.00 times .* 1,000 calls"),
        # Of those that cannot be told apart, the plainest, which comes first.
        (
            {"plain": 1.01e-3, "elaborate": 1e-3, "other": 2e-3},
            {"first": {"plain": 3.0, "elaborate": 0.5, "other": 1e-3}, "noise": 0.02},
            *("plain", "Use plain: "),
        ),
        # What gains more in a stream than it loses where each call is waited for.
        (
            {"jit": 0.43e-3, "by hand": 0.375e-3},
            {"throughput": {"eager": 4e-3, "jit": 0.07e-3, "by hand": 0.32e-3}},
            *("jit", "Use jit: "),
        ),
        # What is slower in a stream is no advice.
        (
            {"b": 2e-3},
            {"throughput": {"eager": 1e-3, "b": 4e-3}},
            *(None, "Stay with eager: b is faster if you wait for each call, and slower in"),
        ),
        ({"b": 1e-3}, {"first": {"b": 1e5}}, "b", r"Use b: .* after 33,\d{3},\d{3} calls"),
        # Nothing to pay off is spoken of where no column shows it.
        (
            {"b": 2e-3},
            {"first": {"b": 6.1e-3}},
            "b",
            r"Use b: [^.]*\.\d+ times as fast as eager\.$",
        ),
        ({"d": 12e-3, "b": 8e-3}, {}, None, "Stay with eager: .* b, takes 2.00 times"),
        ({"b": 12e-3, "d": 4e-3}, {}, None, "Stay with eager: .* d, takes the same time"),
        # Its interval lies below 1, if not beyond the noise.
        ({"b": 4.08e-3, "c": 2e-2}, {"noise": 0.1}, None, "Stay with eager: .*, b, isn't faster"),
        (
            {"b": 4.08e-3, "c": 3.96e-3},
            {"noise": 0.1},
            None,
            "Stay with eager for.* whether c is faster",
        ),
        # Other programs leave it undecided, or can't have made all of the difference.
        ({"b": 2.8e-3}, {"busy": True}, None, "$"),
        ({"b": 1e-3, "c": 2.8e-3}, {"busy": True}, "b", r"Use b: .* at least 2\.4\d times"),
        ({"C": 1e-5}, {"references": ("C",)}, None, "$"),  # never recommended
        # What is deprecated neither, even if it is the fastest; its baseline is no place to stay.
        ({"a": 1e-3, "old": 1e-4}, {"deprecated": ("old",)}, "a", "Use a: .*4.00 times"),
        (
            {"a": 8e-3, "old": 1e-4},
            {"deprecated": ("old",)},
            None,
            "Stay with eager: .*n't dep.* a, takes 2",
        ),
        ({"a": 4e-3, "old": 1e-4}, {"deprecated": ("old",)}, None, "Stay .*n't dep.* a, .* same"),
        ({"a": 8e-3, "old": 9e-3}, {"deprecated": ("old",)}, None, "Stay .* alternative, a, takes"),
        ({"old": 1e-4}, {"deprecated": ("old",)}, None, "$"),
        ({"a": 1e-3}, {"deprecated": ("eager",)}, "a", "Use a: "),
        ({"a": 8e-3}, {"deprecated": ("eager",)}, None, "$"),
        ({"a": 4.08e-3}, {"deprecated": ("eager",), "noise": 0.1}, None, "$"),
        # Another runtime is recommended with what to use without it.
        (
            {"a": 2e-3, "b": 1e-3},
            {"other_runtimes": ("b",)},
            "b",
            r"Use b: .*4\.0\d .* b is another runtime; without one, use a, which is 2\.0\d times",
        ),
        (
            {"a": 8e-3, "b": 1e-3},
            {"other_runtimes": ("b",)},
            "b",
            r"Use b: .* b is another runtime; without one, stay with eager\.$",
        ),
        ({"a": 1e-3, "b": 2e-3}, {"other_runtimes": ("b",)}, "a", r"Use a: [^.]*\.\d\d [^.]*\.$"),
        ({"b": 1e-3}, {"other_runtimes": ("b",), "deprecated": ("eager",)}, "b", r".* runtime\.$"),
    ],
)
def test_the_advice_follows_its_rules(times, options, used, said):
    c = comparison({"eager": 4e-3, **times}, **options)
    recommended = c.rows.recommended
    assert (recommended and recommended.label) == used
    assert re.match(said, advice(c.rows))


def test_what_pays_off_a_build_is_said_beside_what_pays_off_a_cold_start():
    changes = {"built": {"build_seconds": 3.0, "load_seconds": 0.1}}
    c = comparison({"eager": 4e-3, "built": 3e-3}, changes=changes)
    saved = c["eager"].median - c["built"].median
    cold = c["built"].cold_seconds - c["eager"].cold_seconds
    assert c.break_even("built") == 1 + math.ceil(cold / saved)
    assert c.break_even("built", with_build=True) == 1 + math.ceil((cold + 3.0) / saved)
    row = c.rows[1]
    assert (row.pays_after, row.pays_after_with_build) == (
        c.break_even("built"),
        c.break_even("built", with_build=True),
    )
    numbers = table.calls(row.pays_after), table.calls(row.pays_after_with_build)
    assert advice(c.rows).endswith("after {} calls; {} with its build of 3.00 s.".format(*numbers))
    assert "{} ({})".format(*numbers) in str(c)
    assert "(with its build)" in str(c)
    changes = {"built": {"build_seconds": 3.0}}
    at_once = advice(comparison({"eager": 4e-3, "built": 3e-3}, changes=changes).rows)
    assert re.search(r"first call on; after \d,\d{3} calls with its build of 3.00 s", at_once)
    slower = comparison({"eager": 4e-3, "built": 8e-3}, changes=changes)
    assert slower.rows[1].pays_after_with_build == math.inf
    assert "with its build" not in str(slower)
    without = comparison({"eager": 4e-3, "compiled": 3e-3}, first={"compiled": 1.0})
    assert without.rows[1].pays_after_with_build is None
    assert "with its build" not in str(without)


def test_as_a_data_frame(monkeypatch):
    pytest.importorskip("pandas")
    changes = {"b": {"later_compilations": 412, "later_calls": 824}}
    c = comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4}, changes=changes)
    frame = replace(c, facts={"b": FACTS}).to_frame()
    assert frame.loc["b", ["compilations_per_call", "before_seconds"]].tolist() == [0.5, 3e-5]
    assert (frame.loc["b", "cause"], frame.loc["b", "facts"]["steps"]) == ("unknown", 5)
    assert frame.loc["a", ["cause", "before_seconds"]].isna().all()
    row = c.to_frame().loc["b"]
    assert (row["verdict"], row["latency"], row["pays_after"]) == ("faster", c["b"].median, 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingPackageError, match="pandas"):
        c.to_frame()


FACTS = Facts(
    graphs=2,
    breaks=(Finding("data-dependent branch", "net.py", 7),),
    again=Finding("now 3, before 2"),
    program=Program(recorded=7, steps=5, contractions=3, fused=2, folded=0),
    before_seconds=3e-5,
    eager_operations=7,
    eager_operation_seconds=9e-6,
    is_cut_short=True,
)
RESULTS = [
    comparison({"a": 2e-3, "b": 1e-3}, {"a": 1e-3, "b": 1e-4}, unavailable={"c": "no"}),
    comparison({"a": 2e-3, "b": 1e-3}, facts={"b": FACTS}),
    comparison({"a": 2e-3}, changes={"a": {"build_seconds": 3.0, "note": "a word"}})["a"],
    sweep([1, 2.5], {"a": [1.0, 2.0], "b": [2.0, 1.0]}),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda one: type(one).__name__)
def test_json_round_trips_exactly_and_other_texts_are_refused(result):
    again = type(result).from_json(result.to_json())
    assert (again, hash(again), str(again)) == (result, hash(result), str(result))
    assert again.to_json() == result.to_json()
    for said in ("", "null", "{}", "[1]", "[" * 100_000, None):
        with pytest.raises(DamagedResultError):
            type(result).from_json(said)


def test_damaged_json_is_refused():
    for result, path, value in (
        (RESULTS[0], "version", 99),
        (RESULTS[0], "schema", "d2lhybrid-sweep"),
        (RESULTS[0], "baseline_repeat.latency", [1.0]),  # one round
        (RESULTS[0], "baseline", "nobody"),
        (RESULTS[0], "margin", -0.01),
        (RESULTS[0], "seed", None),
        (RESULTS[0], "unavailable", ["b"]),
        (RESULTS[0], "measurements", []),
        (RESULTS[0], "measurements.0.env.date", None),
        (RESULTS[0], "measurements.0.times.latency", [-1.0] * 30),
        (RESULTS[0], "measurements.0.times.device", [1.0]),
        (RESULTS[0], "measurements.1.times.throughput", None),
        (RESULTS[1], "facts.b.program.steps", None),
        (RESULTS[3], "sizes", [1]),
        (RESULTS[3], "comparisons", []),
    ):
        content = place = json.loads(result.to_json())
        *above, last = path.split(".")
        for step in above:
            place = place[int(step) if step.isdigit() else step]
        place[last] = value
        with pytest.raises(DamagedResultError, match="Expected"):
            type(result).from_json(json.dumps(content))


def test_json_without_its_baseline_says_so():
    content = json.loads(RESULTS[0].to_json()) | {"baseline": "nobody"}
    with pytest.raises(DamagedResultError, match="the baseline is missing"):
        Comparison.from_json(json.dumps(content))


def test_the_schema_names_every_field_and_no_other():
    page = (ROOT / "docs" / "results-schema.md").read_text(encoding="utf-8")
    kinds = (Samples, Measurement, Comparison, Sweep, Environment, Facts, Program, Finding)
    fields = {name for kind in kinds for name in kind.__dataclass_fields__} - {"experiment"}
    shown = RESULTS[0].summary()
    fields |= {*shown, *shown["rows"][0]}
    first_cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert fields <= set(re.findall(r"`(\w+)`", page))
    assert named - fields == {"summary"}


@pytest.mark.parametrize("processes", [0, 3])
def test_a_measurement_with_too_few_samples_has_no_interval(processes):
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=3)
    measured = (join([c] * processes, seed=1) if processes else c)["b"]
    assert repr(measured).startswith(
        "b: 500 µs per call, with too few samples for an interval; first call 500 µs."
    )


def test_a_measurement_says_how_many_calls_warmed_it_up():
    measured = replace(comparison({"a": 1e-3})["a"], warmup_calls=15871)
    assert repr(measured).splitlines()[0].endswith("; warm-up calls: 15,871.")


def test_json_begins_with_what_the_table_shows():
    ways = comparison({"a": 2e-3, "b": 1e-3})
    shown = json.loads(ways.to_json())["summary"]
    assert shown == json.loads(json.dumps(ways.summary()))
    assert (shown["recommended"], shown["rows"][1]["verdict"]) == ("b", "faster")
    assert comparison({"a": 1e-3, "b": 2e-3}).summary()["recommended"] is None


@pytest.mark.parametrize(
    ("threads", "disturbed", "is_busy"),
    [
        ({"torch": 1}, 24, False),  # six are left
        ({"torch": 1}, 25, True),
        ({"torch": 2}, 15, False),
        ({"torch": 2}, 16, True),  # fewer than half are left, and threads wait for one another
        ({"torch": 1, "tensorflow": 2}, 16, True),
        ({}, 16, True),  # who doesn't tell may use several
    ],
)
def test_how_many_undisturbed_rounds_are_enough(threads, disturbed, is_busy):
    times = {"a": 1e-3, "b": 7e-4}
    c = comparison(times)
    samples = replace(c["b"].times, disturbed=tuple(range(disturbed)))
    env = replace(c.env, threads=threads)
    changes = {"a": {"env": env}, "b": {"env": env, "times": samples}}
    c = comparison(times, changes=changes)
    assert c.rounds == 30
    assert c.is_busy("b") is is_busy
    assert c.verdict("b") == ("undecided" if is_busy else "faster")
