"""What the built pages hold; tests/browser/test_site.py sees what they do."""

import base64
import html
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import Page, read_page, squeezed

import d2lhybrid
from book.files import NOTEBOOKS, Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.installation import is_installation
from book.languages import LANGUAGES
from website.words import theme_words, words

ROOT = Path(__file__).resolve().parents[2]
KEYS = [
    Key(*path.relative_to(ROOT / NOTEBOOKS).with_suffix("").parts)
    for path in sorted((ROOT / NOTEBOOKS).glob("*/*/*.ipynb"))
]
LANGUAGES_HERE = sorted({key.language for key in KEYS})


def chapter_page(site: Path, key: Key) -> Page:
    return read_page(site / key.language / key.framework / f"{key.chapter}.html")


def all_pages(site: Path) -> list[Page]:
    return [read_page(path) for path in sorted(site.rglob("*.html"))]


def outputs(key: Key, kind: str) -> list[str]:
    """All outputs of a kind in a committed notebook; ``stream`` for what was printed."""
    notebook = read_notebook(ROOT / key.path)
    assert notebook
    found = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    if kind == "stream":
        return [output.text for output in found if output.output_type == "stream"]
    return [output.data[kind] for output in found if kind in output.get("data", {})]


def shown_code(key: Key) -> list[str]:
    """The code of a committed notebook, but for the cell that installs."""
    notebook = read_notebook(ROOT / key.path)
    assert notebook
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [cell.source for cell in cells if not is_installation(cell.metadata)]


def test_every_link_leads_somewhere(site: Path) -> None:
    wrong = []
    for page in all_pages(site):
        for link in page.links:
            parts = urlsplit(link["href"])
            if parts.scheme in ("http", "https", "mailto"):
                continue
            assert not parts.scheme, f"{page.path}: {link['href']}"
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            if not target.is_file():
                wrong.append((page.path, link["href"]))
            elif parts.fragment and target.suffix == ".html":
                ids = read_page(target).ids
                if unquote(parts.fragment) not in ids:
                    wrong.append((page.path, link["href"]))
    assert not wrong


def test_nothing_comes_from_another_host(site: Path) -> None:
    pages = all_pages(site)
    assert sum(len(page.loads) for page in pages) > 100
    for page in pages:
        for address in page.loads:
            assert not urlsplit(address).netloc, f"{page.path}: {address}"
            path = urlsplit(address).path
            assert (page.path.parent / unquote(path)).is_file(), f"{page.path}: {address}"
    sheets = [*site.rglob("*.css"), site / "index.html"]
    assert len(sheets) > 10
    for sheet in sheets:
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), sheet


def test_ids_are_unique_and_headings_go_down_in_single_steps(site: Path) -> None:
    for page in all_pages(site):
        twice = [name for name, count in Counter(page.ids).items() if count > 1]
        assert not twice, page.path
        levels = page.headings
        if page.path == site / "index.html" or page.path.name == "search.html":
            continue
        assert levels.count(1) == 1, page.path
        assert levels[0] == 1, page.path
        for above, below in pairwise(levels):
            assert below <= above + 1, page.path


def test_every_image_says_what_it_shows(site: Path) -> None:
    images = [(page.path, image) for page in all_pages(site) for image in page.images]
    assert len(images) >= 2 * 3 * len(LANGUAGES_HERE)
    for path, image in images:
        assert len(image.get("alt", "")) > 10, (path, image)
        assert image["alt"] != Path(image["src"]).name, (path, image)


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_code_and_outputs_are_those_committed(site: Path, key: Key) -> None:
    page = chapter_page(site, key)
    text = squeezed(page.text)
    printed = outputs(key, "stream")
    assert len(printed) > 10
    for output in printed:
        assert squeezed(output) in text
    for source in shown_code(key):
        assert squeezed(source) in text
    for table in outputs(key, "text/html"):
        assert squeezed(table) in squeezed(page.source)
    shown = {(page.path.parent / image["src"]).read_bytes() for image in page.images}
    for picture in outputs(key, "image/png"):
        assert base64.b64decode(picture) in shown


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_solutions_and_hidden_code_fold(site: Path, key: Key) -> None:
    notebook = read_notebook(ROOT / key.path)
    assert notebook
    page = chapter_page(site, key)
    solutions = [c for c in notebook.cells if "jp-MarkdownHeadingCollapsed" in c.metadata]
    cells = [cell for cell in notebook.cells if not is_installation(cell.metadata)]
    hidden = [c for c in cells if "hide-input" in c.metadata.get("tags", [])]
    assert len(solutions) >= 2
    assert sum("solution" in kind for kind in page.folds) == len(solutions)
    assert sum("hide" in kind for kind in page.folds) == len(hidden)
    assert page.text.count(words(key.language)["show_code"]) == len(hidden)


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_sections_are_the_same_in_every_language(site: Path, key: Key) -> None:
    page = chapter_page(site, key)
    english = chapter_page(site, key._replace(language="en"))
    assert len(page.sections) > 15
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in page.sections)
    if words(key.language)["behind"] not in page.text:
        assert page.sections == english.sections


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_ways_to_languages_and_frameworks_say_what_is_there(site: Path, key: Key) -> None:
    page = chapter_page(site, key)
    ways = [link for link in page.links if link.get("data-sections")]
    same_language = [one for one in KEYS if one.language == key.language]
    frameworks = {one.framework for one in same_language if one.chapter == key.chapter}
    shown = [link["data-framework"] for link in ways if "data-framework" in link]
    assert shown == [name for name in FRAMEWORKS if name in frameworks]
    assert len(ways) == len(shown) + len(LANGUAGES_HERE)
    for link in ways:
        target = read_page((page.path.parent / link["href"]).resolve())
        assert link["data-sections"].split() == target.sections
    shared = [link for link in ways if "data-framework" in link]
    labels = [set(link["data-sections"].split()) for link in shared]
    assert len(set.intersection(*labels)) > 10


