"""Faults planted in a committed comparison, and what of one the clock may change."""

from copy import deepcopy

import pytest
from by_hand import comparison, sweep

from book.comparisons import LEFT_OUT, likeness, without_clock

FACTS = {"runs_compiled": True, "graphs": 1, "recorded": 25, "steps": 15}


def row(label, role="variant", verdict="slower", cause=None, **facts):
    marks = {"deprecated": False, "other_runtime": False}
    about = {"label": label, "verdict": verdict, "role": role, **marks, "latency": 1e-3}
    return about | {"facts": facts, "cause": cause}


def summary(*rows):
    about = {"kind": "comparison", "baseline": rows[0]["label"], "not_run": ["C"]}
    return about | {"rows": [*rows], "date": "2026-11-29"}


EAGER = row("eager", "baseline", "same")
COMMITTED = summary(EAGER, row("compiled", cause="graph_break", **FACTS))


def planted(change):
    """The committed comparison with a fault."""
    faulty = deepcopy(COMMITTED)
    change(faulty["rows"][1], faulty)
    return faulty


def said(committed, received):
    return "\n".join(map(str, likeness([committed], [received]).differences))


FAULTS = {
    "label": (
        lambda row, _: row.update(label="jit"),
        "jit: label: committed jit, received no such row\n"
        "compiled: label: committed no such row, received compiled",
    ),
    "role": (
        lambda row, _: row.update(role="reference"),
        "compiled: role: committed reference, received variant",
    ),
    "fact": (
        lambda row, _: row["facts"].update(steps=14),
        "compiled: steps: committed 14, received 15",
    ),
    "fact that isn't found any more": (
        lambda row, _: row["facts"].update(folded=2),
        "compiled: folded: committed 2, received None",
    ),
    "cause": (
        lambda row, _: row.update(cause="recompiled"),
        "compiled: cause: committed recompiled, received graph_break",
    ),
    "no cause": (
        lambda row, _: row.update(cause="unknown"),
        "compiled: cause: committed None, received graph_break",
    ),
    "baseline": (
        lambda _, whole: whole.update(baseline="compiled"),
        "rows: baseline: committed compiled, received eager",
    ),
    "order": (
        lambda _, whole: whole["rows"].reverse(),
        "rows: order: committed ['compiled', 'eager'], received ['eager', 'compiled']",
    ),
    "not run": (
        lambda _, whole: whole.update(not_run=[]),
        "rows: not_run: committed [], received ['C']",
    ),
    "deprecated": (
        lambda row, _: row.update(deprecated=True),
        "compiled: deprecated: committed True, received False",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_named_with_its_row_and_field_and_both_values(fault):
    change, message = FAULTS[fault]
    assert said(planted(change), COMMITTED) == message


@pytest.mark.parametrize(
    "change",
    [
        lambda row, _: row.update(verdict="faster", latency=1e-6),
        lambda _, whole: whole.update(date="2027-01-01"),
        # What times decide, or whether there was time to ask.
        lambda row, _: row.update(cause="entering"),
        lambda row, _: row.update(cause=None, verdict="faster"),
        lambda row, _: row.update(cause=None, verdict="undecided"),
        lambda row, _: row["facts"].update(is_cut_short=True),
        # What an earlier version of the package left out.
        lambda row, _: row.pop("role"),
        lambda row, _: row.pop("facts"),
        lambda row, _: row.pop("cause"),
        lambda row, _: row["facts"].pop("steps"),
        lambda _, whole: whole.pop("not_run"),
    ],
)
def test_what_the_clock_or_an_earlier_version_decides_is_no_difference(change):
    assert said(planted(change), COMMITTED) == ""


def test_a_fact_may_be_missing_where_the_time_for_asking_was_over():
    received = summary(EAGER, row("compiled", cause="graph_break", is_cut_short=True, graphs=1))
    assert said(COMMITTED, received) == ""
    received["rows"][1]["facts"]["graphs"] = 2
    assert said(COMMITTED, received) == "compiled: graphs: committed 1, received 2"


def test_what_is_compared_is_counted_of_what_there_is():
    old = planted(lambda row, _: [row.pop(name) for name in ("role", "facts", "cause")])
    found = likeness([old], [COMMITTED])
    kinds = ("comparison", "label", "role", "fact", "cause")
    assert [found.found[kind] for kind in kinds] == [1, 2, 2, 4, 1]
    assert [found.compared[kind] for kind in kinds] == [1, 2, 1, 0, 0]
    assert likeness([COMMITTED], [COMMITTED]).compared["fact"] == 4


def test_a_sweep_and_a_reveal_say_where():
    sizes = {"kind": "sweep", "sizes": [8, 16], "comparisons": [COMMITTED, COMMITTED]}
    faulty = {**sizes, "comparisons": [COMMITTED, planted(FAULTS["fact"][0])]}
    assert said(faulty, sizes) == "size 16, compiled: steps: committed 14, received 15"
    groups = {"kind": "reveal", "comparisons": {"MLP": COMMITTED}}
    faulty = {**groups, "comparisons": {"MLP": planted(FAULTS["role"][0])}}
    assert said(faulty, groups) == "MLP, compiled: role: committed reference, received variant"
    assert "('reveal', 'CNN'), received ('reveal', 'MLP')" in said(
        {**groups, "comparisons": {"CNN": COMMITTED}}, groups
    )
    (fewer,) = likeness([groups, groups], [groups]).differences
    assert str(fewer) == "all: number: committed 2, received 1"


def test_what_the_package_writes_is_compared_and_keeps_no_time():
    times, fields = {"a": 1e-3, "b": 2e-3}, {"unavailable": {"C": "Found no compiler."}}
    of_package = [
        comparison(times, **fields).summary(),
        sweep([1, 2], {"a": [1e-3, 2e-3], "b": [1e-3, 1e-3]})._repr_mimebundle_().popitem()[1],
    ]
    kept = [*map(without_clock, of_package)]
    found = likeness(kept, of_package)
    assert not found.differences
    assert found.compared["role"] == 6
    assert "latency" not in str(kept)
    assert kept[0]["not_run"] == ["C"]


def test_each_field_that_is_left_out_has_its_reason():
    assert all(len(why.split()) > 5 for why in LEFT_OUT.values())
