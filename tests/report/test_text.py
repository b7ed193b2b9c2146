"""What is said of results, as text and as HTML."""

import re
from dataclasses import replace

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid.errors import ClaimError
from d2lhybrid.report import text
from d2lhybrid.report.records import Samples
from d2lhybrid.report.sweeps import Sweep

TIMES = {"eager": 1e-3, "compiled": 5e-4, "slow": 2.5e-3, "<twin>": 1e-3}


@pytest.fixture
def mixed():
    unavailable = {
        "graphs": "it rests on CUDA graphs, and there is no CUDA device",
        "native": "Found no compiler. Install one.",
    }
    return comparison(TIMES, first={"compiled": 1.0}, unavailable=unavailable)


def cells(table, label):
    return next(row.cells for row in table.rows if row.cells[0] == label)


def heads(table):
    return [(column.group, column.head) for column in table.columns]


def test_every_verdict_has_its_sentence_with_numbers(mixed):
    said = str(mixed).splitlines()
    assert any(
        re.fullmatch(
            r"compiled is (2\.0\d|1\.99) times as fast as eager \(95% interval [12]\.\d+ to "
            r"2\.\d+\)\. Its cold start has paid for itself after (2,0\d\d|1,99\d) calls\.",
            line,
        )
        for line in said
    )
    same = "<twin> and eager take the same time to within 2.0% (95% interval of the ratio 0.9"
    assert any(line.startswith(same) for line in said)
    assert re.fullmatch(r"30 rounds; noise floor 0\.\d\d%\.", said[-2])
    undecided = comparison({"a": 1e-2, "b": 1.02e-2}, noise=0.1, stopped="limit")
    lines = str(undecided).splitlines()
    start = "It is undecided whether b is faster than a (95% interval of the ratio 0."
    assert lines[-4].startswith(start)
    assert lines[-3] == "The time limit came first."


def test_so_many_times_as_long_is_the_ratio_turned_over(mixed):
    estimate, low, high = mixed.ratio("slow")
    said = next(line for line in str(mixed).splitlines() if line.startswith("slow takes"))
    numbers = [float(found) for found in re.findall(r"\d+\.\d+", said)]
    assert numbers == pytest.approx([1 / estimate, 1 / high, 1 / low], rel=5e-3)
    assert numbers[1] < numbers[0] < numbers[2]
    assert numbers[0] == pytest.approx(2.5, rel=0.01)


def test_the_winner_is_marked_and_advised(mixed):
    said, html = str(mixed), mixed._repr_html_()
    assert "compiled ★" in said
    assert said.count("★") == 1
    assert "\n\nUse compiled: it is " in said
    assert html.index("<div><strong>Use compiled") > html.index("</table>")


def test_what_was_not_run_is_a_row_with_its_reason(mixed):
    notes = {row.cells[0]: row.note for row in text.table(mixed).rows if row.note}
    assert notes == {
        "graphs": "Not run: it rests on CUDA graphs, and there is no CUDA device.",
        "native": "Not run: Found no compiler. Install one.",
    }
    assert "Not run: Found no compiler." in mixed._repr_html_()


def test_verdict_and_ratio_stand_beside_the_variant(mixed):
    table = text.table(mixed)
    assert heads(table) == [
        ("", "variant"), ("", "verdict"), ("", "ratio"), ("", "time per call"),
        ("95% interval", "of the ratio"), ("95% interval", "of the time"),
        ("", "cold start"), ("", "pays after"),
    ]  # fmt: skip
    assert [column.left for column in table.columns] == [True, True, *[False] * 6]
    assert cells(table, "eager")[:5] == ["eager", "baseline", "1", "1.00 ms", ""]
    verdicts = [cells(table, label)[1] for label in ("compiled", "slow", "<twin>")]
    assert verdicts == ["▲ faster", "▼ slower", "= same"]
    assert re.fullmatch(r"0\.\d+ – 0\.\d+", cells(table, "slow")[4])
    assert re.fullmatch(r"2\.\d+ ms – 2\.\d+ ms", cells(table, "slow")[5])


def test_never_not_known_and_a_number_are_three_marks(mixed):
    noisy = {"open": {"times": comparison({"x": 1.02e-3}, noise=0.2)["x"].times}}
    c = comparison({**TIMES, "open": 1.02e-3}, first={"compiled": 1.0}, changes=noisy)
    assert c.verdict("open") == "undecided"
    marks = [cells(text.table(c), label)[-1] for label in ("eager", "slow", "open")]
    assert marks == ["", "∞", "?"]
    assert re.fullmatch(r"\d,\d{3}", cells(text.table(c), "compiled")[-1])
    assert "\n∞: its cold start never pays, for it is not faster.\n" in str(c)
    assert "\n?: not known, for the verdict is undecided.\n" in str(c)
    assert "\n?: " not in str(mixed)


