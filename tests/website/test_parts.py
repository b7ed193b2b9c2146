"""The parts of the site, one by one, and small sites that are built for one question."""

import json
import re
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from pages import read_page

from book.__main__ import main as book
from book.languages import LANGUAGES
from website.__main__ import main
from website.addresses import Addresses, Page
from website.build import build_site
from website.errors import SiteError
from website.landing import landing_page
from website.repository import Repository, find_repository
from website.search import SearchChinese, SearchJapanese, SearchPortugueseWithoutAccents
from website.transforms import relative
from website.words import FOLDER, in_english, words

ROOT = Path(__file__).resolve().parents[2]
GITHUB = Repository("https://github.com/someone/measured")
NOTEBOOK = "notebooks/pt/mxnet/limits.ipynb"

CHAPTER = """\
---
title: One
frameworks: [mxnet, pytorch]
description: what it teaches
---

(sec-one)=
# One

Text with a formula, $a \\le \\frac{1}{2}$, and a link to [a file](../README.md).

$$
\\sum_i x_i
$$

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


@pytest.fixture
def small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Path]:
    """Builds the notebooks of a collection of one chapter and returns the collection's root."""

    def make(text: str = CHAPTER, *options: str, url: str = "") -> Path:
        root = tmp_path / "small"
        (root / "chapters").mkdir(parents=True, exist_ok=True)
        (root / "chapters" / "one.md").write_text(text, encoding="utf-8")
        (root / "README.md").write_text("# Readme\n")
        urls = f'[project.urls]\nRepository = "{url}"\n' if url else ""
        (root / "pyproject.toml").write_text('[project]\nname = "small"\n' + urls)
        assert book(["build", *options], root) == 0, capsys.readouterr().err
        return root

    return make


def make_site(root: Path) -> Path:
    folder = root / "build" / "html"
    build_site(root, folder, root / "build" / "work")
    return folder


def test_addresses_of_a_repository() -> None:
    assert GITHUB.file("docs/x.md") == "https://github.com/someone/measured/blob/main/docs/x.md"
    assert GITHUB.colab(NOTEBOOK) == (
        f"https://colab.research.google.com/github/someone/measured/blob/main/{NOTEBOOK}"
    )
    assert GITHUB.binder(NOTEBOOK) == (
        "https://mybinder.org/v2/gh/someone/measured/main"
        "?urlpath=lab%2Ftree%2Fnotebooks%2Fpt%2Fmxnet%2Flimits.ipynb"
    )
    gitlab = Repository("https://gitlab.com/group/sub/measured")
    assert gitlab.colab(NOTEBOOK) is None
    assert "/v2/gl/group%2Fsub%2Fmeasured/main?" in gitlab.binder(NOTEBOOK)
    other = Repository("https://git.example.org/someone/measured")
    assert "/v2/git/https%3A%2F%2Fgit.example.org%2Fsomeone%2Fmeasured/" in other.binder(NOTEBOOK)


