"""What is said of results, in every language."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from by_hand import BUSY, ENV, comparison, sweep

from d2lhybrid import i18n
from d2lhybrid.report import text
from d2lhybrid.report.records import Samples, Sweep

PACKAGE = Path(i18n.__file__).parent
TIMES = {"eager": 1e-3, "compiled": 5e-4, "slow": 2.5e-3, "<twin>": 1e-3}


@pytest.fixture
def mixed():
    return comparison(
        TIMES,
        first={"compiled": 1.0},
        unavailable={
            "graphs": "it rests on CUDA graphs, and there is no CUDA device",
            "native": "Found no compiler. Install one.",
        },
    )


@pytest.fixture
def undecided():
    return comparison({"a": 1e-2, "b": 1.02e-2}, noise=0.1, stopped="limit")


@pytest.fixture
def queued():
    """As work on an accelerator, or MXNet's: a stream takes less time than calls waited for."""
    stream = {"eager": 8e-4, "compiled": 1e-4, "slow": 2.5e-3, "<twin>": 8e-4}
    return comparison(TIMES, stream)


def cells(table, label):
    return next(row.cells for row in table.rows if row.cells[0] == label)


def heads(table):
    return [(column.group, column.head) for column in table.columns]


def test_every_verdict_has_its_sentence_with_numbers(mixed, undecided):
    said = text.text(mixed).splitlines()
    assert any(
        re.fullmatch(
            r"compiled is (2\.0\d|1\.99) times as fast as eager \(95% interval [12]\.\d+ to "
            r"2\.\d+\)\. Its cold start has paid for itself after (2,0\d\d|1,99\d) calls\.",
            line,
        )
        for line in said
    )
    assert any(
        line.startswith("<twin> and eager take the same time to within 2.0%") for line in said
    )
    said = text.text(undecided)
    assert "It is undecided whether b is faster than a (95% interval of the ratio 0." in said
    assert "The time limit came first." in said
    assert "30 rounds; noise floor " in said


def test_so_many_times_as_long_is_the_ratio_turned_over(mixed):
    estimate, low, high = mixed.ratio("slow")
    said = next(line for line in text.text(mixed).splitlines() if line.startswith("slow takes"))
    numbers = [float(found) for found in re.findall(r"\d+\.\d+", said)]
    assert numbers == pytest.approx([1 / estimate, 1 / high, 1 / low], rel=5e-3)
    assert numbers[1] < numbers[0] < numbers[2]
    assert numbers[0] == pytest.approx(2.5, rel=0.01)


def test_the_winner_is_marked_and_advised(mixed):
    said = text.text(mixed)
    assert "compiled ★" in said
    assert said.count("★") == 1
    assert "\nUse compiled: it is " in said
    html = text.html(mixed)
    assert html.index("<strong>Use compiled") > html.index("</table>")


def test_what_was_not_run_is_a_row_with_its_reason(mixed):
    table = text.table(mixed)
    notes = {row.cells[0]: row.note for row in table.rows if row.note}
    assert notes == {
        "graphs": "Not run: it rests on CUDA graphs, and there is no CUDA device.",
        "native": "Not run: Found no compiler. Install one.",
    }
    assert "Not run: Found no compiler." in text.html(mixed)


def test_verdict_and_ratio_stand_beside_the_variant(mixed):
    table = text.table(mixed)
    assert [head for _group, head in heads(table)] == [
        "variant", "verdict", "ratio", "time per call", "of the ratio", "of the time",
        "cold start", "pays after",
    ]  # fmt: skip
    assert cells(table, "eager")[:4] == ["eager", "baseline", "1", "1.00 ms"]
    assert cells(table, "eager")[4] == ""
    assert cells(table, "compiled")[1] == "▲ faster"
    assert cells(table, "slow")[1] == "▼ slower"
    assert cells(table, "<twin>")[1] == "= same"
    assert re.fullmatch(r"0\.\d+ – 0\.\d+", cells(table, "slow")[4])
    assert re.fullmatch(r"2\.\d+ ms – 2\.\d+ ms", cells(table, "slow")[5])


