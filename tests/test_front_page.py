"""The figures of README, its translations and docs/findings.md, from measurements made up here."""

import re
import shutil
import sys

import by_hand
import front_page
import pytest
from front_page import FINDINGS, LAYOUT
from moved import A_FEW_LAST_BITS, BY_LAST_BITS, BY_ONE_PERCENT, copy_moved
from msgspec.structs import replace
from processes import ROOT

from book.languages import LANGUAGES
from book.measured import COMPILED, GRAPHS, Comparison, Row
from book.readme import MARKED
from d2lhybrid.experiments.join import join
from website.words import words

WAYS = {
    "pytorch": "torch.compile",
    "tensorflow": "concrete function XLA",
    "jax": "jit",
    "mxnet": "static_shape",
}


def compared(eager, **others):
    """What front pages show of a comparison, from the seconds of its calls."""
    rows = [Row("eager", "baseline", eager, 1.0)]
    for label, seconds in others.items():
        verdict = "faster" if seconds < eager else "slower"
        ratio = eager / seconds
        rows.append(Row(label, verdict, seconds, ratio, low=0.9 * ratio, high=1.1 * ratio))
    return Comparison("eager", tuple(rows), "X 86", "2026-01-02", processes=6)


@pytest.fixture
def found(monkeypatch):
    """What was measured, by network and framework: tests change it before they ask for figures."""
    made = {
        "resnet": {key: compared(28e-3, **{way: 2.5e-3}) for key, way in WAYS.items()},
        "encoder": {key: compared(8e-4, **{way: 7.9e-4}) for key, way in WAYS.items()},
        "mlp": {key: compared(40e-6, **{way: 20e-6}) for key, way in WAYS.items()},
        "resnet-32": {"pytorch": compared(40e-3, **{COMPILED: 20e-3, LAYOUT: 25e-3})},
    }
    made["resnet"]["pytorch"] = compared(1.95e-3, **{COMPILED: 1.5e-3})
    made["resnet"]["jax"] = compared(9e-3, **{WAYS["jax"]: 2e-3})
    made["mlp"]["pytorch"] = compared(40e-6, **{COMPILED: 80e-6})
    changed(made["mlp"], "mxnet", "static_shape", throughput_ratio=6.5)
    monkeypatch.setattr(front_page, "on_cpu", lambda: made)
    process = by_hand.comparison({"eager": 40e-3, COMPILED: 20e-3, LAYOUT: 25e-3})
    table = join([process] * 6, seed=1)
    monkeypatch.setattr(front_page, "read_finding", lambda _file: table)
    made["gpu"] = on_gpu()
    monkeypatch.setattr(front_page, "on_gpu", lambda: made["gpu"])
    return made


def changed(editions, framework, label, **fields):
    """Change fields of a framework's row."""
    comparison = editions[framework]
    rows = [replace(row, **fields) if row.label == label else row for row in comparison.rows]
    editions[framework] = replace(comparison, rows=tuple(rows))


def on_gpu(compiled="undecided", dense="slower"):
    """What PyTorch did on a GPU with the residual network and the dense layers, by the verdicts."""
    eager = Row("eager", "baseline", 5e-4, 1.0)
    residual = eager, Row(COMPILED, compiled, 5.2e-4, 0.96), Row(GRAPHS, "faster", 2e-4, 2.5)
    layers = eager, Row(GRAPHS, dense, 6.25e-4, 0.8)
    return {
        name: {"pytorch": Comparison("eager", rows, "GPU 9000", "2026-01-03")}
        for name, rows in {"resnet": residual, "mlp": layers}.items()
    }


def pages():
    """The pages with figures, as parameters, and their languages."""
    found = list(front_page.pages())
    assert [language for _path, language in found] == [*LANGUAGES, "en"]
    return [pytest.param(*each, id=each[0].name) for each in found]


@pytest.mark.parametrize(("path", "language"), pages())
def test_the_pages_take_their_figures_from_what_was_measured(found, path, language):
    changed(found["encoder"], "jax", "jit", verdict="undecided")
    made, behind = front_page.renewed(path.read_text(encoding="utf-8"), language)
    assert front_page.renewed(made, language) == (made, [])
    if path == ROOT / FINDINGS:
        assert "networks" in behind
        assert "**1.3×** (1.17 – 1.43)<br>1.95 → 1.5 ms<br>`torch.compile`" in made
        assert made.count("× ?**") == 1  # the undecided one
        assert "<!-- measured: gpu-graphs -->2.5<" in made
        assert "GPU 9000" in made
        return
    layout = "1,6" if language == "pt" else "1.6"
    assert f"<!-- measured: layout -->{layout}<" in made
    assert {"table", "layout"} <= {*behind}
    heads, best = {  # as the package shows them
        "en": (r"\| [\d.]+% interval in 6 processes \|", "| torch.compile ★ | ▲ faster | 2"),
        "pt": (
            r"\| intervalo de [\d,]+% em 6 processos \|",
            "| torch.compile ★ | ▲ mais rápida | 2",
        ),
        "zh": (r"\| [\d.]+% 区间 6 个进程 \|", "| torch.compile ★ | ▲ 更快 | 2"),
        "ja": (r"\| [\d.]+%信頼区間 6プロセス \|", "| torch.compile ★ | ▲ 速い | 2"),
    }[language]
    assert re.search(heads, made)
    assert best in made