def test_columns_that_say_nothing_are_left_out():
    plain = comparison({"eager": 1e-3, "b": 2e-3})
    assert heads(text.table(plain))[-1][1] == "of the time"
    assert "∞" not in str(plain)
    assert "cold start" not in str(comparison(TIMES, first={"slow": 2.4e-2}))
    assert "cold start" in str(comparison(TIMES, first={"slow": 2.6e-2}))


def test_builds_and_memory_have_columns_where_they_are_known():
    memory = {"peak_bytes": 3 << 20, "host_peak_bytes": 5 << 20}
    changes = {"compiled": {"build_seconds": 12.0, "load_seconds": 0.5, **memory},
               "slow": {"host_peak_bytes": 4096}, "<twin>": {"host_peak_bytes": 0}}  # fmt: skip
    c = comparison(TIMES, changes=changes)
    table = text.table(c)
    names = [head for _group, head in heads(table)]
    row = dict(zip(names, cells(table, "compiled"), strict=True))
    assert [row["build"], row["cold start"]] == ["12.0 s", "500 ms"]
    assert [row["peak memory, device"], row["peak memory, host"]] == ["3.00 MiB", "5.00 MiB"]
    assert [cells(table, label)[-1] for label in ("slow", "<twin>")] == ["4.00 KiB", "0 MiB"]
    eager = dict(zip(names, cells(table, "eager"), strict=True))
    assert [eager["build"], eager["cold start"]] == ["", "1.00 ms"]
    assert [eager["peak memory, device"], eager["peak memory, host"]] == ["", ""]
    assert "Built ahead in 12.0 s. Loaded in 500 ms.\n" in str(c["compiled"])
    assert "pays after” counts" in str(c)


def test_two_clocks_have_a_group_of_columns_and_sentences_each():
    """As work on an accelerator, or MXNet's: a stream takes less time than calls waited for."""
    c = comparison(TIMES, {"eager": 8e-4, "compiled": 1e-4, "slow": 4e-4, "<twin>": 8e-4})
    table = text.table(c)
    assert heads(table)[1:7] == [
        (clock, head)
        for clock in ("latency", "throughput")
        for head in ("verdict", "ratio", "time")
    ]
    assert [column.left for column in table.columns[1:7]] == [True, False, False] * 2
    assert cells(table, "compiled")[3] == "500 µs"
    assert cells(table, "compiled")[6] == "100 µs"
    assert [cells(table, "slow")[at] for at in (1, 4)] == ["▼ slower", "▲ faster"]
    said = str(c).splitlines()
    latency = said.index("Latency, each call waited for:")
    throughput = said.index("Throughput, time per call in a stream of calls:")
    assert re.match(
        r"compiled is (2\.0|1\.99).*It pays from the first call on\.", said[latency + 1]
    )
    assert re.fullmatch(r"compiled is (8\.0|7\.9).* to \d\.\d\d\)\.", said[throughput + 1])
    assert re.match(r"slow takes 2\.5", said[latency + 2])
    assert re.match(r"slow is (2\.0|1\.99)", said[throughput + 2])


def test_a_device_clock_that_a_reference_lacks():
    def timed(seconds, device):
        return {"times": Samples((seconds,) * 9, None, (device,) * 9 if device else None)}

    changes = {"eager": timed(1e-3, 5e-4), "b": timed(5e-4, 1e-4), "C": timed(1e-4, None)}
    times = dict.fromkeys(changes, 1e-3)
    again = Samples((1e-3,) * 9, None, (5e-4,) * 9)
    c = comparison(times, changes=changes, rounds=9, references=("C",), again=again)
    assert c.clocks == ("latency", "device")
    table = text.table(c)
    assert heads(table)[4] == ("device time", "verdict")
    assert heads(table)[1] == ("time per call", "verdict")
    assert cells(table, "C")[1:] == ["reference", "10.0", "100 µs", "", "?", "?"]
    assert cells(table, "b")[4:] == ["▲ faster", "5.00", "100 µs"]
    before, device = str(c).split("Device time, per call in a stream of calls:\n")
    assert "\nTime per call:\n" in before
    assert "b is 5.00 times as fast" in device
    assert "C is" not in device
    assert str(c["b"]).splitlines()[0].endswith(" of warm-up. On the device: 100 µs.")


