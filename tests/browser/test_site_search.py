"""The site's search: every language finds its words, and what is found is opened and marked."""

import json
import re
from collections.abc import Callable
from urllib.parse import quote

import expected
import pytest
from collection import FRAMEWORKS, LANGUAGES, ROOT
from playwright.sync_api import Page
from site_page import in_sight, results

from book.installation import is_installation
from website.words import words

Visit = Callable[..., Page]


def search(visit: Visit, language: str, words: str) -> Page:
    """Type words into the search of a language's first page and wait for the answer."""
    page = visit(f"{language}/index.html")
    page.locator(".sidebar-search").fill(words)
    page.locator(".sidebar-search").press("Enter")
    page.wait_for_url("**/search.html?*")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")
    return page


def pages_with(language: str, words: str, *, whole: bool = False) -> set[str]:
    """The chapters of a language whose notebooks hold a text between their links to others.

    As ``whole`` words, and not as a part of names such as ``compiled_bytes``.
    """
    found = set()
    edge = r"(?![a-z0-9_])" if whole else ""
    text = re.compile(rf"{edge.replace('?!', '?<!')}{re.escape(words.lower())}{edge}")
    for path in (ROOT / "notebooks" / language).glob("*/*.ipynb"):
        cells = expected.read(path)["cells"][1:-1]
        shown = [cell for cell in cells if not is_installation(cell["metadata"])]
        if text.search(json.dumps(shown, ensure_ascii=False).lower().replace("\\n", " ")):
            found.add(f"{path.parent.name}/{path.stem}")
    return found


@pytest.mark.parametrize(
    ("language", "words"),
    [
        *(("zh", words) for words in ("追踪", "预热", "图中断", "命令式", "延迟计算", "量子力学")),
        *(
            ("ja", words)
            for words in ("推論", "演算", "遅延計算", "ノイズ", "量子力学", "fullgraph")
        ),
        *(("pt", words) for words in ("mutação", "qwertyuiop")),
        *(("en", words) for words in ("fullgraph", "Undercover", "AutoGraph", "qwertyuiop")),
    ],
)
def test_search_finds_the_pages_that_have_a_word(visit: Visit, language: str, words: str) -> None:
    found = results(search(visit, language, words))
    chapters = {page for page in found if page.split("/")[0] in FRAMEWORKS}
    assert chapters == pages_with(language, words)


@pytest.mark.parametrize(
    ("language", "words", "written"),
    [
        ("en", "serializing", "Serialization"),
        ("en", "COMPILERS", "compiler"),
        ("pt", "serializacao", "serialização"),
        ("pt", "compilações", "compilação"),
        ("pt", "híbrido", "híbridos"),
        ("zh", "compiling", "compile"),
        ("ja", "ＰｙＴｏｒｃｈ", "PyTorch"),
    ],
)
def test_search_finds_other_forms_of_a_word(
    visit: Visit, language: str, words: str, written: str
) -> None:
    found = results(search(visit, language, words))
    assert pages_with(language, written, whole=True) <= set(found)


HOLDING = """word => Object.entries(SEARCH_TEXTS)
  .filter(([, texts]) => Object.values(texts).join(" ").toLowerCase().includes(word))
  .map(([page]) => page)"""


def test_signs_of_a_word_count(visit: Visit) -> None:
    page = search(visit, "en", "c++")
    found = results(page)
    assert "pytorch/inside" in found
    assert set(found) == set(page.evaluate(HOLDING, "c++"))
    assert set(page.locator("#search-results mark").all_inner_texts()) <= {"c++", "C++"}
    sentence = words("en")["found_many"].format(count=len(found), query="c++")
    assert page.locator(".search-summary").inner_text() == sentence


@pytest.mark.parametrize(
    ("language", "quoted", "plain"),
    [
        ("en", '"graph break"', "graph break"),
        ("pt", "“quebra de grafo”", "quebra de grafo"),
        ("ja", "「コンパイル」", "コンパイル"),
        ("en", "(compilers)", "compilers"),
    ],
)
def test_quotes_and_brackets_are_none_of_the_words(
    visit: Visit, language: str, quoted: str, plain: str
) -> None:
    with_signs, without = search(visit, language, quoted), search(visit, language, plain)
    assert results(without)
    assert results(with_signs) == results(without)
    marks = "#search-results mark"
    shown = with_signs.locator(marks).all_inner_texts()
    assert shown == without.locator(marks).all_inner_texts() != []


@pytest.mark.parametrize(("language", "word"), [("ja", "ウォームアップ"), ("zh", "冷启动")])
def test_what_search_finds_can_be_opened(visit: Visit, language: str, word: str) -> None:
    page = search(visit, language, word)
    excerpt = page.locator("#search-results p.context").first
    assert "Português" not in excerpt.inner_text()
    assert excerpt.locator("mark").first.inner_text() == word
    page.locator("#search-results a.hit").first.click()
    found = page.locator("article mark")
    found.first.wait_for()
    assert set(found.all_text_contents()) == {word}
    assert in_sight(page, "article mark")


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_says_how_many_pages_it_found(visit: Visit, language: str) -> None:
    page = search(visit, language, "torch.compile")
    sentence = page.locator(".search-summary").inner_text()
    shown = results(page)
    assert len(shown) > 1
    assert sentence == words(language)["found_many"].format(count=len(shown), query="torch.compile")
    nothing = search(visit, language, "qwertyuiop").locator(".search-summary").inner_text()
    assert nothing == words(language)["found_none"].format(query="qwertyuiop")


def test_a_hit_in_a_fold_opens_it(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html")
    text = page.locator("#solution-host-call > p").first.text_content()
    word = max(text.split(), key=len).strip(".,;:()`")
    page = visit(f"en/pytorch/hybridize.html?mark={quote(word)}#solution-host-call")
    assert page.locator("#solution-host-call").evaluate("e => e.open")
    assert in_sight(page, "#solution-host-call mark")
