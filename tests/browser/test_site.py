"""The site in a browser: ways, the first page, JupyterLab, code and folds, the search."""

import json
import re

import pytest
from collection import LANGUAGES, ROOT
from site_page import PHONE, WIDE, choose, place, results, search, top_of

from book.files import Key, read_notebook
from book.installation import is_installation
from website.words import words


def shown_cells(path):
    """Those of a notebook, but for the one that installs."""
    return [c for c in read_notebook(path).cells if not is_installation(c.metadata)]


# Languages and frameworks.


def test_the_first_visit_leads_to_the_browsers_language_or_offers_all(visit):
    for locale in ("zh-CN", "pt-PT", "ja"):
        page = visit(locale=locale)
        page.wait_for_url(f"**/{locale[:2]}/index.html")
        assert page.locator("html").get_attribute("lang").startswith(locale[:2])
    page = visit(locale="sv")
    page.locator("main li a", has_text="日本語").click()
    page.wait_for_url("**/ja/index.html")
    # The choice goes before the browser's language.
    visit(reader=page).wait_for_url("**/ja/index.html")


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_one_click_changes_language_or_framework_and_stays_at_the_section(visit, width):
    page = visit("en/tensorflow/limits.html#sec-limits-index", width=width)
    ways = {"ja": "language", "pytorch": "framework", "en": "language", "mxnet": "framework"}
    for value, kind in ways.items():
        choose(page, kind, value)
        assert value in place(page)
        assert place(page).endswith("limits.html#sec-limits-index")
        nav = page.locator("nav.switch").bounding_box()
        assert nav["y"] + nav["height"] - 1 <= top_of(page, "#sec-limits-index > h2") < 300


def test_a_section_of_one_framework_leads_to_what_is_around_it(visit):
    page = visit("ja/pytorch/limits.html#sec-finding-graph-breaks")
    choose(page, "framework", "mxnet")
    assert place(page) == "ja/mxnet/limits.html#sec-limits-own"
    page = visit("en/pytorch/hybridize.html#solution-host-call")
    choose(page, "framework", "tensorflow")
    assert place(page) == "en/tensorflow/hybridize.html#solution-host-call"
    assert page.locator("#solution-host-call").evaluate("e => e.open")
    assert not page.locator("#solution-branches").evaluate("e => e.open")


def test_the_choice_is_remembered(visit):
    page = visit("en/pytorch/hybridize.html")
    choose(page, "framework", "tensorflow")
    choose(page, "language", "zh")
    # On the way in,
    front = visit(reader=page)
    front.wait_for_url("**/zh/index.html")
    assert set(front.locator("a.chosen").all_inner_texts()) == {"TensorFlow"}
    # from pages that are in English only,
    reference = visit("en/api/timing.html", reader=page)
    reference.locator("article a", has_text="Is It Faster?").click()
    reference.wait_for_url("**/zh/tensorflow/hybridize.html#sec-acceleration")
    reference.goto(reference.url.replace("zh/tensorflow/hybridize", "en/docs/teaching"))
    reference.locator("article a", has_text="MXNet").first.click()  # a link that names another
    reference.wait_for_url("**/zh/mxnet/hybridize.html*")
    reference.goto(reference.url.replace("zh/mxnet/hybridize", "en/api/comparing"))
    reference.locator(".sidebar-brand").click()
    reference.wait_for_url("**/zh/index.html")
    # and a page in another language that somebody else has sent does not change it.
    visit("pt/mxnet/limits.html", reader=page)
    visit(reader=page).wait_for_url("**/zh/index.html")


# The first page, and how far a reader came.


def test_the_start_is_where_the_reader_was(visit):
    page = visit("en/index.html")
    page.locator(".page-front li a", has_text="TensorFlow").first.click()
    page.wait_for_url("**/tensorflow/hybridize.html*")
    page.locator("#sec-trade").scroll_into_view_if_needed()
    page.wait_for_function(
        "Object.values(JSON.parse(localStorage['d2l-read'] || '{}'))[0]?.read.length > 0"
    )
    front = visit("pt/index.html", reader=page)
    start = front.locator(".start-here a")
    assert start.inner_text().endswith("TensorFlow")
    read = front.locator(".page-front li a .progress")
    assert read.count() == 1
    assert re.fullmatch(r"\d+/\d+", read.inner_text())
    assert "lidas" in read.get_attribute("aria-label")
    assert front.locator("a.next-page").get_attribute("href").endswith("/tensorflow/hybridize.html")
    start.click()
    front.wait_for_url("**/pt/tensorflow/hybridize.html#sec-*")


# JupyterLab, wherever it runs.


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_jupyterlab_the_page_says_how_to_start_one(chromium, address, language):
    page = chromium.new_page()
    page.route("http://localhost:*/**", lambda route: route.abort())
    page.goto(f"{address}{language}/mxnet/limits.html")
    page.locator("a[data-lab]").click()
    note = page.locator(".lab-missing")
    note.locator("code").wait_for()
    assert note.inner_text() == words(language)["lab_missing"].replace("`", "")
    assert len(page.context.pages) == 1
    page.close()


def test_the_link_finds_the_jupyterlab_that_runs(chromium, address):
    context = chromium.new_context()
    page = context.new_page()

    def answer(route):
        if route.request.url == "http://localhost:8893/d2lhybrid/here":
            here = {"lab": "http://localhost:8893/lab/tree/"}
            route.fulfill(json=here, headers={"Access-Control-Allow-Origin": "*"})
        elif route.request.url.startswith("http://localhost:8893/lab/tree/"):
            route.fulfill(body="JupyterLab")
        else:
            route.abort()

    context.route("http://localhost:*/**", answer)
    page.goto(f"{address}pt/mxnet/limits.html")
    with context.expect_page() as opened:
        page.locator("a[data-lab]").click()
    opened.value.wait_for_url("http://localhost:8893/lab/tree/notebooks/pt/mxnet/limits.ipynb")
    context.close()