def test_references_stand_last_and_are_never_the_winner():
    c = comparison({"eager": 1e-3, "C": 1e-5, "b": 9e-4}, references=("C",), first={"b": 0.1})
    table = text.table(c)
    assert [row.cells[0] for row in table.rows] == ["eager", "b", "C"]
    assert cells(table, "C")[1] == "reference"
    assert cells(table, "C")[-1] == ""
    assert [row.best for row in table.rows] == [False, True, False]
    reference = next(line for line in str(c).splitlines() if line.startswith("C is"))
    assert reference.endswith(").")


def test_a_busy_machine_is_said_above_the_table():
    c = comparison({"eager": 1e-3, "b": 5e-4}, env=BUSY)
    first = str(c).splitlines()[0]
    assert first.startswith("⚠ This machine was busy (load 15 on 2 cores, noise floor 0.")
    assert "★" not in str(c)
    assert "Use b" not in str(c)
    assert text.comparison(c).advice == ""
    assert "⚠" not in str(comparison({"eager": 1e-3, "b": 5e-4}))
    unknown = comparison({"eager": 1e-3, "b": 5e-4}, noise=0.9, env=replace(ENV, load=None))
    assert str(unknown).startswith("⚠ This machine was busy (noise floor ")


def test_a_busy_sweep_says_the_worst():
    quiet = comparison({"a": 1e-3})
    loads = [comparison({"a": 1e-3}, env=replace(ENV, load=load)) for load in (3.0, 9.0)]
    s = Sweep((1, 2, 3), (1, 2, 3), (loads[0], loads[1], quiet))
    assert "load 9.0 on 2 cores" in str(s).splitlines()[0]


@pytest.mark.parametrize(
    ("rounds", "confidence"), [(7, "95%"), (8, "99%"), (19, "99%"), (20, "95%")]
)
@pytest.mark.parametrize("b", [5e-4, 2e-3, 1e-3, 1.03e-3])
def test_an_interval_is_said_to_be_what_it_is(rounds, confidence, b):
    c = comparison({"a": 1e-3, "b": b}, rounds=rounds)
    assert re.findall(r"\((\d+%) interval ", str(c)) == [confidence]
    intervals = [group for group, _ in heads(text.table(c)) if "interval" in group]
    assert intervals == [f"{confidence} interval", "95% interval"]
    with pytest.raises(ClaimError, match=rf"\({confidence} interval .* in {rounds} rounds"):
        c.claim("b", "faster", at_least=3)


def test_few_rounds_give_no_interval_and_the_limit_that_would_do():
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=5, limit_needed=33.3)
    said = str(c)
    assert "∞" not in said
    assert "fewer than 6 rounds give no interval. Measure again with a time_limit of" in said
    assert "at least 33.3 s." in said
    assert "(95% interval of the ratio ? to ?, noise floor ?)" in said
    assert cells(text.table(c), "b")[4:] == ["?", "?"]
    assert "5 rounds; noise floor ?." in said
    stopped = str(comparison({"a": 1e-3, "b": 5e-4}, rounds=1, stopped="interrupted"))
    assert "fewer than 6 rounds give no interval.\n" in stopped
    assert "\nIt was interrupted; this is what had been measured.\n1 round; " in stopped
    assert "fewer than" not in str(comparison({"a": 1e-3, "b": 5e-4}, rounds=6))


def test_a_ratio_that_is_not_the_quotient_of_the_times_is_explained():
    ramp = tuple(1e-3 * (1 + i) for i in range(30))
    other = tuple(time / (1.2 if i < 14 else 2.4) for i, time in enumerate(ramp))
    changes = {"a": {"times": Samples(ramp), "note": "odd"}, "b": {"times": Samples(other)}}
    c = comparison({"a": 1e-3, "b": 1e-3}, changes=changes, again=Samples(ramp))
    assert (c.skewed("a"), c.skewed("b")) == (False, True)
    assert "A ratio is the median of the ratios within each round" in str(c)
    assert "\na: odd.\n" in str(c)
    assert "A ratio is" not in str(comparison({"a": 1e-3, "b": 5e-4}))


def test_a_page_from_top_to_bottom():
    table = text.table(comparison({"a": 1e-3}))
    page = text.Page("busy", table, "<advice>", ["one", "two"], ["three", "four"], "<stamp>")
    assert str(page) == f"busy\n{table}\n\n<advice>\none\ntwo\nthree\nfour\n<stamp>"
    place = "<small>&lt;stamp&gt;</small>"
    said = "<div>one</div><div>two</div>"
    assert page.html() == (
        f"<div><strong>busy</strong></div>{table.html()}"
        f"<div><strong>&lt;advice&gt;</strong></div>{said}"
        f"<details><summary>Details</summary><div>three</div><div>four</div>{place}</details>"
    )
    bare = text.Page("", table, "", ["one", "two"], [], "<stamp>")
    assert str(bare) == f"{table}\n\none\ntwo\n<stamp>"
    assert bare.html() == f"{table.html()}{said}{place}"


