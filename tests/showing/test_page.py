"""What is said of results: tables and the lines around them, and what programs read of them."""

import json
import math
import re

from by_hand import comparison, sweep

from d2lhybrid.core.table import Column, Table
from d2lhybrid.experiments import comparison as results
from d2lhybrid.experiments.join import join
from d2lhybrid.measuring.row import Row, Times
from d2lhybrid.showing.advice import advice
from d2lhybrid.showing.tables import comparison_table, names_of, narrow_table, sweep_table
from d2lhybrid.showing.verdicts import signs
from d2lhybrid.verbs.sweep import Sweep

TIMES = {"eager": 1e-3, "compiled": 5e-4, "slow": 2.5e-3, "<twin>": 1e-3}
UNAVAILABLE = {"graphs": "it rests on CUDA graphs", "native": "Found no compiler. Install one."}


def cells(c, label):
    """The cells of a row by their heads; what stands twice, under a second metric, by "2 head"."""
    table = comparison_table(c.rows)
    (row,) = (row for row in table.rows if row[0].removesuffix(" ★") == label)
    found = {}
    for column, cell in zip(table.columns, row, strict=True):
        head = column.head.partition("\n")[2] or column.head
        found[f"2 {head}" if head in found else head] = cell
    return found


def test_a_page_from_top_to_bottom():
    c = comparison(TIMES, first={"compiled": 1.0}, unavailable=UNAVAILABLE)
    eager = {"verdict": "baseline", "ratio": "1", "in this process": "", "time per call": "1.00 ms",
             "cold start": "1.00 ms", "pays after": ""}  # fmt: skip
    assert cells(c, "eager") == {"variant": "eager", **eager}
    slow = cells(c, "slow")
    assert (slow["verdict"], slow["ratio"][:3], slow["pays after"]) == ("▼ slower", "0.4", "∞")
    assert re.fullmatch(r"0\.3\d+ – 0\.4\d+", slow["in this process"])
    assert cells(c, "<twin>")["verdict"] == "= same"
    assert re.fullmatch(r"\d,\d{3}", cells(c, "compiled")["pays after"])
    order = [r"compiled ★", r"&lt;twin&gt;|<twin>", r"Use compiled", r"∞: ", r"30 rounds", "seed 1"]
    order.insert(4, r"native was left out: Found no compiler. Install one\.")
    shown = str(c), c._repr_html_()
    for said in shown:
        places = [re.search(one, said).start() for one in order]
        assert places == sorted(places)
    inside = shown[1].partition("<details>")[2]
    assert "30 rounds" in inside
    assert "Use compiled" not in inside


def test_what_is_deprecated_is_marked_with_a_word_wherever_it_is_shown_and_never_with_a_star():
    c = comparison({"eager": 1e-3, "new": 8e-4, "old": 1e-4}, deprecated=("old",))
    assert "old (deprecated)" in cells(c, "old (deprecated)")["variant"]
    assert [row[0] for row in comparison_table(c.rows).rows] == [
        "eager",
        "new ★",
        "old (deprecated)",
    ]
    found = c._repr_mimebundle_()[results.MIME]["rows"]
    assert [row["deprecated"] for row in found] == [False, False, True]
    s = Sweep((8,), (c,))
    assert [column.head for column in sweep_table(s.sizes, s.rows).columns][
        -1
    ] == "old (deprecated)"
    assert results.Comparison.from_json(c.to_json()).deprecated == ("old",)
    assert Sweep.from_json(s.to_json()) == s


def test_another_runtime_is_marked_with_words_wherever_it_is_shown():
    c = comparison({"eager": 1e-3, "other": 1e-4}, other_runtimes=("other",))
    names = [row[0] for row in comparison_table(c.rows).rows]
    assert names == ["eager", "other (another runtime) ★"]
    found = c._repr_mimebundle_()[results.MIME]["rows"]
    assert [row["other_runtime"] for row in found] == [False, True]
    s = Sweep((8,), (c,))
    assert names_of(s.rows)["other"] == "other (another runtime)"
    assert results.Comparison.from_json(c.to_json()).other_runtimes == ("other",)
    joined = join([c, c], seed=1)
    assert joined.rows[1].other_runtime


