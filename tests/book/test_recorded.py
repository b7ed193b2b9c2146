"""What was recorded on a GPU: boxes below cells, pictures of networks, and what stays as it was."""

import json
import re
from pathlib import Path

import pytest
from book_samples import FRONT, cell, change_entries, po
from by_hand import comparison
from moved import A_FEW_LAST_BITS, BY_LAST_BITS, BY_ONE_PERCENT, copy_moved
from recorded_by_hand import network, ran, record, row

from book.boxes import drawn, is_recorded
from book.build import build
from book.check import check
from book.files import Key
from book.lengths import lengths
from book.parse import load
from book.recorded import read_recorded

SETUP, CODE = "has_gpu = False", 'print("Loop returned" if has_gpu else "Left out.", "Loop")'
NETWORKS = """\
:::{recorded} networks
resnet 1 inference float32 | ResNet, batch 1
resnet 32 inference float32 | ResNet, batch 32
encoder 1 training float32 | encoder, a step
:::
"""
CHAPTER = (
    f"{FRONT}# Title\n\nBefore.\n\n{cell(SETUP)}"
    + cell(CODE, ':tags: [gpu]\n:labels: ["Loop", "Loop returned", "Left out."]\n')
    + f"Between.\n\n{NETWORKS}\nAfter.\n"
)
RECORDED = Path(__file__).parents[2] / "recorded/nvidia-h100"
PICTURE = Path("notebooks/figures/recorded-a-1-pytorch.en.svg")
HEAD = "**{}NVIDIA H100 · PyTorch 2.11.0 · CUDA 13.0 · 2026-11-26**"


@pytest.fixture
def root(project):
    return project(a=CHAPTER)


def cells(root, language="en", framework="pytorch"):
    return build(root).notebooks[Key(language, framework, "a")].cells


def boxes(root, language="en"):
    return [one.source for one in cells(root, language) if is_recorded(one.metadata)]


def test_without_a_recording_there_is_nothing_and_other_cells_are_the_same_with_one(root):
    before = build(root)
    assert not boxes(root)
    assert not [path for path in before.files if "recorded" in path.name]
    record(root, "cells", [ran(SETUP, number=1, gpu=False), ran(CODE, "Loop returned: 1 s\n")])
    record(root, "networks", [network("resnet", 1, row("eager", 2e-3), row("jit", 1e-3, 2.0))])
    after = build(root)
    for key, notebook in before.notebooks.items():
        kept = [one for one in after.notebooks[key].cells if not is_recorded(one.metadata)]
        assert kept == notebook.cells
        assert len(after.notebooks[key].cells) - len(kept) == 2 * (key.framework == "pytorch")
    assert next(lengths(load(root / "chapters"))).words == 4
    found = cells(root)
    at = next(number for number, one in enumerate(found) if one.source == CODE)
    assert found[at + 1].source == f"> {HEAD.format('Recorded on a GPU: ')}\n>\n" + (
        "> ```text\n> Loop returned: 1 s\n> ```"
    )
    assert found[at + 1].metadata == {"tags": ["recorded"]}


