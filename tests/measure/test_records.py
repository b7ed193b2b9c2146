"""Results go to JSON and come back the same; a damaged text is refused."""

import json
import re
from pathlib import Path

import pytest
from fake import Machine

from d2lhybrid.errors import DamagedResultError
from d2lhybrid.measure.comparing import compare
from d2lhybrid.measure.measuring import measure
from d2lhybrid.measure.sweeping import sweep
from d2lhybrid.report.records import Comparison, Measurement, Sweep


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


def test_statistics_follow_from_the_samples_in_the_text(comparison):
    again = Comparison.from_json(comparison.to_json())
    for label in comparison:
        assert again.ratio(label) == comparison.ratio(label)
        assert again[label].ci95 == comparison[label].ci95
    assert str(again) == str(comparison)


def change(**fields):
    return lambda content: content.update(fields)


@pytest.mark.parametrize(
    "damage",
    [
        change(version=99),
        change(schema="pyperf"),
        change(again=[1.0]),
        change(again=[]),
        change(again=["fast"]),
        change(again=None),
        change(baseline="nobody"),
        change(measurements=[]),
        change(measurements={}),
        change(surplus=1),
        lambda content: content.pop("seed"),
        lambda content: content["measurements"][0].pop("env"),
        lambda content: content["measurements"][0]["env"].pop("date"),
        lambda content: content["measurements"][0].update(samples=[-1.0] * 20),
        lambda content: content["measurements"][0].update(cold_seconds="1 s"),
        lambda content: content["measurements"][0].update(device_samples=[]),
    ],
)
def test_damaged_json_is_refused(comparison, damage):
    content = json.loads(comparison.to_json())
    damage(content)
    with pytest.raises(DamagedResultError, match="Expected"):
        Comparison.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "{}", "\x00"])
def test_other_texts_are_refused(text):
    for kind in (Comparison, Measurement, Sweep):
        with pytest.raises(DamagedResultError):
            kind.from_json(text)


def test_a_result_of_another_kind_is_refused(comparison):
    with pytest.raises(DamagedResultError, match="d2lhybrid-sweep"):
        Sweep.from_json(comparison.to_json())


def test_the_schema_names_every_field(comparison):
    page = (Path(__file__).parents[1] / "docs" / "results-schema.md").read_text(encoding="utf-8")
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
    assert list(frame.index) == ["eager", "compiled"]
    assert frame.loc["compiled", "verdict"] == "faster"
    assert frame.loc["compiled", "median"] == comparison["compiled"].median
    assert frame["device_median"].isna().all()
