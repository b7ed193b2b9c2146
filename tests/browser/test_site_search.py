"""The site's search: every language finds its words, and what is found can be opened."""

import json
import re
from collections.abc import Callable

import expected
import pytest
from collection import ROOT
from playwright.sync_api import Page
from site_page import results

from book.installation import is_installation
from website.words import words

Visit = Callable[..., Page]


def search(visit, language, words):
    """Type words into the search of a language's first page and wait for the answer."""
    page = visit(f"{language}/index.html")
    page.locator(".sidebar-search").fill(words)
    page.locator(".sidebar-search").press("Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")
    return page


def pages_with(language, word):
    """The chapters of a language whose notebooks hold a text, as a whole word in Latin letters."""
    text = re.compile(rf"(?<![a-z0-9_]){re.escape(word.lower())}(?![a-z0-9_])")
    found = set()
    for path in (ROOT / "notebooks" / language).glob("*/*.ipynb"):
        cells = expected.read(path)["cells"][1:-1]  # without the links to others
        shown = [cell for cell in cells if not is_installation(cell["metadata"])]
        if text.search(json.dumps(shown, ensure_ascii=False).lower().replace("\\n", " ")):
            found.add(f"{path.parent.name}/{path.stem}")
    return found


@pytest.mark.parametrize(
    ("language", "typed", "written"),
    [
        *(("zh", word, word) for word in ("追踪", "预热", "图中断", "命令式", "延迟计算")),
        *(("ja", word, word) for word in ("コンパイル", "遅延計算", "ノイズ", "fullgraph")),
        *(("pt", "compilação", "compilação"), ("en", "fullgraph", "fullgraph")),
        # Other forms of a word.
        *(("en", "serializing", "Serialization"), ("en", "COMPILERS", "compiler")),
        *(("pt", "serializacao", "serialização"), ("pt", "compilações", "compilação")),
        *(("zh", "compiling", "compile"), ("ja", "ＰｙＴｏｒｃｈ", "PyTorch")),
    ],
)
def test_search_finds_the_pages_that_have_a_word(visit, language, typed, written):
    page = search(visit, language, typed)
    found = results(page)
    assert pages_with(language, written)
    assert pages_with(language, written) <= set(found)
    shown = page.locator("#search-results ul.search > li").count()
    sentence = words(language)["found"].replace("${resultCount}", str(shown))
    assert page.locator(".search-summary").inner_text() == sentence
    page.locator("#search-results ul.search a").first.click()
    page.wait_for_url(f"**/{language}/{found[0]}.html*")


@pytest.mark.parametrize(("language", "word"), [("zh", "量子力学"), ("en", "qwertyuiop")])
def test_search_finds_nothing_where_nothing_is(visit, language, word):
    assert results(search(visit, language, word)) == []