def test_boxes_are_in_the_language_of_the_notebook(root, told):
    told("messages", "--start", "zh")
    labels = {"Loop": "循环", "Loop returned": "循环返回", "ResNet, batch 1": "残差网络，批量 1"}
    others = {"Title": "题名", "Before.": "前。", "Between.": "中。", "After.": "后。"}
    others |= {"Left out.": "略过。", "ResNet, batch 32": "残差网络，批量 32"}
    others |= {"encoder, a step": "编码器，一步"}
    change_entries(po(root, "zh"), labels | others)
    made = comparison({"eager": 1e-3, "Loop": 5e-4}, {"eager": 9e-4, "Loop": 1e-4})
    shown = {"kind": "comparison", "json": json.loads(made.to_json())}
    record(root, "cells", [ran(CODE, "Loop returned, Loops: `1` s\n", shown)])
    rows = row("eager", 2e-3), row("Loop", 1e-3, 2.0)
    record(root, "networks", [network("resnet", 1, *rows)])
    box, picture = boxes(root, "zh")
    assert HEAD.format("GPU 上的记录：") in box
    assert "> 循环返回, Loops: `1` s\n" in box
    assert "> | 变体 | 延迟 | 吞吐量 |\n> | --- | ---: | ---: |\n" in box
    assert re.search(r"\n> \| 循环 \| 500\sµs \(2\S+×\s▲\) \| 100\sµs \(\S+×\s▲\) \|", box)
    assert "▲ 更快" in box
    assert "](../../figures/recorded-a-1-pytorch.zh.svg)" in picture
    assert "残差网络，批量 1（" in picture or "残差网络，批量 1 (" in picture
    assert "循环 2.00×" in picture
    ids = [[one.id for one in cells(root, code)] for code in ("en", "zh")]
    assert ids[0] == ids[1]
    assert len({*ids[0]}) == len(ids[0])


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        (CODE, CODE + "\nprint(1)", True),
        (SETUP, "has_gpu = 0", True),
        ("After.", "Much later.", False),
    ],
)
def test_a_recording_of_other_code_says_so(root, old, new, changed):
    outputs = [ran(SETUP, number=1, gpu=False), ran(CODE, "Loop returned: 1 s\n")]
    record(root, "cells", [*outputs, ran("print(3)", number=3, gpu=False)])
    chapter = root / "chapters/a.md"
    chapter.write_text(chapter.read_text().replace(old, new))
    (box,) = boxes(root)
    assert ("The code has changed since" in box) == changed
    assert "Loop returned: 1 s" in box


def test_a_cell_gets_no_other_cells_recording(root):
    record(root, "cells", [ran("torch.cuda.Event(enable_timing=True)", "5 ms")])
    assert not boxes(root)
    chapter = root / "chapters/a.md"
    twin = CODE.replace("Left out.", "None.")
    chapter.write_text(chapter.read_text() + "\n" + cell(twin, ":tags: [gpu]\n"))
    record(root, "cells", [ran(CODE, "first")])
    assert len(boxes(root)) == 1


def test_the_newest_recording_counts(root):
    record(root, "cells", [ran(CODE, "old")], "h100")
    record(root, "cells", [ran(CODE, "new")], "b200", date="2027-01-02", device="NVIDIA B200")
    (box,) = boxes(root)
    assert "NVIDIA B200" in box.splitlines()[0]
    assert "new" in box


def test_rows_errors_and_what_markdown_would_take_for_its_own(root):
    rows = [row("eager", 2e-3, cold_seconds=1.5), row("a|b*c*", 1e-3, 2.0, "undecided")]
    rows += [row("old", 4e-3, 0.5, "slower", deprecated=True)]
    error = "ValueError: <no> `x`"
    record(root, "cells", [ran(CODE, "a\n```\nb\n", {"kind": "rows", "rows": rows}, error=error)])
    box = boxes(root)[0].replace("\u00a0", "~")
    assert "> ````text\n> a\n> ```\n> b\n> ````\n" in box
    assert "> | variant | time per call | cold start |\n" in box
    assert "> | eager | 2.00~ms | 1.50~s |\n" in box
    assert r"> | a\|b\*c\* | 1.00~ms (2.00×~?) |  |" in box
    assert "> | old (deprecated) | 4.00~ms (0.500×~▼) |  |" in box
    assert "? undecided" in box
    assert box.endswith(f"> ```text\n> {error}\n> ```")


def test_the_picture_of_networks_has_one_bar_for_all_processes(root):
    found = [(2.0, "faster", "faster"), (4.0, "faster", "undecided"), (3.0, "faster", "faster")]
    record(root, "networks", [
        network("resnet", 1, row("eager", ratio / 1e3), row("jit", 1e-3, ratio, one),
                row("graph", 5e-4, 2 * ratio, other), process=number)
        for number, (ratio, one, other) in enumerate(found)
    ] + [
        network("encoder", 1, row("eager", 9e-3), row("jit", 3e-3, 3.0, low=None, high=None),
                task="training"),
        {"network": "mlp", "batch": 1, "dtype": "float32", "task": "inference", "process": 1,
         "seconds": 0.1, "settings": {}, "error": "out of memory"},
    ])  # fmt: skip
    (box,) = boxes(root)
    assert box.startswith(f"> {HEAD.format('Recorded on a GPU: ')}\n>\n> ![Bars that show")
    said = "ResNet, batch 1 (eager 3.00 ms): jit 3.00× (1.00 ms), graph 6.00× (500 µs, undecided); "
    assert said + "encoder, a step (eager 9.00 ms): jit 3.00× (3.00 ms)." in box
    assert "ResNet, batch 32" not in box  # not recorded
    assert box.count("\n> - ") == 1
    assert "\n> - ResNet, batch 1, 3 processes: jit 2.00 – 4.00; graph 4.00 – 8.00" in box