def test_every_figure_is_on_an_english_page():
    texts = [
        path.read_text(encoding="utf-8")
        for path, language in front_page.pages()
        if language == "en"
    ]
    names = {match[2] for text in texts for match in MARKED.finditer(text)}
    assert names == front_page.figures("en").keys()


def contradict(found, sentence):
    """Change what was measured so that a sentence no longer follows."""
    if sentence == "A ratio depends":
        changed(found["resnet"], "jax", "jit", verdict="undecided")
    elif sentence == "The large ratios":
        found["resnet"]["jax"] = compared(28e-3, jit=9e-3)
    elif sentence == "Not every gain":
        changed(found["resnet-32"], "pytorch", LAYOUT, ratio=3.0)
    elif sentence == "The same compiler can slow":
        changed(found["mlp"], "pytorch", COMPILED, verdict="undecided")
    elif sentence == "On a GPU":
        found["gpu"] = on_gpu(dense="undecided")
    else:
        changed(found["mlp"], "mxnet", "static_shape", throughput_ratio=1.0)


@pytest.mark.parametrize(
    "sentence",
    [
        *("A ratio depends", "The large ratios", "Not every gain"),
        *("The same compiler can slow", "Two true answers", "On a GPU"),
    ],
)
def test_a_finding_that_no_longer_holds_is_refused(found, sentence):
    front_page.figures("en")
    contradict(found, sentence)
    with pytest.raises(front_page.FrontPageError, match=f"{sentence}.*Rewrite it"):
        front_page.figures("en")


def test_what_is_missing_is_named(found):
    with pytest.raises(front_page.FrontPageError, match="Expected marks of"):
        front_page.renewed("# Nothing measured here", "en")
    with pytest.raises(front_page.FrontPageError, match="Expected marks of"):
        front_page.renewed("<!-- measured: luck -->7<!-- end -->", "ja")
    found["mlp"]["jax"] = replace(found["mlp"]["jax"], processes=5)
    with pytest.raises(front_page.FrontPageError, match="6 processes"):
        front_page.figures("en")
    del found["encoder"]["jax"]
    with pytest.raises(front_page.FrontPageError, match=r"cpu/jax-encoder\.json.*make findings"):
        front_page.figures("en")


@pytest.mark.parametrize(("path", "language"), pages())
def test_the_pictures(found, path, language):
    is_of_gpu = path == ROOT / FINDINGS
    ((file, content),) = front_page.pictures(path, language).items()
    shown = file.relative_to(path.parent).as_posix()
    assert f"]({shown})" in path.read_text(encoding="utf-8")
    svg = content.decode()
    assert (words(language)["network_resnet"] in svg, GRAPHS in svg) == (True, is_of_gpu)
    ratio = "2.5×" if is_of_gpu else "1.3×"
    assert (ratio.replace(".", ",") if language == "pt" else ratio) in svg
    found["gpu"].clear()
    assert bool(front_page.pictures(path, language)) is not is_of_gpu
    assert not front_page.about_gpu(language)


@pytest.fixture
def front(tmp_path, monkeypatch):
    """Runs the tool on copies of the committed pages and pictures, and returns their bytes."""
    pages = [*ROOT.glob("README*.md"), ROOT / FINDINGS, *(ROOT / "docs/images").glob("*.svg")]
    copies = [tmp_path / page.relative_to(ROOT) for page in pages]
    for page, copy in zip(pages, copies, strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, copy)
    monkeypatch.setattr(front_page, "ROOT", tmp_path)

    def run(*options):
        monkeypatch.setattr(sys, "argv", ["front_page.py", *options])
        front_page.main()
        return [copy.read_bytes() for copy in copies]

    return run


def test_last_bits_make_no_difference_and_one_percent_does(front, tmp_path):
    recorded = tmp_path / "recorded"
    copy_moved(ROOT / "recorded", recorded)
    committed = front("--check")
    for factor in BY_LAST_BITS:
        copy_moved(ROOT / "recorded", recorded, factor)
        assert front("--check") == committed
    copy_moved(ROOT / "recorded", recorded, BY_ONE_PERCENT)
    with pytest.raises(SystemExit, match=r"README\.md .*: table, .*cpu\.en\.svg"):
        front("--check")


def test_a_figure_may_be_rounded_up_or_down(found, front, tmp_path):
    def gain(ratio):
        changed(found["gpu"]["resnet"], "pytorch", GRAPHS, ratio=ratio)

    gain(2.125)
    committed = front()
    assert b">2.12\xc3\x97<" in b"".join(committed)
    gain(2.125 + A_FEW_LAST_BITS)
    ((_path, content),) = front_page.pictures(tmp_path / FINDINGS, "en").items()
    assert b">2.13\xc3\x97<" in content
    assert front("--check") == committed
    assert front() == committed
    gain(2.125 * BY_ONE_PERCENT)
    with pytest.raises(SystemExit, match=r"gpu-graphs, gpu\.en\.svg"):
        front("--check")