def test_uncertain_times_are_said_above_the_table_and_have_no_winner():
    said = str(comparison({"eager": 1e-3, "b": 7e-4}, busy=True))
    assert re.match("⚠ The machine was busy: in 27 of 30 rounds, .* undecided: b. .*quieter", said)
    assert "★" not in said
    assert "Use b" not in said
    noisy = comparison({"eager": 1e-3, "b": 1.1e-3}, noise=0.5)
    assert re.match(r"⚠ These times are noisy: .* up to \d+%", str(noisy))
    clear = comparison({"eager": 1e-3, "b": 1e-4}, noise=0.5)
    assert clear.noisy
    assert "⚠" not in str(clear)  # ten times as fast is clear of any such noise
    assert "Use b" in str(clear)
    far = comparison({"eager": 1e-3, "b": 5e-4, "c": 9e-4}, busy=True)
    assert cells(far, "b")["verdict"] == "▲ faster ‡"
    assert re.fullmatch(r"at least 1\.2\d", cells(far, "b")["ratio"])
    assert "‡: decided while the machine was busy, which can make a ratio 1.60 times" in str(far)
    assert "undecided: c." in str(far).splitlines()[0]
    quiet, busy = comparison({"a": 1e-3}), comparison({"a": 1e-3}, busy=True)
    assert "in 54 of 60 rounds" in str(Sweep((1, 2, 3), (quiet, busy, busy))).splitlines()[0]


def test_each_metric_has_a_group_of_columns():
    stream = {"eager": 8e-4, "slow": 4e-4, "C": 1e-4}
    c = comparison({"eager": 1e-3, "slow": 2.5e-3, "C": 1e-4}, stream, references=("C",))
    slow = cells(c, "slow")
    assert (slow["verdict"], slow["2 verdict"]) == ("▼ slower", "▲ faster")
    assert (slow["time"], slow["2 time"]) == ("2.50 ms", "400 µs")
    assert "throughput" in str(c).splitlines()[0]
    assert cells(c, "C")["verdict"] == "reference"


def test_what_is_not_known_is_said_and_what_would_tell():
    for rounds, confidence in ((7, "95%"), (8, "99%"), (20, "95%")):
        c = comparison({"a": 1e-3, "b": 5e-4}, rounds=rounds)
        assert f"{confidence} interval" in str(c).splitlines()[0]
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=5, limit_needed=33.3)
    assert "at least 33.3 s." in str(c)
    assert cells(c, "b")["in this process"] == "?"
    stopped = str(comparison({"a": 1e-3, "b": 5e-4}, rounds=1, stopped="interrupted"))
    for said in ("interrupted", "1 round;", "fewer than 6"):
        assert said in stopped


def test_a_sweep_has_a_row_a_size_and_signs_and_says_what_was_not_run():
    one = comparison({"eager": 1e-3, "b": 5e-4}, {"eager": 1e-3, "b": 5e-3})
    other = comparison({"eager": 1e-3}, unavailable={"b": "too large."})
    s = Sweep((8, 16.5), (one, other))
    first, second = sweep_table(s.sizes, s.rows).rows
    assert [*first[:2], *second[:3]] == ["8", "1.00 ms", "16.50", "1.00 ms", "–"]
    assert re.fullmatch(r"500 µs \((2\.0\d|1\.99)× ▲\)", first[2])
    assert re.fullmatch(r"5\.00 ms \(0\.\d+× ▼\)", first[4])
    assert "b was left out: too large." in str(s)
    assert "▼ slower" in s._repr_html_()


def test_programs_read_the_rows_and_nothing_that_json_lacks():
    stream = {label: time / 2 for label, time in TIMES.items()}
    fields = {"references": ("slow",), "unavailable": {"native": "Found no compiler."}}
    c = comparison(TIMES, stream, first={"compiled": 1.0}, **fields)
    found = c._repr_mimebundle_(include=None)[results.MIME]
    assert found["metrics"] == ["latency", "throughput"]
    eager, compiled, _slow, twin = found["rows"]
    assert (eager["ratio"], eager["throughput_ratio"], eager["pays_after"]) == (1, 1, None)
    wanted = {"label": "compiled", "verdict": "faster", "latency": c["compiled"].median,
              "ratio": c.ratio("compiled")[0], "cold": 1.0,
              "pays_after": c.break_even("compiled")}  # fmt: skip
    assert wanted.items() <= compiled.items()
    roles = [row["role"] for row in found["rows"]]
    assert roles == ["baseline", "variant", "reference", "variant"]
    assert (found["not_run"], twin["pays_after"]) == (["native"], None)
    few = sweep([1, 2], {"a": [1e-3, 2e-3], "b": [1e-3, 1e-3]}, rounds=3)
    found = few._repr_mimebundle_()[results.MIME]
    assert (found["kind"], found["sizes"]) == ("sweep", [1, 2])
    row = json.loads(json.dumps(found, allow_nan=False))["comparisons"][0]["rows"][1]
    assert (row["low"], row["high"], row["throughput"]) == (None, None, None)


