"""The site in a browser: languages and frameworks, the first page, JupyterLab, code and folds."""

import re
from collections.abc import Callable

import pytest
from collection import LANGUAGES, ROOT
from playwright.sync_api import Page
from site_page import PHONE, WIDE, choose, place, results, top_of

from book.files import Key, read_notebook
from book.installation import is_installation
from website.words import words

Visit = Callable[..., Page]


# Languages and frameworks.


@pytest.mark.parametrize("locale", ["zh-CN", "pt-PT", "ja"])
def test_the_first_visit_leads_to_the_browsers_language(visit, locale):
    page = visit(locale=locale)
    page.wait_for_url(f"**/{locale[:2]}/index.html")
    assert page.locator("html").get_attribute("lang").startswith(locale[:2])


def test_the_first_visit_with_another_language_offers_all(visit):
    page = visit(locale="sv")
    page.locator("main li a", has_text="日本語").click()
    page.wait_for_url("**/ja/index.html")
    again = visit(reader=page)  # the choice goes before the browser's language
    again.wait_for_url("**/ja/index.html")


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
    page = visit("ja/pytorch/limits.html#sec-graph-breaks-counted-and-located")
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
    reference.locator("article a", has_text="Acceleration").click()
    reference.wait_for_url("**/zh/tensorflow/hybridize.html#sec-acceleration")
    reference.goto(reference.url.replace("zh/tensorflow/hybridize", "en/api/comparing"))
    reference.locator(".sidebar-brand").click()
    reference.wait_for_url("**/zh/index.html")
    # and a page in another language that somebody else has sent does not change it.
    visit("pt/mxnet/limits.html", reader=page)
    again = visit(reader=page)
    again.wait_for_url("**/zh/index.html")


# The first page, and how far a reader came.


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_the_first_page_shows_what_was_found(visit, language, width):
    page = visit(f"{language}/index.html", width=width)
    start = page.locator(".start-here a")
    assert start.inner_text().startswith(words(language)["start"])
    assert start.inner_text().endswith("PyTorch")
    box = page.locator("figure.gains").bounding_box()
    assert box["height"] > 150
    assert box["x"] + box["width"] <= width
    bars = page.locator(".gains .bar").evaluate_all("all => all.map(e => +e.getAttribute('width'))")
    assert len(bars) > 3
    assert max(bars) > 3 * min(bars)
    assert page.locator("#findings ol li").count() == 3
    assert page.locator(".page-front li a.internal").first.inner_text() == "PyTorch"


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


def test_every_chapter_leads_to_the_next(visit):
    page = visit("ja/index.html")
    there = "ja/pytorch/hybridize.html", "ja/pytorch/*.html"
    for way, path in (("next", 0), ("next", 1), ("prev", 0)):
        page.locator(f"a.{way}-page").click()
        page.wait_for_url(f"**/{there[path]}")
    # At the ends is the first page.
    for path, way in (("zh/jax/hybridize", "prev"), ("zh/jax/limits", "next")):
        page.goto(page.url.split("/ja/")[0].split("/zh/")[0] + f"/{path}.html")
        page.locator(f"a.{way}-page").click()
        page.wait_for_url("**/zh/index.html")


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
    notebook = read_notebook(ROOT / Key("pt", "pytorch", "hybridize").path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cells = [cell for cell in code if not is_installation(cell.metadata)]
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


def test_pages_can_be_read_as_files(chromium, address):
    context = chromium.new_context(locale="ja")
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.goto((ROOT / "build/html/index.html").as_uri())
    page.wait_for_url("file://**/ja/index.html")
    page.locator("article a", has_text="MXNet").first.click()
    page.wait_for_url("file://**/ja/mxnet/hybridize.html")
    choose(page, "language", "zh")
    page.locator(".sidebar-search").fill("延迟计算")
    page.locator(".sidebar-search").press("Enter")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")
    assert "mxnet/limits" in results(page)
    assert complaints == []
    context.close()
