"""Results go to JSON and come back the same; a damaged text is refused."""

import json
import re
from pathlib import Path

import pytest
from fake import Machine

from d2lhybrid.errors import DamagedResultError
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.measuring import measure
from d2lhybrid.measurement.sweeping import sweep
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.results import Comparison
from d2lhybrid.report.sweeps import Sweep


@pytest.fixture(scope="module")
def comparison():
    m = Machine()
    functions = {"eager": m.function(1e-3, 0.01), "compiled": m.function(3e-4, 0.01, cold=1)}
    return compare(functions, clock=m.clock, seed=5, progress=False)


@pytest.fixture(scope="module")
def results(comparison):
    m = Machine()
    swept = sweep(lambda n: ({"a": m.function(n)},), [0.1, 0.2], clock=m.clock, progress=False)
    return [comparison, measure(m.function(1e-3), clock=m.clock), swept]


def test_json_round_trips_exactly(results):
    for result in results:
        again = type(result).from_json(result.to_json())
        assert again == result
        assert again.to_json() == result.to_json()
        assert str(again) == str(result)


def change(**fields):
    return lambda content: content.update(fields)


@pytest.mark.parametrize(
    "damage",
    [
        change(version=99),
        change(schema="pyperf"),
        change(again={"latency": [1.0], "throughput": None, "device": None}),
        change(again={"latency": [], "throughput": None, "device": None}),
        change(version=True),
        change(version=0),
        change(version="2"),
        change(baseline="nobody"),
        change(measurements=[]),
        change(surplus=1),
        lambda content: content.pop("seed"),
        lambda content: content["measurements"][0]["env"].pop("date"),
        lambda content: content["measurements"][0]["times"].update(latency=[-1.0] * 20),
        lambda content: content["measurements"][0]["times"].update(throughput=[1.0] * 20),
        lambda content: content["measurements"][0]["times"].update(device=[]),
        lambda content: content["measurements"][0]["times"].update(device=[1.0]),
        lambda content: content["measurements"][0].update(build_seconds=-1.0),
    ],
)
def test_damaged_json_is_refused(comparison, damage):
    content = json.loads(comparison.to_json())
    damage(content)
    with pytest.raises(DamagedResultError, match="Expected"):
        Comparison.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", "\x00"])
def test_other_texts_are_refused(text):
    for kind in (Comparison, Measurement, Sweep):
        with pytest.raises(DamagedResultError):
            kind.from_json(text)


def test_a_result_of_another_kind_is_refused(comparison):
    with pytest.raises(DamagedResultError, match="d2lhybrid-sweep"):
        Sweep.from_json(comparison.to_json())


ENVIRONMENT = {
    "date": "2026-11-01T10:00:00+00:00", "versions": {"python": "3.11.7"}, "system": "Linux",
    "cpu": "AMD EPYC", "cores": 2, "threads": {"torch": 2}, "accelerators": [],
    "governor": None, "load": 0.5,
}  # fmt: skip


def old_measurement(label, seconds, calls=1, device=None):
    return {
        "label": label, "cold_seconds": 0.5, "samples": [seconds] * 6, "calls": calls,
        "warmup_calls": 30, "device_samples": device, "env": ENVIRONMENT,
    }  # fmt: skip


def test_version_1_is_read():
    device = [1e-4] * 6
    measurements = [old_measurement("a", 1e-3), old_measurement("b", 5e-4, 2, device)]
    one = {"schema": "d2lhybrid-measurement", "version": 1, **measurements[1]}
    m = Measurement.from_json(json.dumps(one))
    assert (m.median, m.first_seconds, m.cold_seconds) == (5e-4, 0.5, 0.5)
    assert (m.build_seconds, m.times.throughput, m.device_median) == (None, None, 1e-4)
    assert "waited for together" in m.note
    old = {
        "measurements": measurements, "baseline": "a", "again": [1e-3] * 6, "unavailable": {},
        "checked": True, "seed": 1, "stopped": "clear", "margin": 0.02,
    }  # fmt: skip
    one = {"schema": "d2lhybrid-comparison", "version": 1, **old}
    c = Comparison.from_json(json.dumps(one))
    assert c.verdict("b") == "faster"
    assert c["a"].note is None
    assert c["b"] == m
    assert type(c).from_json(c.to_json()) == c
    swept = {"schema": "d2lhybrid-sweep", "version": 1, "sizes": [1], "work": [2]}
    s = Sweep.from_json(json.dumps({**swept, "comparisons": [old]}))
    assert s.comparisons == (c,)
    del old["again"]
    for damaged in ({**swept, "comparisons": [old]}, {**one, "version": 2}):
        with pytest.raises(DamagedResultError):
            type(s if damaged["schema"] == "d2lhybrid-sweep" else c).from_json(json.dumps(damaged))


@pytest.mark.parametrize(("load", "busy"), [(0.5, False), (2.0, False), (2.1, True), (None, False)])
def test_a_load_above_the_cores_is_busy(comparison, load, busy):
    content = json.loads(comparison.to_json())
    for measurement in content["measurements"]:
        measurement["env"].update(load=load, cores=2)
    assert Comparison.from_json(json.dumps(content)).busy is busy


def test_the_schema_names_every_field(comparison):
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

    assert set(fields(json.loads(comparison.to_json()))) <= named


def test_as_a_data_frame(comparison):
    frame = comparison.to_frame()
    m, row = comparison["compiled"], frame.loc["compiled"].to_dict()
    assert list(frame.index) == ["eager", "compiled"]
    ratio = dict(
        zip(("ratio", "ratio_low", "ratio_high"), comparison.ratio("compiled"), strict=True)
    )
    interval = dict(zip(("ci95_low", "ci95_high"), m.ci95, strict=True))
    same = {"verdict": "faster", "throughput_median": m.median, **ratio, **interval}
    same["break_even"] = comparison.break_even("compiled")
    same |= {name: getattr(m, name) for name in ("median", "iqr", "min", "first_seconds")}
    same["warmup_calls"] = m.warmup_calls
    missing = {"device_median", "build_seconds", "load_seconds", "peak_bytes", "host_peak_bytes"}
    assert {name: value for name, value in row.items() if name not in missing} == same
    assert frame[sorted(missing)].isna().all(axis=None)
    assert frame.loc["eager", list(ratio)].tolist() == [1, 1, 1]