@pytest.mark.parametrize("url", ["github.com/a/b", "https://github.com/a", "https://x/a/b c"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(SiteError, match="Expected a repository's address"):
        Repository(url)


def test_where_the_address_comes_from(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text('[project]\nname = "x"\n\n[tool.x]\nrepository = "https://no/such/one"\n')
    assert find_repository(tmp_path) is None
    file.write_text(
        '[project]\nname = "x"\n\n[project.urls]\nHomepage = "https://example.org"\n'
        'Repository = "https://github.com/someone/measured.git"\n\n[tool.x]\n'
    )
    assert find_repository(tmp_path) == GITHUB


def test_what_binder_needs() -> None:
    folder = ROOT / "binder"
    lines = (folder / "requirements.txt").read_text().splitlines()
    (path,) = [line.removeprefix("-r ") for line in lines if not line.startswith("#")]
    assert (folder / path).resolve() == ROOT / "requirements" / "lock.txt"
    script = folder / "postBuild"
    assert script.stat().st_mode & stat.S_IXUSR
    subprocess.run(["bash", "-n", script], check=True)
    for name in re.findall(r"requirements/\S+", script.read_text()):
        assert (ROOT / name).is_file()
    version = (folder / "runtime.txt").read_text().strip().removeprefix("python-")
    assert f"python={version}" in (ROOT / "environment.yml").read_text()


def test_relative_addresses() -> None:
    page = "/pt/mxnet/limits.html"
    assert relative("/pt/mxnet/hybridize.html#a", page) == "hybridize.html#a"
    assert relative("/pt/pytorch/limits.html", page) == "../pytorch/limits.html"
    assert relative("/en/index.html", page) == "../../en/index.html"
    assert relative("/pt/index.html", page) == "../index.html"
    assert relative("/pt/mxnet/limits.html#a", page) == "#a"
    assert relative("/pt/mxnet/limits.html", page) == "limits.html"
    assert relative("/ja/index.html", "/en/index.html") == "../ja/index.html"


def test_links_of_sources() -> None:
    pages = {
        "docs/a.md": Page("en/docs/a"),
        NOTEBOOK: Page("pt/mxnet/limits", {"Here": "sec-here", "cell-id=3": "sec-three"}),
    }
    text = (
        "[a](a.md#part) [n](../notebooks/pt/mxnet/limits.ipynb#Here) `[c](a.md)` "
        "[i](../notebooks/pt/mxnet/limits.ipynb#cell-id=3) [f](../Makefile) [w](https://x.org)"
    )
    page = "site:/pt/mxnet/limits.html"
    start = f"[a](site:/en/docs/a.html#part) [n]({page}#sec-here) `[c](a.md)` [i]({page}#sec-three)"
    assert (
        Addresses(pages, None).rewrite(text, "docs/a.md")
        == f"{start} [f](site:) [w](https://x.org)"
    )
    there = Addresses(pages, GITHUB).rewrite(text, "docs/a.md")
    assert there == f"{start} [f]({GITHUB.url}/blob/main/Makefile) [w](https://x.org)"


def test_words_are_the_same_in_every_language() -> None:
    english = words("en")
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(LANGUAGES)
    for path in FOLDER.glob("*.yaml"):
        assert list(yaml.safe_load(path.read_text(encoding="utf-8"))) == list(english), path.name
        ours = words(path.stem)
        for key, text in english.items():
            pieces = r"\{\w*\}|`[^`]+`"
            assert sorted(re.findall(pieces, ours[key])) == sorted(re.findall(pieces, text))
            assert bool(ours[key]) == bool(text) or key == "reference_note"
            if path.stem in ("zh", "ja"):
                assert "\n" not in ours[key]
    assert in_english("pt", "API") == "API (em inglês)"
    assert in_english("ja", "API") == "API（英語）"
    assert in_english("en", "API") == "API"


def test_how_words_are_cut_for_the_search() -> None:
    cut = SearchChinese({}).split("编译器 torch.compile 图")
    assert cut == ["编", "译", "器", "编译", "译器", "torch", "compile", "图"]
    assert {"コン", "パイ", "イラ"} <= set(SearchJapanese({}).split("コンパイラ"))
    assert SearchJapanese({}).split("ＡＢＣ") == ["ABC"]
    assert SearchChinese({}).stem("Compiling") == "compil"
    portuguese = SearchPortugueseWithoutAccents({})
    assert portuguese.split("a compilação") == ["a", "compilação", "compilacao"]


def test_the_landing_page_offers_these_languages() -> None:
    page = landing_page(["en", "ja"])
    assert 'const languages = ["en", "ja"];' in page
    assert '<a href="ja/index.html" hreflang="ja"' in page
    assert "pt/" not in page
    assert "$" not in re.sub(r"\$\{", "", page)


def test_a_small_site(small: Callable[..., Path]) -> None:
    root = small(url=GITHUB.url)
    site = make_site(root)
    page = read_page(site / "en/pytorch/one.html")
    assert page.sections == [
        *("sec-one", "sec-first", "sec-only-for-pytorch", "sec-exercises", "sec-solutions"),
        *("solution-one", "sec-a-detail"),
    ]
    assert page.headings == [1, 2, 3, 2, 2, 3, 4]
    other = read_page(site / "en/mxnet/one.html")
    assert [name for name in page.sections if name not in other.sections] == [
        "sec-only-for-pytorch"
    ]
    # Formulas need no script.
    assert page.source.count("<math") == 2
    assert "<mfrac>" in page.source
    assert not [address for address in page.loads if "math" in address.lower()]
    # The repository's places.
    places = {link["href"] for link in page.links}
    notebook = "notebooks/en/pytorch/one.ipynb"
    assert GITHUB.colab(notebook) in places
    assert GITHUB.binder(notebook) in places
    assert "../index.html" in places  # README.md is the front page
    front = read_page(site / "en/index.html")
    assert "find_spec" not in page.text  # the cell that installs is for JupyterLab and Colab
    assert f"git+{GITHUB.url}" in (site / notebook).read_text(encoding="utf-8")
    assert f"git clone {GITHUB.url}" in front.text
    # A second build does what has changed.
    before = (site / "en/mxnet/one.html").read_bytes()
    small(CHAPTER.replace("More.", "Much more."), url=GITHUB.url)
    assert make_site(root) == site
    assert "Much more." in (site / "en/pytorch/one.html").read_text(encoding="utf-8")
    assert (site / "en/mxnet/one.html").read_bytes() != before
    # What Sphinx warns of is an error.
    path = root / "notebooks/en/mxnet/one.ipynb"
    changed = json.loads(path.read_text())
    changed["cells"][2]["source"] += ["\n\n[nowhere][nothing]\n\n![missing](../missing.svg)"]
    path.write_text(json.dumps(changed))
    with pytest.raises(SiteError, match=r"image file not readable: .*missing\.svg"):
        make_site(root)


def test_a_translation_that_is_behind(
    small: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    root = small()
    (root / "translations").mkdir()
    (root / "translations" / "glossary.csv").write_text("en,pt,zh,ja,never\n", encoding="utf-8")
    assert book(["messages", "--start", "pt"], root) == 0
    small(CHAPTER, "--partial")
    small(CHAPTER.replace("## Exercises", "(sec-new)=\n## New\n\n## Exercises"), "--language", "en")
    site = make_site(root)
    page = read_page(site / "pt/mxnet/one.html")
    english = read_page(site / "en/mxnet/one.html")
    assert words("pt")["behind"] in page.text
    assert words("en")["behind"] not in english.text
    assert page.sections == [name for name in english.sections if name != "sec-new"]
    (way,) = [one for one in english.links if one.get("data-language") == "pt"]
    assert "sec-new" not in way["data-sections"].split()
    # English itself cannot be behind its chapter.
    (root / "chapters" / "one.md").write_text(CHAPTER + "\n## Later\n", encoding="utf-8")
    with pytest.raises(SiteError, match="make notebooks"):
        make_site(root)
    assert main([], root) == 1
    assert "make notebooks" in capsys.readouterr().err