def test_never_not_known_and_a_number_are_three_marks(mixed):
    times = {**TIMES, "open": 1.02e-3}
    noisy = {"open": {"times": comparison({"x": 1.02e-3}, noise=0.2)["x"].times}}
    c = comparison(times, first={"compiled": 1.0}, changes=noisy)
    assert c.verdict("open") == "undecided"
    table = text.table(c)
    assert cells(table, "eager")[-1] == ""
    assert re.fullmatch(r"\d,\d{3}", cells(table, "compiled")[-1])
    assert cells(table, "slow")[-1] == "∞"
    assert cells(table, "open")[-1] == "?"
    said = text.text(c)
    assert "\n∞: its cold start never pays, for it is not faster.\n" in said
    assert "\n?: not known, for the verdict is undecided.\n" in said
    assert "\n?: " not in text.text(mixed)


def test_columns_that_say_nothing_are_left_out():
    table = text.table(comparison({"eager": 1e-3, "b": 2e-3}))
    assert [head for _group, head in heads(table)][-1] == "of the time"
    assert "∞" not in text.text(comparison({"eager": 1e-3, "b": 2e-3}))
    assert "cold start" not in text.text(comparison(TIMES, first={"slow": 2.4e-2}))
    assert "cold start" in text.text(comparison(TIMES, first={"slow": 2.6e-2}))


def test_builds_and_memory_have_columns_where_they_are_known():
    changes = {"compiled": {"build_seconds": 12.0, "load_seconds": 0.5, "peak_bytes": 3 << 20}}
    c = comparison(TIMES, changes=changes)
    table = text.table(c)
    names = [head for _group, head in heads(table)]
    row = dict(zip(names, cells(table, "compiled"), strict=True))
    assert row["build"] == "12.0 s"
    assert row["cold start"] == "500 ms"
    assert row["peak memory"] == "3.00 MiB"
    assert dict(zip(names, cells(table, "eager"), strict=True))["build"] == ""
    assert "Built ahead" in text.measurement(c["compiled"])
    assert "pays after” counts" in text.text(c)


def test_two_clocks_have_a_group_of_columns_and_sentences_each(queued):
    table = text.table(queued)
    assert heads(table)[1:7] == [
        (clock, head)
        for clock in ("latency", "throughput")
        for head in ("verdict", "ratio", "time")
    ]
    assert cells(table, "compiled")[3] == "500 µs"
    assert cells(table, "compiled")[6] == "100 µs"
    assert cells(table, "slow")[4] == "▼ slower"
    said = text.text(queued).splitlines()
    latency = said.index("Latency, each call waited for:")
    throughput = said.index("Throughput, time per call in a stream of calls:")
    assert re.match(r"compiled is (2\.0|1\.99)", said[latency + 1])
    assert re.match(r"compiled is (8\.0|7\.9)", said[throughput + 1])
    assert "cold start" not in said[throughput + 1]


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
    said = text.text(c)
    assert "Time per call:\n" in said
    device = said[said.index("Device time, per call in a stream of calls:") :]
    assert "b is 5.00 times as fast" in device
    assert "C is" not in device
    assert "On the device: 100 µs." in text.measurement(c["b"])


def test_references_stand_last_and_are_never_the_winner():
    c = comparison({"eager": 1e-3, "C": 1e-5, "b": 9e-4}, references=("C",), first={"b": 0.1})
    table = text.table(c)
    assert [row.cells[0] for row in table.rows] == ["eager", "b", "C"]
    assert cells(table, "C")[1] == "reference"
    assert cells(table, "C")[-1] == ""
    assert [row.best for row in table.rows] == [False, True, False]
    reference = next(line for line in text.text(c).splitlines() if line.startswith("C is"))
    assert "cold start" not in reference
    assert "first call" not in reference


