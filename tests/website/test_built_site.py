"""What the built pages hold; tests/browser/test_site.py sees what they do."""

import base64
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from pages import read_page, squeezed

import d2lhybrid
from book.files import NOTEBOOKS, Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.installation import is_installation
from book.languages import LANGUAGES
from d2lhybrid import errors, teaching
from website.build import build_site
from website.words import theme_words, words

ROOT = Path(__file__).resolve().parents[2]
KEYS = [
    Key(*path.relative_to(ROOT / NOTEBOOKS).with_suffix("").parts)
    for path in sorted((ROOT / NOTEBOOKS).glob("*/*/*.ipynb"))
]
LANGUAGES_HERE = sorted({key.language for key in KEYS})
OTHERS = [code for code in LANGUAGES_HERE if code != "en"]


def chapter_page(site, key):
    return read_page(site / key.language / key.framework / f"{key.chapter}.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, as it is without a public repository."""
    folder = tmp_path_factory.mktemp("site")
    build_site(ROOT, folder / "html", folder / "work")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site):
    return [read_page(path) for path in sorted(site.rglob("*.html"))]


def shown_cells(key):
    """The cells of a committed notebook, but for the one that installs."""
    notebook = read_notebook(ROOT / key.path)
    assert notebook
    return [cell for cell in notebook.cells if not is_installation(cell.metadata)]


def test_every_link_leads_somewhere(pages):
    wrong = []
    for page in pages:
        for href in (link["href"] for link in page.links):
            parts = urlsplit(href)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            fragment = unquote(parts.fragment) if target.suffix == ".html" else ""
            there = target.is_file() and not parts.scheme
            if not there or (fragment and fragment not in read_page(target).ids):
                wrong.append((page.path, href))
        assert "#cell-id" not in page.source  # a notebook's own way to lead to a section
    assert not wrong


def test_nothing_comes_from_another_host(site, pages):
    assert sum(len(page.loads) for page in pages) > 100
    for page in pages:
        for address in page.loads:
            assert not urlsplit(address).netloc, f"{page.path}: {address}"
            path = urlsplit(address).path
            assert (page.path.parent / unquote(path)).is_file(), f"{page.path}: {address}"
        # Without a repository's address there are no links to it.
        assert "colab.research" not in page.source
        assert "mybinder" not in page.source
    for sheet in [*site.rglob("*.css"), site / "index.html"]:
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), sheet


def test_pages_can_be_used_by_everybody(site, pages):
    for page in pages:
        twice = [name for name, count in Counter(page.ids).items() if count > 1]
        assert not twice, page.path
        for image in page.images:
            assert len(image.get("alt", "")) > 10, (page.path, image)
            assert image["alt"] != Path(image["src"]).name, (page.path, image)
        if page.path == site / "index.html" or page.path.name == "search.html":
            continue
        assert page.headings.count(1) == 1, page.path
        assert page.headings[0] == 1, page.path
        assert all(below <= above + 1 for above, below in pairwise(page.headings)), page.path
    assert sum(len(page.images) for page in pages) >= 6 * len(LANGUAGES_HERE)


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_a_page_shows_its_notebook(site, key):
    page = chapter_page(site, key)
    text, source = squeezed(page.text), squeezed(page.source)
    pictures = {(page.path.parent / image["src"]).read_bytes() for image in page.images}
    cells = shown_cells(key)
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert sum(len(cell.outputs) for cell in code) > 10
    for cell in code:
        assert squeezed(cell.source) in text
        for output in cell.outputs:
            data = output.get("data", {})
            assert squeezed(output.get("text", "")) in text
            assert squeezed(data.get("text/html", "")) in source
            if "image/png" in data:
                assert base64.b64decode(data["image/png"]) in pictures
    solutions = sum("jp-MarkdownHeadingCollapsed" in cell.metadata for cell in cells)
    hidden = sum("hide-input" in cell.metadata.get("tags", []) for cell in code)
    assert solutions >= 2
    assert sum("solution" in kind for kind in page.folds) == solutions
    assert sum("hide" in kind for kind in page.folds) == hidden
    assert page.text.count(words(key.language)["show_code"]) == hidden


@pytest.mark.parametrize("key", KEYS, ids="/".join)
def test_ways_to_languages_and_frameworks_say_what_is_there(site, key):
    page = chapter_page(site, key)
    assert len(page.sections) > 15
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in page.sections)
    if words(key.language)["behind"] not in page.text:
        assert page.sections == chapter_page(site, key._replace(language="en")).sections
    ways = [link for link in page.links if link.get("data-sections")]
    shared = [link for link in ways if "data-framework" in link]
    there = {one.framework for one in KEYS if one._replace(framework=key.framework) == key}
    shown = [link["data-framework"] for link in shared]
    assert shown == [name for name in FRAMEWORKS if name in there]
    assert len(ways) == len(shown) + len(LANGUAGES_HERE)
    for link in ways:
        target = read_page((page.path.parent / link["href"]).resolve())
        assert link["data-sections"].split() == target.sections
    assert len(set.intersection(*(set(link["data-sections"].split()) for link in shared))) > 10


@pytest.mark.parametrize("language", OTHERS)
def test_everything_around_the_text_is_in_the_pages_language(site, language):
    page = read_page(site / language / "pytorch" / "hybridize.html")
    elsewhere = ("theme_error", "theme_no_script", "theme_home", "theme_previous")
    skip = {words("en")[key] for key in elsewhere}
    for english, ours in theme_words(language).items():
        if english not in skip:
            assert ours in page.source, english
            assert len(english) <= 8 or english not in page.source
    english = set(words("en").values())
    for path in (site / "en/pytorch").glob("*.html"):
        english |= labels(read_page(path))
    for page in map(read_page, (site / language / "pytorch").glob("*.html")):
        assert page.language == LANGUAGES[language].tag
        assert not {label for label in labels(page) if label in english and " " in label}
    assert "**" not in read_page(site / language / "index.html").text


def labels(page):
    """What a screen reader or a pointer is told beside the text."""
    return set(re.findall(r'(?:aria-label|title)="([^"]*)"', page.source))


def test_every_public_name_is_in_the_reference(site):
    ids = {name for path in (site / "en/api").glob("*.html") for name in read_page(path).ids}
    names = {f"d2lhybrid.{name}" for name in set(d2lhybrid.__all__) - {"__version__", "errors"}}
    names |= {f"d2lhybrid.errors.{name}" for name in errors.__all__}
    assert names | {f"d2lhybrid.teaching.{name}" for name in teaching.__all__} <= ids


def test_nothing_but_the_site_is_in_its_folder(site):
    assert {path.name for path in site.iterdir()} == {*LANGUAGES, "index.html", NOTEBOOKS}
    assert not list(site.rglob("_sources"))
    assert not list(site.rglob(".*"))
