"""The figures of README and its translations, from notebooks that are made up here."""

import front_page
import nbformat
import pytest

from book.languages import LANGUAGES
from book.measured import COMPILED, GRAPHS, MIME, Comparison, Row
from website.words import words

WAYS = {
    "pytorch": "torch.compile",
    "tensorflow": "concrete function XLA",
    "jax": "jit",
    "mxnet": "static_shape",
}


def compared(eager, **others):
    """What a comparison shows to programs, from the seconds of its calls."""
    rows = [{"label": "eager", "verdict": "baseline", "latency": eager, "ratio": 1.0}]
    for label, seconds in others.items():
        verdict = "faster" if seconds < eager else "slower"
        row = {"label": label, "verdict": verdict, "latency": seconds, "ratio": eager / seconds}
        rows.append(row | {"low": 1.4, "high": 1.6, "cold": 8.0, "pays_after": 1234})
    where = {"processor": "X 86", "date": "2026-01-02"}
    return {"kind": "comparison", "baseline": "eager", "rows": rows, **where}


@pytest.fixture
def summaries(monkeypatch):
    """What each framework's notebooks show: the tests change it before they ask for figures."""
    made = {}
    for framework, way in WAYS.items():
        made[framework, "hybridize"] = compared(40e-6, **{way: 20e-6})
        networks = {
            "ResNet, batch 1": compared(28e-3, **{way: 2.5e-3}),
            "ResNet, batch 32": compared(40e-3, **{way: 20e-3, "eager, channels last": 25e-3}),
            "encoder, batch 1": compared(8e-4, **{way: 7.9e-4}),
        }
        made[framework, "faster"] = {"kind": "reveal", "comparisons": networks}
    made["pytorch", "hybridize"] = compared(40e-6, **{WAYS["pytorch"]: 80e-6})
    named(made, "pytorch")["ResNet, batch 1"] = compared(1.95e-3, **{WAYS["pytorch"]: 1.5e-3})
    made["mxnet", "hybridize"]["rows"][1]["throughput_ratio"] = 6.5

    def notebook(framework, chapter):
        shown = {"wasteful": compared(1.0, other=2.0), "variants(net, x)": made[framework, chapter]}
        cells = []
        for code, summary in shown.items():
            output = nbformat.v4.new_output("display_data", {MIME: summary})
            cells.append(nbformat.v4.new_code_cell(f"compare({code})", outputs=[output]))
        return nbformat.v4.new_notebook(cells=cells)

    monkeypatch.setattr(front_page, "notebook", notebook)
    made["gpu"] = on_gpu()
    monkeypatch.setattr(front_page, "on_gpu", lambda: made["gpu"])
    return made


def on_gpu(compiled="undecided", dense="slower"):
    """What PyTorch did on a GPU with the residual network and the dense layers, by the verdicts."""
    eager = Row("eager", "baseline", 5e-4, 1.0)
    residual = eager, Row(COMPILED, compiled, 5.2e-4, 0.96), Row(GRAPHS, "faster", 2e-4, 2.5)
    layers = eager, Row(GRAPHS, dense, 6.25e-4, 0.8)
    return {
        name: {"pytorch": Comparison("eager", rows, "GPU 9000", "2026-01-03")}
        for name, rows in {"resnet": residual, "mlp": layers}.items()
    }


def named(summaries, framework):
    """The framework's comparisons of real networks."""
    return summaries[framework, "faster"]["comparisons"]


def row(summary, label):
    return next(one for one in summary["rows"] if one["label"] == label)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_front_pages_take_their_figures_from_the_notebooks(summaries, language):
    row(named(summaries, "jax")["encoder, batch 1"], "jit")["verdict"] = "undecided"
    text = front_page.page(language).read_text(encoding="utf-8")
    made, behind = front_page.renewed(text, language)
    assert front_page.renewed(made, language) == (made, [])
    assert "networks" in behind
    ratio, time = ("1,3×", "1,95 → 1,5 ms") if language == "pt" else ("1.3×", "1.95 → 1.5 ms")
    assert f"**{ratio}**<br>{time}<br>`torch.compile`" in made
    assert made.count("× ?**") == 1  # the undecided one
    graphs = "<!-- measured: gpu-graphs -->2,5<" if language == "pt" else "gpu-graphs -->2.5<"
    assert graphs in made
    assert "GPU 9000" in made
    if language == "en":
        assert "| torch.compile | faster | 2 | 1.4 – 1.6 | 20 ms | 8 s | 1,234 calls |" in made
        assert "| eager | baseline | 1 | | 40 ms | | |" in made.replace("  ", " ")


def contradict(summaries, sentence):
    """Change what was measured so that a sentence no longer follows."""
    if sentence == "A ratio says as much":
        named(summaries, "tensorflow")["ResNet, batch 1"] = compared(
            28e-3, **{WAYS["tensorflow"]: 25e-3}
        )
    elif sentence == "Not all of a gain":
        row(named(summaries, "pytorch")["ResNet, batch 32"], "eager, channels last")["ratio"] = 3.0
    elif sentence == "The same compiler loses":
        row(summaries["pytorch", "hybridize"], "torch.compile")["verdict"] = "undecided"
    elif sentence == "On a GPU":
        summaries["gpu"] = on_gpu(dense="undecided")
    else:
        row(summaries["mxnet", "hybridize"], "static_shape")["throughput_ratio"] = 1.0


@pytest.mark.parametrize(
    "sentence",
    [
        *("A ratio says as much", "Not all of a gain", "The same compiler loses"),
        *("Two true answers", "On a GPU"),
    ],
)
def test_a_finding_that_no_longer_holds_is_refused(summaries, sentence):
    front_page.figures("en")
    contradict(summaries, sentence)
    with pytest.raises(front_page.FrontPageError, match=f"{sentence}.*Rewrite it"):
        front_page.figures("en")


def test_what_is_missing_is_named(summaries):
    with pytest.raises(front_page.FrontPageError, match="one mark for each"):
        front_page.renewed("# Nothing measured here", "en")
    with pytest.raises(front_page.FrontPageError, match="one mark for each"):
        front_page.renewed("<!-- measured: luck -->7<!-- end -->", "ja")
    del named(summaries, "jax")["encoder, batch 1"]
    with pytest.raises(front_page.FrontPageError, match=r"jax/faster .* encoder, batch 1"):
        front_page.figures("en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_picture_of_a_gpu(summaries, language):
    ((path, content),) = front_page.gpu_picture(language).items()
    readme = front_page.page(language).read_text(encoding="utf-8")
    assert f"]({path.relative_to(front_page.ROOT).as_posix()})" in readme
    svg = content.decode()
    assert (words(language)["network_resnet"] in svg, GRAPHS in svg) == (True, True)
    assert ("2,5×" if language == "pt" else "2.5×") in svg
    summaries["gpu"].clear()
    assert not front_page.gpu_picture(language)
    assert not front_page.about_gpu(language)