def test_a_busy_machine_is_said_above_the_table():
    c = comparison({"eager": 1e-3, "b": 5e-4}, env=BUSY)
    first = text.text(c).splitlines()[0]
    assert first.startswith("⚠ This machine was busy (load 15 on 2 cores, noise floor 0.")
    assert "★" not in text.text(c)
    assert "Use b" not in text.text(c)
    html = text.html(c)
    assert html.startswith("<div><strong>⚠ This machine was busy")
    assert "⚠" not in text.text(comparison({"eager": 1e-3, "b": 5e-4}))
    unknown = comparison({"eager": 1e-3, "b": 5e-4}, noise=0.9, env=replace(ENV, load=None))
    assert text.text(unknown).startswith("⚠ This machine was busy (noise floor ")


def test_a_busy_sweep_says_the_worst():
    quiet = comparison({"a": 1e-3})
    loads = [comparison({"a": 1e-3}, env=replace(ENV, load=load)) for load in (3.0, 9.0)]
    s = Sweep((1, 2, 3), (1, 2, 3), (loads[0], loads[1], quiet))
    assert "load 9.0 on 2 cores" in text.sweep_text(s).splitlines()[0]
    assert "load 9.0 on 2 cores" in text.sweep_html(s)


def test_few_rounds_give_no_interval_and_the_limit_that_would_do():
    c = comparison({"a": 1e-3, "b": 5e-4}, rounds=5, limit_needed=33.3)
    said = text.text(c)
    assert "∞" not in said
    assert "at least 33.3 s" in said
    assert "fewer than 6 rounds" in said
    assert "(95% interval of the ratio ? to ?, noise floor ?)" in said
    assert cells(text.table(c), "b")[4:] == ["?", "?"]
    assert "5 rounds; noise floor ?." in said
    stopped = text.text(comparison({"a": 1e-3, "b": 5e-4}, rounds=1, stopped="interrupted"))
    assert "fewer than 6 rounds give no interval." in stopped
    assert "time_limit of" not in stopped
    assert "It was interrupted" in stopped
    assert "fewer than" not in text.text(comparison({"a": 1e-3, "b": 5e-4}, rounds=6))


def test_a_ratio_that_is_not_the_quotient_of_the_times_is_explained():
    ramp = tuple(1e-3 * (1 + i) for i in range(30))
    other = tuple(time / (1.2 if i < 14 else 2.4) for i, time in enumerate(ramp))
    changes = {"a": {"times": Samples(ramp)}, "b": {"times": Samples(other)}}
    c = comparison({"a": 1e-3, "b": 1e-3}, changes=changes, again=Samples(ramp))
    assert c.skewed("b")
    assert "A ratio is the median of the ratios within each round" in text.text(c)
    assert "A ratio is" not in text.text(comparison({"a": 1e-3, "b": 5e-4}))


def test_html_has_the_same_sentences_folded_and_is_escaped(mixed):
    html = text.html(mixed)
    assert "&lt;twin&gt;" in html
    assert "<twin>" not in html
    assert "<details><summary>Details</summary><div>compiled is " in html
    assert html.index("seed 1") > html.index("<details>")


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("pt", ["× a velocidade de", "mais rápida", "nível de ruído", "1,00 ms"]),
        ("zh", ["的速度是", "更快", "噪声基底", "没有 CUDA 设备"]),
        ("ja", ["倍の速さです", "速い", "ノイズフロア", "CUDAデバイスがありません"]),
    ],
)
def test_each_language(mixed, language, words):
    i18n.set_language(language)
    said = text.text(mixed)
    for word in words:
        assert word in said


