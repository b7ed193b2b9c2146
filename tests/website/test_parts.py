"""The parts of the site, one by one, and small sites that are built for one question."""

import re
from dataclasses import replace

import by_hand
import nbformat
import pytest
from pages import read_page
from recorded_by_hand import network, ran, record, row as recorded_row

from book.__main__ import main as book
from book.errors import BookError
from book.measured import COMPILED, GRAPHS, LARGE_BATCH, findings_file
from website.__main__ import main
from website.build import build_site
from website.errors import SiteError
from website.repository import Repository, find_repository
from website.watch import main as watch
from website.words import words

GITHUB = Repository("https://github.com/someone/measured")
NOTEBOOK = "notebooks/pt/mxnet/limits.ipynb"
CHAPTER = """\
---
title: One
order: 1
frameworks: [mxnet, pytorch]
description: what it teaches
minutes: [20, 30]
---

(sec-one)=
# One

Text with a formula, $a \\le \\frac{1}{2}$, and a link to [a file](../README.md).

(sec-first)=
## First

```{code-cell} python
print(1)
```

:::{tab} pytorch
### Only for `PyTorch`

See [the first](#sec-first).
:::

## Exercises

:::{exercise} ex-one
Do it.
:::

## Solutions

::::{solution} ex-one
Done.

##### A detail

More.
::::
"""
# Seconds a call, one after another and in a stream.
DENSE = {"eager": 2e-5, "a&b": 4e-5, "jit": 1e-5, "C": 1e-6}
STREAM = {"eager": 2e-5, "a&b": 4e-5, "jit": 4e-6, "C": 1e-6}
WHERE = replace(by_hand.ENV, cpu="X<86>", date="2026-01-02T10:00:00+00:00")


@pytest.fixture
def small(tmp_path, capsys):
    """Builds the notebooks of a collection of one chapter and returns the collection's root."""

    def make(text=CHAPTER, *options, url=""):
        root = tmp_path / "small"
        (root / "chapters").mkdir(parents=True, exist_ok=True)
        (root / "chapters" / "one.md").write_text(text, encoding="utf-8")
        (root / "README.md").write_text("# Readme\n")
        urls = f'[project.urls]\nRepository = "{url}"\n' if url else ""
        (root / "pyproject.toml").write_text('[project]\nname = "small"\n' + urls)
        assert book(["build", *options], root) == 0, capsys.readouterr().err
        return root

    return make


def make_site(root):
    build_site(root, root / "build" / "html", root / "build" / "work")
    return root / "build" / "html"


def find(root, framework, network, latency, throughput=None, noise=0.0, **fields):
    """Let a network have been measured on a CPU, with these seconds a call."""
    compared = by_hand.comparison(latency, throughput, env=WHERE, noise=noise, **fields)
    file = findings_file(root, framework, network)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(compared.to_json(), encoding="utf-8")