def test_the_details_hold_the_sentences_and_the_stamp(mixed):
    page = text.comparison(mixed)
    assert page.busy == ""
    assert page.advice == mixed.advice
    assert page.details[0].startswith("compiled is ")
    assert page.stamp.endswith("seed 1")
    assert "&lt;twin&gt;" in page.html()


def test_a_measurement_is_one_line_and_a_stamp():
    c = comparison({"f": 1e-3, "g": 2e-3}, {"f": 5e-4, "g": 2e-3}, first={"f": 1.0})
    line, stamp = str(c["f"]).splitlines()
    assert re.match(r"f: 1\.00 ms per call \(95% interval 99\d µs to 1\.00 ms\); first", line)
    assert line.endswith(
        "; first call 1.00 s; 3 calls of warm-up. In a stream of calls: 500 µs per call."
    )
    assert stamp.startswith("2026-11-21 · Python")
    few = comparison({"f": 1e-3}, rounds=3)["f"]
    assert "(95% interval ? to ?)" in str(few)
    assert "stream" not in str(few)


def test_a_sweep_says_at_which_sizes_what_holds():
    up = sweep([8, 16, 32, 64], {"eager": [1e-3] * 4, "b": [6e-3, 2e-3, 1e-3, 5e-4]})
    assert str(up).splitlines()[-4:-1] == [
        "b is slower than eager at 8 – 16.",
        "b and eager take the same time at 32.",
        "b is faster than eager at 64.",
    ]
    ends = sweep([1, 2, 4], {"eager": [1e-3] * 3, "b": [5e-4, 2e-3, 5e-4], "c": [9e-3] * 3})
    assert str(ends).splitlines()[-4:-1] == [
        "b is faster than eager at 1; 4.",
        "b is slower than eager at 2.",
        "c is slower than eager at every size.",
    ]
    noisy = sweep([1, 2], {"eager": [1e-3] * 2, "b": [1.02e-3] * 2}, noise=0.1)
    assert "It is undecided at every size whether b is faster than eager." in str(noisy)


def test_a_sweep_has_a_row_a_size_and_signs():
    s = sweep([8, 16.5], {"eager": [1e-3] * 2, "b": [5e-4, 2e-3]})
    assert heads(text.sweep_table(s)) == [("", "work"), ("", "eager"), ("", "b")]
    rows = [row.cells for row in text.sweep_table(s).rows]
    assert [row[:2] for row in rows] == [["8", "1.00 ms"], ["16.50", "1.00 ms"]]
    assert re.fullmatch(r"500 µs \((2\.0\d|1\.99)× ▲\)", rows[0][2])
    assert re.fullmatch(r"2.00 ms \(0\.\d+× ▼\)", rows[1][2])
    page = text.sweep(s)
    assert (page.advice, page.details) == ("", [])
    assert page.remarks[0] == "▲ faster; ▼ slower; = same; ? undecided"
    assert page.stamp.endswith("seed 1")
    alone = sweep([8], {"eager": [1e-3], "b": [5e-4]})
    assert "\nb is faster than eager at every size.\n" in str(alone)


def test_a_variant_that_runs_at_some_sizes():
    one = comparison({"eager": 1e-3, "b": 5e-4})
    other = comparison({"eager": 1e-3}, unavailable={"b": "too large."})
    s = Sweep((1, 2), (1, 2), (one, other))
    assert text.sweep_table(s).rows[1].cells[2] == "–"
    assert str(s).splitlines()[-3:-1] == [
        "b is faster than eager at 1.",
        "b was not run: too large.",
    ]


def test_a_sweep_with_two_clocks_has_a_group_each():
    points = [comparison({"a": 1e-3, "b": 5e-4}, {"a": 5e-4, "b": 1e-3}) for _ in range(2)]
    s = Sweep((1, 2), (1, 2), tuple(points))
    table = text.sweep_table(s)
    assert [column.left for column in table.columns] == [True, False, False, False, False]
    assert re.fullmatch(r"500 µs \((2\.0\d|1\.99)× ▲\)", table.rows[0].cells[2])
    assert table.rows[0].cells[3] == "500 µs"
    assert re.fullmatch(r"1\.00 ms \((0\.50\d|0\.499)× ▼\)", table.rows[0].cells[4])
    assert heads(table)[1:] == [
        ("latency", "a"), ("latency", "b"), ("throughput", "a"), ("throughput", "b"),
    ]  # fmt: skip
    assert str(s).splitlines()[-5:-1] == [
        "Latency, each call waited for:",
        "b is faster than a at every size.",
        "Throughput, time per call in a stream of calls:",
        "b is slower than a at every size.",
    ]