def test_a_measurement_is_one_line_and_a_stamp():
    c = comparison({"f": 1e-3, "g": 2e-3}, {"f": 5e-4, "g": 2e-3}, first={"f": 1.0})
    said = text.measurement(c["f"])
    assert said.startswith("f: 1.00 ms per call (95% interval ")
    assert "first call 1.00 s; 3 calls of warm-up. In a stream of calls: 500 µs per call." in said
    assert said.count("\n") == 1
    few = comparison({"f": 1e-3}, rounds=3)["f"]
    assert "(95% interval ? to ?)" in text.measurement(few)
    assert "stream" not in text.measurement(few)


def test_a_sweep_says_at_which_sizes_what_holds():
    up = sweep([8, 16, 32, 64], {"eager": [1e-3] * 4, "b": [6e-3, 2e-3, 1e-3, 5e-4]})
    assert text.sweep_text(up).splitlines()[-4:-1] == [
        "b is slower than eager at 8 – 16.",
        "b and eager take the same time at 32.",
        "b is faster than eager at 64.",
    ]
    ends = sweep([1, 2, 4], {"eager": [1e-3] * 3, "b": [5e-4, 2e-3, 5e-4], "c": [9e-3] * 3})
    said = text.sweep_text(ends)
    assert "b is faster than eager at 1; 4.\n" in said
    assert "c is slower than eager at every size.\n" in said
    assert "not known" not in said
    noisy = sweep([1, 2], {"eager": [1e-3] * 2, "b": [1.02e-3] * 2}, noise=0.1)
    assert "It is undecided at every size whether b is faster than eager." in text.sweep_text(noisy)


def test_a_sweep_has_a_row_a_size_and_signs():
    s = sweep([8, 16.5], {"eager": [1e-3] * 2, "b": [5e-4, 2e-3]}, unavailable={"x": "too old"})
    rows = [row.cells for row in text.sweep_table(s).rows]
    assert [row[0] for row in rows] == ["8", "16.50"]
    assert [row[1] for row in rows] == ["1.00 ms", "1.00 ms"]
    assert re.fullmatch(r"500 µs \((2\.0\d|1\.99)× ▲\)", rows[0][2])
    assert re.fullmatch(r"2.00 ms \(0\.\d+× ▼\)", rows[1][2])
    said = text.sweep_text(s)
    assert "▲ faster; ▼ slower; = same; ? undecided" in said
    assert "x was not run: too old." in said
    assert "<table>" in text.sweep_html(s)
    assert "▲ faster" in text.sweep_html(s)


def test_a_variant_that_runs_at_some_sizes():
    one = comparison({"eager": 1e-3, "b": 5e-4})
    other = comparison({"eager": 1e-3}, unavailable={"b": "too large"})
    s = Sweep((1, 2), (1, 2), (one, other))
    assert text.sweep_table(s).rows[1].cells[2] == "–"
    said = text.sweep_text(s)
    assert "b is faster than eager at 1." in said
    assert "b was not run: too large." in said


def test_a_sweep_with_two_clocks_has_a_group_each():
    points = [comparison({"a": 1e-3, "b": 5e-4}, {"a": 5e-4, "b": 1e-3}) for _ in range(2)]
    s = Sweep((1, 2), (1, 2), tuple(points))
    assert heads(text.sweep_table(s))[1:] == [
        ("latency", "a"), ("latency", "b"), ("throughput", "a"), ("throughput", "b"),
    ]  # fmt: skip
    said = text.sweep_text(s)
    assert said.index("b is faster than a at every size.") < said.index("Throughput")
    assert said.index("b is slower than a at every size.") > said.index("Throughput")


def test_the_benchmark_line_is_the_same_in_every_language():
    code = "from d2lhybrid import Benchmark\nwith Benchmark('x'): pass"
    env = {**os.environ, "D2LHYBRID_LANGUAGE": "ja"}
    root = PACKAGE.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, cwd=root)
    assert done.stdout.startswith(b"x: 0.")
    assert done.stdout.endswith(b" sec\n")