def test_links_into_sections_lead_there(site: Path) -> None:
    text = read_page(site / "en/pytorch/limits.html").source
    assert 'href="hybridize.html#sec-' in text
    assert "#cell-id" not in "".join(page.source for page in all_pages(site))
    assert "site:" not in "".join(link["href"] for page in all_pages(site) for link in page.links)


def test_without_a_repository_there_are_no_links_to_it(site: Path) -> None:
    for page in all_pages(site):
        assert "colab.research" not in page.source
        assert "mybinder" not in page.source
    lab = "http://localhost:8888/lab/tree/notebooks/pt/mxnet/limits.ipynb"
    assert lab in [link["href"] for link in read_page(site / "pt/mxnet/limits.html").links]


@pytest.mark.parametrize("language", LANGUAGES_HERE)
def test_no_markdown_is_left_on_the_first_page(site: Path, language: str) -> None:
    assert "**" not in read_page(site / language / "index.html").text


@pytest.mark.parametrize("language", [code for code in LANGUAGES_HERE if code != "en"])
def test_the_theme_speaks_the_language(site: Path, language: str) -> None:
    page = read_page(site / language / "pytorch" / "hybridize.html")
    skip = ("theme_error", "theme_no_script", "theme_home", "theme_previous")  # on other pages
    for english, ours in theme_words(language).items():
        key = next(name for name, text in words("en").items() if text == english)
        if key in skip:
            continue
        assert ours in page.source, key
        if len(english) > 8:
            assert english not in page.source, key


@pytest.mark.parametrize("language", [code for code in LANGUAGES_HERE if code != "en"])
def test_every_label_is_in_the_pages_language(site: Path, language: str) -> None:
    english = set(words("en").values()) | {
        label for path in (site / "en/pytorch").glob("*.html") for label in labels(read_page(path))
    }
    pages = [read_page(path) for path in (site / language / "pytorch").glob("*.html")]
    assert len(pages) > 1
    assert {page.language for page in pages} == {LANGUAGES[language].tag}
    for page in pages:
        assert not {label for label in labels(page) if label in english and " " in label}


def labels(page: Page) -> set[str]:
    """What a screen reader or a pointer is told beside the text."""
    return set(re.findall(r'(?:aria-label|title)="([^"]*)"', page.source))


@pytest.mark.parametrize("language", LANGUAGES_HERE)
def test_the_search_has_the_text_of_every_section(site: Path, language: str) -> None:
    script = (site / language / "searchtexts.js").read_text(encoding="utf-8")
    texts = json.loads(script.removeprefix("window.SEARCH_TEXTS = ").removesuffix(";\n"))
    page = read_page(site / language / "pytorch/hybridize.html")
    found = texts["pytorch/hybridize"]
    assert set(found) - {""} == set(page.sections)
    assert sorted(squeezed("".join(found.values()))) == sorted(squeezed(article(page)))
    for text in found.values():
        assert squeezed(text) in squeezed(article(page))


def article(page: Page) -> str:
    """The text of the article without formulas' sources and the marks of its headings."""
    (inside,) = re.findall(r"<article.*?</article>", page.source, re.DOTALL)
    inside = re.sub(r'<a class="headerlink".*?</a>', "", inside)
    return html.unescape(re.sub(r"<[^>]*>", "", inside))


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    ids = {name for path in (site / "en/api").glob("*.html") for name in read_page(path).ids}
    names = set(d2lhybrid.__all__) - {"__version__"}
    assert {f"d2lhybrid.{name}" for name in names} <= ids
    text = read_page(site / "en/api/comparing.html").text
    assert ">>> result.verdict" in text


def test_nothing_but_the_site_is_in_its_folder(site: Path) -> None:
    assert {path.name for path in site.iterdir()} == {*LANGUAGES, "index.html", NOTEBOOKS}
    assert not list(site.rglob("_sources"))
    assert not list(site.rglob(".*"))