def test_a_table_lines_up_and_html_keeps_numbers_and_words_whole():
    columns = [Column("variant", left=True), Column("latency\ntime"), Column("ratio")]
    table = Table(columns, [["<a b>", "1 µs", "1"], ["编译", "100 µs", "2\n33"]], strong={0})
    assert str(table).splitlines() == [
        "         latency",
        "variant     time  ratio",
        "<a b>       1 µs      1",
        "编译      100 µs      2",
        "                     33",
    ]
    html = table.html()
    assert '<th style="text-align:right;word-break:keep-all"><br>ratio</th>' in html
    assert 'right;white-space:nowrap">2<br>33</td>' in html
    assert '<td style="text-align:left"><strong>&lt;a b&gt;</strong></td>' in html
    plain = Table([Column(left=True)] * 2, [["a", "1"]], gap=" ")
    assert (str(plain), "<thead>" in plain.html()) == ("a 1", False)


def test_what_a_recording_keeps_has_a_narrow_table():
    metrics = ["latency", "device"]
    times = {"latency": Times(1e-3), "device": Times(2e-4)}
    eager = Row("eager", role="baseline", times=times, first_seconds=0.5)
    undecided = Times(5e-4, ratio=2.0, interval=(0.0, math.inf), verdict="undecided")
    other = Row("old", deprecated=True, times={"latency": undecided})
    table = narrow_table([eager, other], metrics, cold_starts=True)
    assert [column.head for column in table.columns] == [
        *("variant", "time per call", "device time", "cold start"),
    ]
    assert table.rows == [
        ["eager", "1.00 ms", "200 µs", "500 ms"],
        ["old (deprecated)", "500 µs (2.00× ?)", "?", ""],
    ]
    assert len(narrow_table([other], ["latency"], cold_starts=False).columns) == 2
    assert "? undecided" in signs()


def test_few_rounds_decide_nothing():
    few = comparison({"eager": 1e-3, "slow": 1e-1, "quick": 1e-5}, rounds=3)
    assert cells(few, "slow")["verdict"] == cells(few, "quick")["verdict"] == "? undecided"
    assert advice(few.rows).startswith(
        "Stay with eager for now: it is undecided whether one of slow"
    )


def test_rows_are_computed_once_and_have_those_that_were_not_run_with_their_reason():
    c = comparison(TIMES, references=("slow",), unavailable=UNAVAILABLE)
    assert c.rows is c.rows
    assert [row.label for row in c.rows] == [*TIMES, *UNAVAILABLE]
    assert [row.role for row in c.rows.measured] == ["baseline", "variant", "reference", "variant"]
    assert {row.label: row.reason for row in c.rows.not_run} == UNAVAILABLE
    assert [row.label for row in c.rows if row.is_best] == ["compiled"]
    compiled = c.rows[1]
    low, high = c["compiled"].interval()
    assert compiled.latency.spread == (low, high)
    assert (compiled.latency.ratio, *compiled.latency.interval) == c.ratio("compiled")
    assert (compiled.latency.verdict, compiled.pays_after) == ("faster", c.break_even("compiled"))


def test_each_reason_to_be_undecided_has_its_sentence():
    noisy = comparison({"eager": 1e-3, "b": 9.7e-4, "c": 5e-4}, noise=0.05)
    assert "Undecided for noise: b. The interval of the ratio contains 1" in str(noisy)
    few = comparison({"eager": 1e-3, "b": 9e-4, "c": 1e-4}, rounds=3)
    assert "?: not known, because fewer than 6 rounds give no interval." in str(few)
    assert "Undecided for noise" not in str(few)
    assert "Undecided" not in str(comparison({"eager": 1e-3, "b": 5e-4}))


def test_how_it_was_measured_is_said_below_the_table():
    said = str(comparison({"eager": 1e-3, "b": 5e-4}, circumstance="Measured with one thread."))
    assert "\nMeasured with one thread.\n" in said