def show(root, framework, text):
    """Give a notebook's cell an output with this text."""
    path = root / "notebooks" / "en" / framework / "one.ipynb"
    notebook = nbformat.read(path, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    code[-1].outputs = [nbformat.v4.new_output("display_data", {"text/plain": text})]
    nbformat.write(notebook, path)


def test_addresses_of_a_repository(tmp_path):
    assert GITHUB.file("docs/x.md") == "https://github.com/someone/measured/blob/main/docs/x.md"
    assert str(GITHUB.colab(NOTEBOOK)).endswith(f"/github/someone/measured/blob/main/{NOTEBOOK}")
    other = Repository("https://git.example.org/someone/measured")
    assert other.colab(NOTEBOOK) is None
    file = tmp_path / "pyproject.toml"
    for url, found in ((f"{GITHUB.url}.git", GITHUB), ("", None)):
        file.write_text(f'[project.urls]\nRepository = "{url}"\n\n[tool.x]\nrepository = "x"\n')
        assert find_repository(tmp_path) == found


def test_a_small_site(small):
    root = small(url=GITHUB.url)
    find(root, "pytorch", "mlp", DENSE, STREAM, references=("C",))
    find(root, "mxnet", "mlp", {"eager": 2e-5, "a&b": 2.1e-5}, noise=0.3)  # undecided
    (root / "docs").mkdir()
    (root / "docs/teaching.md").write_text(
        "# Plans\n\n[To a section](../notebooks/en/pytorch/one.ipynb#A-detail)\n"
    )
    site = make_site(root)
    assert "20 to 30 minutes to read" in read_page(site / "en/index.html").text
    page = read_page(site / "en/pytorch/one.html")
    assert page.sections == [
        *("sec-one", "sec-first", "sec-only-for-pytorch", "sec-exercises", "sec-solutions"),
        *("solution-one", "sec-a-detail"),
    ]
    assert page.headings == [1, 2, 3, 2, 2, 3, 4]
    other = read_page(site / "en/mxnet/one.html")
    assert set(page.sections) - set(other.sections) == {"sec-only-for-pytorch"}
    assert "<mfrac>" in page.source  # formulas need no script
    notebook = "notebooks/en/pytorch/one.ipynb"
    places = {GITHUB.colab(notebook), "../index.html"}  # README.md
    assert places <= {link["href"] for link in page.links}
    assert "mybinder" not in page.source
    assert "find_spec" not in page.text  # the cell that installs is for JupyterLab and Colab
    landing = read_page(site / "index.html")
    assert [link["href"] for link in landing.links] == ["en/index.html"]
    assert 'const languages = ["en"];' in landing.source
    # What was measured.
    front = read_page(site / "en/index.html")
    assert f"git clone {GITHUB.url}" in front.text
    assert front.source.count('class="bar"') == 2
    assert front.source.count('class="interval"') == 2
    for said in ("a&b", "take 2 times as long", "20 → 10 µs", "2 times as fast if", "X<86>"):
        assert said in front.text
    assert words("en")["picture_pale"] in front.text
    assert "docs/teaching.html" in {link["href"] for link in front.links}
    plans = read_page(site / "en/docs/teaching.html")
    assert "../pytorch/one.html#sec-a-detail" in {link["href"] for link in plans.links}
    # A second build does what has changed. What Sphinx warns of is an error.
    small(CHAPTER.replace("More.", "Much more.").replace("(1)", "(2)"), url=GITHUB.url)
    path = root / "notebooks/en/mxnet/one.ipynb"
    sound = path.read_text()
    path.write_text(sound.replace("Text with a formula", "![x](../missing.svg) formula"))
    with pytest.raises(SiteError, match=r"missing\.svg"):
        make_site(root)
    path.write_text(sound)
    assert "Much more." in (make_site(root) / "en/pytorch/one.html").read_text(encoding="utf-8")


def test_a_translation_that_is_behind(small, capsys):
    root = small()
    (root / "translations").mkdir()
    (root / "translations" / "glossary.csv").write_text("en,pt,zh,ja,never\n", encoding="utf-8")
    assert book(["messages", "--start", "pt"], root) == 0
    small(CHAPTER, "--partial")
    small(CHAPTER.replace("## Exercises", "(sec-new)=\n## New\n\n## Exercises"), "--language", "en")
    site = make_site(root)
    page, english = (read_page(site / code / "mxnet/one.html") for code in ("pt", "en"))
    assert words("pt")["behind"] in page.text
    assert words("en")["behind"] not in english.text
    assert page.sections == [name for name in english.sections if name != "sec-new"]
    (way,) = [one for one in english.links if one.get("data-language") == "pt"]
    assert "sec-new" not in way["data-sections"].split()
    # English itself cannot be behind its chapter.
    (root / "chapters" / "one.md").write_text(CHAPTER + "\n## Later\n", encoding="utf-8")
    assert main([], root) == 1
    assert "make notebooks" in capsys.readouterr().err


def test_words_in_a_figure_are_in_the_language_of_the_page(small):
    root = small()
    (root / "chapters" / "figures").mkdir()
    svg = '<svg xmlns="http://www.w3.org/2000/svg"><text>three calls</text></svg>'
    (root / "chapters" / "figures" / "costs.svg").write_text(svg)
    figure = ":::{figure-md} fig-costs\n![Costs](figures/costs.svg)\n\nCosts.\n:::\n\n"
    text = CHAPTER.replace("## Exercises", figure + "## Exercises")
    small(text)
    assert book(["messages", "--start", "pt"], root) == 0
    catalog = root / "translations/pt/LC_MESSAGES/figures.po"
    started = catalog.read_text(encoding="utf-8")
    done = started.replace('"three calls"\nmsgstr ""', '"three calls"\nmsgstr "três chamadas"')
    catalog.write_text(done, encoding="utf-8")
    small(text, "--partial")
    site = make_site(root)
    assert watch(["pt/pytorch/one", "--once"], root) == 0
    preview = root / "build/preview/pt-pytorch-one/source/figures/costs.pt.svg"
    shown = {"preview": preview.read_text(encoding="utf-8")}
    for code in ("en", "pt"):
        page = read_page(site / code / "pytorch/one.html")
        [image] = page.images
        shown[code] = (page.path.parent / image["src"]).read_text(encoding="utf-8")
    said = {name: re.findall("<text>(.*)</text>", found) for name, found in shown.items()}
    assert said == {"preview": ["três chamadas"], "en": ["three calls"], "pt": ["três chamadas"]}


def test_the_preview_shows_what_was_saved(small, capsys):
    root = small()
    show(root, "pytorch", "a table")
    chapter = root / "chapters" / "one.md"
    chapter.write_text(CHAPTER.replace("Done.", "Done so."), encoding="utf-8")
    assert watch(["en/pytorch/one", "--once"], root) == 0
    source = root / "build/preview/en-pytorch-one/source"
    made = (source / "pytorch/one.ipynb").read_text(encoding="utf-8")
    assert "Done so." in made
    assert "a table" in made  # the code is the same, so its output is
    chapter.write_text("no chapter", encoding="utf-8")
    assert watch(["", "--once"], root) == 1
    assert "one.md" in capsys.readouterr().err


def test_what_was_measured_of_real_networks(small):
    """Ratios far apart beside times that are near, and what a larger batch leaves of a gain."""
    root = small()
    ways = {"eager": 2e-3, "jit": 1e-3, "script": 1e-4, "eager, in another way": 1e-4}
    find(root, "pytorch", "resnet", ways, deprecated=("script",))
    find(root, "pytorch", LARGE_BATCH, {"eager": 40e-3, "jit": 20e-3})
    find(root, "mxnet", "resnet", {"eager": 20e-3, "jit": 2e-3})
    find(root, "mxnet", LARGE_BATCH, {"eager": 30e-3, "jit": 15e-3})
    front = read_page(make_site(root) / "en/index.html")
    assert "PyTorch 2× · MXNet 10×" in front.text
    assert "PyTorch 1 ms · MXNet 2 ms" in front.text
    assert "In MXNet, compiling makes the residual network 10 times" in front.text
    assert "and 2 times with 32" in front.text
    assert words("en")["network_resnet"] in front.text
    assert "script" not in front.text  # deprecated
    assert "in another way" not in front.text  # compiles nothing
    # Where the times lie as far apart as the ratios, they bear out nothing.
    find(root, "mxnet", "resnet", {"eager": 40e-3, "jit": 10e-3})
    again = (make_site(root) / "en/index.html").read_text(encoding="utf-8")
    assert "40 → 10 ms" in again
    assert "depends on eager execution" not in again
    findings_file(root, "mxnet", "resnet").write_text("none")
    with pytest.raises(BookError, match=r"mxnet-resnet\.json.*make findings"):
        make_site(root)


def test_what_was_recorded_on_a_gpu(small):
    """A second picture and a finding on the first page; a box and its picture in the chapter."""
    root = small()
    eager, graphs = recorded_row("eager", 2e-3), recorded_row(GRAPHS, 1e-3, 2.0)
    slower = recorded_row(COMPILED, 4e-3, 0.5, "slower")
    lost = recorded_row(GRAPHS, 4e-3, 0.5, "slower")
    networks = network("resnet", 1, eager, slower, graphs), network("mlp", 1, eager, lost)
    record(root, "networks", networks)
    entry = ran("print(1)", "a line", {"kind": "rows", "rows": [eager, graphs]})
    record(root, "cells", [entry | {"notebook": "pytorch/one"}])
    case = "resnet 1 inference float32 | ResNet"
    text = CHAPTER.replace("python\nprint(1)", "python\n:tags: [gpu]\nprint(1)")
    small(text.replace("## Exercises", f":::{{recorded}} networks\n{case}\n:::\n\n## Exercises"))
    find(root, "pytorch", "mlp", DENSE)
    site = make_site(root)
    front, page = (read_page(site / "en" / name) for name in ("index.html", "pytorch/one.html"))
    assert front.source.count('<figure class="gains">') == 2
    assert len({*front.ids}) == len(front.ids)
    for said in (
        "2 → 1 ms",
        "NVIDIA H100",
        "clearly faster (0.5 times)",
        "layers take 2 times as long",
    ):
        assert said in front.text
    assert page.text.count("Recorded on a GPU: NVIDIA H100") == 2
    assert "1.00\u00a0ms (2.00×\u00a0▲)" in page.text
    (image,) = page.images
    assert image["alt"].startswith("Bars that show how many times as fast as eager")
    assert (page.path.parent / image["src"]).read_bytes().startswith(b"<?xml")
    assert "Recorded on" not in (site / "en/mxnet/one.html").read_text(encoding="utf-8")
    assert watch(["en/pytorch/one", "--once"], root) == 0
    source = root / "build/preview/en-pytorch-one/source"
    assert [*(source / "figures").glob("recorded-one-1-pytorch.en.svg")]