def test_pictures_are_the_same_every_time_and_small(root):
    record(root, "networks", [network("resnet", 1, row("eager", 2e-3), row("jit", 1e-3, 2.0))])
    first = build(root).files[PICTURE]
    drawn.cache_clear()
    assert build(root).files[PICTURE] == first
    assert first.startswith(b"<?xml")
    assert len(first) < 60_000
    assert b"<dc:date>" not in first
    assert b"<text" not in first  # letters are shapes: no machine has other ones


def test_last_bits_of_a_recording_make_no_difference_and_one_percent_does(project, told):
    entries = json.loads((RECORDED / "cells-pytorch.json").read_text(encoding="utf-8"))["entries"]
    (source,) = [one["source"] for one in entries if "torch.cuda.graph(" in one["source"]]
    root = project(faster="".join([FRONT, "# Title\n\n", cell(source, ":tags: [gpu]\n"), NETWORKS]))
    recorded = root / "recorded/h100"
    copy_moved(RECORDED, recorded)
    told("build")
    before = check(root, build(root))  # that they were not executed
    (picture,) = (root / "notebooks/figures").glob("recorded-*")
    committed = picture.read_bytes()  # Matplotlib names parts of it by all bits of their places
    for factor in BY_LAST_BITS:
        copy_moved(RECORDED, recorded, factor)
        assert check(root, build(root)) == before
        assert told("build").out == ""
        assert picture.read_bytes() == committed
    copy_moved(RECORDED, recorded, BY_ONE_PERCENT)
    found = "\n".join(set(check(root, build(root))) - set(before))
    assert found.count("source differs from its chapter") == 2  # both boxes
    assert f"{picture.relative_to(root)}: differs from what the chapters make" in found
    assert told("build").out == "notebooks/en/pytorch/faster.ipynb\n"
    assert check(root, build(root)) == before


def test_one_percent_that_no_text_shows_is_seen_in_the_picture(root, told):
    def record_gain(ratio):
        rows = row("eager", 2e-3), row("jit", 1e-3, ratio, "undecided")
        record(root, "networks", [network("resnet", 1, *rows)])

    record_gain(1.0)
    told("build")
    before = check(root, build(root))
    record_gain(BY_ONE_PERCENT)
    assert "jit 1.01×" in boxes(root)[0]  # instead of 1.00, which rounding can do
    differs = f"{PICTURE}: differs from what the chapters make; run `make notebooks`."
    assert check(root, build(root)) == [*before, differs]


def test_a_figure_of_a_box_may_be_rounded_up_or_down(root, told):
    def record_eager(seconds, **changes):
        rows = {"kind": "rows", "rows": [row("eager", seconds)]}
        record(root, "cells", [ran(CODE, rows)], **changes)

    record_eager(1.125)
    told("build")
    before = check(root, build(root))
    assert "1.12\u00a0s" in boxes(root)[0]
    record_eager(1.125 + A_FEW_LAST_BITS)
    assert "1.13\u00a0s" in boxes(root)[0]
    assert check(root, build(root)) == before
    assert told("build").out == ""
    record_eager(1.125, versions={"torch": "2.11.0", "cuda": "13.1"})
    assert check(root, build(root)) != before


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("{recorded} networks", "{recorded} cells", "expected :::{recorded} networks; received"),
        ("resnet 1 inference", "resnet one inference", "expected a line such as 'resnet 1"),
        (" | ResNet, batch 1", "", "expected a line such as"),
        (re.search(r"resnet.*(?=:::)", NETWORKS, re.DOTALL)[0], "", "this {recorded} is empty"),
    ],
)
def test_what_is_wrong_with_the_directive(root, told, old, new, expected):
    chapter = root / "chapters/a.md"
    assert old in NETWORKS
    chapter.write_text(chapter.read_text().replace(old, new, 1))
    found = told("build", status=1).err
    assert re.search(rf"^chapters/a\.md:\d+: {re.escape(expected)}", found, re.MULTILINE), found


def test_recordings_of_the_collection_can_be_read():
    read_recorded(Path(__file__).parents[2])