# Code, outputs and folds.


def test_code_can_be_copied(visit):
    page = visit("pt/pytorch/hybridize.html", permissions=["clipboard-read", "clipboard-write"])
    path = ROOT / Key("pt", "pytorch", "hybridize").path
    cells = [cell for cell in shown_cells(path) if cell.cell_type == "code"]
    block = page.locator("article .cell_input div.highlight").nth(2)
    block.hover()
    button = block.locator("button.copy")
    assert button.inner_text() == "Copiar"
    button.click()
    page.wait_for_function("document.querySelectorAll('button.copy')[2].textContent == 'Copiado'")
    assert page.evaluate("navigator.clipboard.readText()") == cells[2].source
    assert page.locator(".cell_output button.copy").count() == 0
    assert page.locator("article .cell_input button.copy").count() == len(cells)


def test_all_can_be_read_without_javascript(visit):
    page = visit(java_script_enabled=False, locale="ja")
    page.locator("main li a", has_text="简体中文").click()
    page.locator("article li a", has_text="PyTorch").first.click()
    page.locator('nav.switch a[data-framework="mxnet"]').click()
    page.wait_for_url("**/zh/mxnet/hybridize.html")
    assert len(page.locator("article").inner_text()) > 10_000
    for kind in ("solution", "hide"):
        fold = page.locator(f"details.{kind}").first
        inside = fold.locator("> :not(summary)").first
        assert not inside.is_visible()
        fold.locator("summary").click()
        assert inside.is_visible()


def test_pages_can_be_read_as_files(visit):
    page = visit((ROOT / "build/html/index.html").as_uri(), locale="ja")
    page.wait_for_url("file://**/ja/index.html")
    page.locator("article a", has_text="MXNet").first.click()
    page.wait_for_url("file://**/ja/mxnet/hybridize.html")
    choose(page, "language", "zh")
    search(page, "重新编译")
    assert "mxnet/limits" in results(page)
    assert page.locator(".context").count() == 0  # files cannot read others


# The search.


def pages_with(language, word):
    """The chapters of a language whose notebooks hold a text, as a whole word in Latin letters."""
    text = re.compile(rf"(?<![a-z0-9_]){re.escape(word.lower())}(?![a-z0-9_])")
    for path in (ROOT / "notebooks" / language).glob("*/*.ipynb"):
        cells = json.dumps(shown_cells(path)[1:-1], ensure_ascii=False)  # without links to others
        if text.search(cells.lower().replace("\\n", " ")):
            yield f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize(
    ("language", "typed", "written"),
    [
        *(("zh", word, word) for word in ("追踪", "图中断", "重新编译")),
        *(("ja", word, word) for word in ("コンパイル", "定数畳み込み", "fullgraph")),
        # Other forms of a word.
        *(("en", "serializing", "Serialization"), ("pt", "compilacao", "compilação")),
        *(("zh", "compiling", "compile"), ("ja", "ＰｙＴｏｒｃｈ", "PyTorch")),
        *(("zh", "量子力学", ""), ("en", "qwertyuiop", "")),
    ],
)
def test_search_finds_the_pages_that_have_a_word(visit, language, typed, written):
    page = visit(f"{language}/index.html")
    search(page, typed)
    if not written:
        assert results(page) == []
        return
    found, wanted = results(page), set(pages_with(language, written))
    assert wanted
    assert wanted <= set(found)
    shown = page.locator("#search-results ul.search > li").count()
    sentence = words(language)["found"].replace("${resultCount}", str(shown))
    assert page.locator(".search-summary").inner_text() == sentence
    page.locator("#search-results ul.search a").first.click()
    page.wait_for_url(f"**/{language}/{found[0]}.html*")


@pytest.mark.parametrize("language", ["pt", "zh"])
def test_a_search_leads_to_the_same_in_english_where_the_documents_are(visit, language):
    page = visit(f"{language}/index.html")
    search(page, "LSTM")
    page.get_by_text(words(language)["search_reference"]).click()
    page.wait_for_url("**/en/search.html?q=LSTM*")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")
    assert "docs/models" in results(page)


@pytest.mark.parametrize(
    ("language", "typed", "marks"),
    [
        ("en", "graph breaks", {"graph", "break"}),
        ("pt", "compilacao", {"compilação"}),
        ("zh", "图中断", {"图中断"}),
        ("ja", "コンパイラ", {"コンパイラ"}),
    ],
)
def test_search_shows_what_a_page_says_with_the_words_marked(visit, language, typed, marks):
    page = visit(f"{language}/index.html")
    search(page, typed)
    found = page.locator("#search-results ul.search > li")
    excerpts = page.locator("#search-results ul.search > li > .context")
    page.wait_for_function(
        "() => document.querySelectorAll('#search-results li .context').length > 5"
    )
    page.wait_for_load_state("networkidle")
    assert excerpts.count() == found.count()
    for excerpt in excerpts.all():
        assert 0 < len(excerpt.inner_text()) <= 210
        assert excerpt.locator("mark").count() > 0
    marked = {text.lower() for text in excerpts.locator("mark").all_inner_texts()}
    assert all(any(word in text for text in marked) for word in marks)
    # It is what the page says.
    text = excerpts.first.inner_text().strip("… ")
    found.first.locator("a").click()
    page.wait_for_url(f"**/{language}/**.html*")
    assert text in " ".join(page.locator("article").text_content().split())
