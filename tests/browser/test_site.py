"""The site as a reader has it: in a browser, on a wide screen and on a phone, in every language."""

import functools
import json
import re
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, Route

from book.files import Key, read_notebook
from website.words import words

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "pt", "zh", "ja")
FRAMEWORKS = ("mxnet", "pytorch", "tensorflow")
WIDE, PHONE = 1500, 375

Visit = Callable[..., Page]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Where the site is served, built anew as far as something has changed."""
    from website.build import build_site

    folder = ROOT / "build" / "html"
    build_site(ROOT, folder, ROOT / "build" / "html-work", jobs=2)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Visit]:
    """Opens a page as a new reader; all pages of one test that share a reader share its memory.

    At the end, no page has asked another host for anything or complained in its console.
    """
    contexts, asked, complaints = [], [], []

    def open_page(
        path: str = "", reader: Page | None = None, width: int = WIDE, **options: object
    ) -> Page:
        if reader is None:
            size = {"width": width, "height": 720}
            context = chromium.new_context(viewport=size, **{"locale": "en", **options})
            context.on("request", lambda request: asked.append(request.url))
            contexts.append(context)
        else:
            context = reader.context
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(address + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert asked
    assert not [url for url in asked if not url.startswith((address, "data:"))]
    assert not complaints


def place(page: Page) -> str:
    """The path and fragment of the page's address."""
    parts = urlsplit(page.url)
    return parts.path[1:] + ("#" + parts.fragment if parts.fragment else "")


def choose(page: Page, kind: str, value: str) -> None:
    """Click on a language or framework above the text."""
    page.locator(f'nav.switch a[data-{kind}="{value}"]').click()
    page.wait_for_load_state()


def top_of(page: Page, selector: str) -> float:
    return float(page.locator(selector).evaluate("e => e.getBoundingClientRect().top"))


# Languages and frameworks.


@pytest.mark.parametrize(
    ("locale", "expected"),
    [("zh-CN", "zh/index.html"), ("pt-PT", "pt/index.html"), ("ja", "ja/index.html")],
)
def test_the_first_visit_leads_to_the_browsers_language(
    visit: Visit, locale: str, expected: str
) -> None:
    page = visit(locale=locale)
    page.wait_for_url(f"**/{expected}")
    assert page.locator("html").get_attribute("lang").startswith(locale[:2])


def test_the_first_visit_with_another_language_offers_all(visit: Visit) -> None:
    page = visit(locale="sv")
    assert page.locator("main li a").all_inner_texts()[1].startswith("Português")
    page.locator("main li a", has_text="日本語").click()
    page.wait_for_url("**/ja/index.html")
    again = visit(reader=page)  # the choice goes before the browser's language
    again.wait_for_url("**/ja/index.html")


def test_one_click_changes_the_framework_and_stays_at_the_section(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html#sec-serialization")
    page.mouse.wheel(0, 300)
    page.wait_for_function(
        "document.querySelector('nav.switch [data-framework=mxnet]').hash === '#sec-serialization'"
    )
    choose(page, "framework", "mxnet")
    assert place(page) == "en/mxnet/hybridize.html#sec-serialization"
    nav = page.locator("nav.switch").bounding_box()
    assert nav["y"] <= 1  # in sight
    assert nav["height"] - 1 <= top_of(page, "#sec-serialization > h2") < 200


@pytest.mark.parametrize("width", [WIDE, PHONE])
def test_one_click_changes_the_language_and_stays_at_the_section(visit: Visit, width: int) -> None:
    page = visit("en/tensorflow/limits.html#sec-limits-index", width=width)
    for language in ("ja", "zh", "en"):
        choose(page, "language", language)
        assert place(page) == f"{language}/tensorflow/limits.html#sec-limits-index"
        nav = page.locator("nav.switch").bounding_box()
        assert nav["y"] + nav["height"] - 1 <= top_of(page, "#sec-limits-index > h2") < 300


def test_a_section_of_one_framework_leads_to_what_is_around_it(visit: Visit) -> None:
    page = visit("en/pytorch/limits.html#sec-graph-breaks-counted-and-located")
    choose(page, "language", "ja")
    assert place(page).endswith("pytorch/limits.html#sec-graph-breaks-counted-and-located")
    choose(page, "framework", "mxnet")
    assert place(page) == "ja/mxnet/limits.html#sec-limits-own"


def test_at_the_top_of_a_page_the_other_page_opens_at_its_top(visit: Visit) -> None:
    page = visit("en/pytorch/limits.html")
    choose(page, "framework", "tensorflow")
    assert place(page) == "en/tensorflow/limits.html"


def test_a_solution_opens_in_the_other_framework(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html#solution-host-call")
    assert page.locator("#solution-host-call").evaluate("e => e.open")
    choose(page, "framework", "tensorflow")
    assert place(page) == "en/tensorflow/hybridize.html#solution-host-call"
    assert page.locator("#solution-host-call").evaluate("e => e.open")
    assert not page.locator("#solution-branches").evaluate("e => e.open")


def test_the_choice_is_remembered(visit: Visit) -> None:
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
def test_the_first_page_shows_what_was_found(visit: Visit, language: str, width: int) -> None:
    page = visit(f"{language}/index.html", width=width)
    start = page.locator(".start-here a")
    assert start.inner_text().startswith(words(language)["start"])
    assert start.inner_text().endswith("PyTorch")
    box = page.locator("figure.gains").bounding_box()
    assert box["height"] > 150
    assert box["x"] + box["width"] <= width
    bars = page.locator(".gains .bar.faster").evaluate_all("all => all.map(e => e.clientWidth)")
    assert len(bars) > 3
    assert max(bars) > 3 * min(bars)
    assert page.locator("#findings ol li").count() == 3
    assert page.locator(".page-front li a.internal").first.inner_text() == "PyTorch"


def test_the_start_is_where_the_reader_was(visit: Visit) -> None:
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
    start.click()
    front.wait_for_url("**/pt/tensorflow/hybridize.html#sec-*")


def test_every_chapter_leads_to_the_next(visit: Visit) -> None:
    page = visit("ja/index.html")
    page.locator("a.next-page").click()
    page.wait_for_url("**/ja/pytorch/hybridize.html")
    page.locator("a.next-page").click()
    page.wait_for_url("**/ja/pytorch/*.html")
    page.locator("a.prev-page").click()
    page.wait_for_url("**/ja/pytorch/hybridize.html")


# JupyterLab, wherever it runs.


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_a_jupyterlab_the_page_says_how_to_start_one(
    chromium: Browser, address: str, language: str
) -> None:
    page = chromium.new_page()
    page.route("http://localhost:*/**", lambda route: route.abort())
    page.goto(f"{address}{language}/mxnet/limits.html")
    page.locator("a[data-lab]").click()
    note = page.locator(".lab-missing")
    note.locator("code").wait_for()
    assert note.inner_text() == words(language)["lab_missing"].replace("`", "")
    assert len(page.context.pages) == 1
    page.close()


def test_the_link_finds_the_jupyterlab_that_runs(chromium: Browser, address: str) -> None:
    context = chromium.new_context()
    page = context.new_page()

    def answer(route: Route) -> None:
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


# Search.


def search(visit: Visit, language: str, words: str) -> Page:
    """Type words into the search of a language's first page and wait for the answer."""
    page = visit(f"{language}/index.html")
    page.locator(".sidebar-search").fill(words)
    page.locator(".sidebar-search").press("Enter")
    page.wait_for_url("**/search.html?*")
    page.wait_for_function("document.querySelector('.search-summary')?.textContent")
    return page


def results(page: Page) -> list[str]:
    """The pages found, without their endings."""
    page.wait_for_timeout(300)  # results appear one by one
    links = page.locator("#search-results ul.search a").all()
    found = [str(link.get_attribute("href")).split(".html")[0] for link in links]
    return list(dict.fromkeys(found))


def pages_with(language: str, words: str) -> set[str]:
    """The chapters of a language whose notebooks hold a text."""
    found = (ROOT / "notebooks" / language).glob("*/*.ipynb")
    return {
        f"{path.parent.name}/{path.stem}"
        for path in found
        if words.lower() in path.read_text(encoding="utf-8").lower()
    }


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
    found = {page for page in results(search(visit, language, words)) if page[0] in "mpt"}
    assert found == pages_with(language, words)


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
    assert pages_with(language, written) <= set(found)


def test_characters_that_are_no_neighbours_are_no_word(visit: Visit) -> None:
    assert "编译器" in (ROOT / "notebooks/zh/pytorch/limits.ipynb").read_text(encoding="utf-8")
    assert results(search(visit, "zh", "器译编")) == []


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


IN_SIGHT = """marks => marks.some(mark => {
  const box = mark.getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
})"""


def in_sight(page: Page, selector: str) -> bool:
    """Whether one of these stands in the window once the page has come to rest."""
    page.wait_for_timeout(500)
    return bool(page.locator(selector).evaluate_all(IN_SIGHT))


@pytest.mark.parametrize("language", LANGUAGES)
def test_search_says_how_many_pages_it_found(visit: Visit, language: str) -> None:
    page = search(visit, language, "torch.compile")
    sentence = page.locator(".search-summary").inner_text()
    shown = results(page)
    assert len(shown) > 1
    assert sentence == words(language)["found_many"].format(count=len(shown), query="torch.compile")
    nothing = search(visit, language, "qwertyuiop").locator(".search-summary").inner_text()
    assert nothing == words(language)["found_none"].format(query="qwertyuiop")


def test_a_word_in_code_is_marked_across_its_colours(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html?mark=torch.compile#sec-serialization")
    pieces = page.locator("article .cell_input mark").all_inner_texts()
    assert "".join(pieces).replace("torch.compile", "") == ""
    assert len(pieces) > 2 * pieces.count("torch.compile")


def test_a_hit_in_a_fold_opens_it(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html")
    text = page.locator("#solution-host-call > p").first.text_content()
    word = max(text.split(), key=len).strip(".,;:()`")
    page = visit(f"en/pytorch/hybridize.html?mark={quote(word)}#solution-host-call")
    assert page.locator("#solution-host-call").evaluate("e => e.open")
    assert in_sight(page, "#solution-host-call mark")


def test_search_shows_the_readers_framework_first(visit: Visit) -> None:
    for framework in FRAMEWORKS:
        page = visit(f"en/{framework}/hybridize.html")
        page.locator(".sidebar-search").fill("interpreter")
        page.locator(".sidebar-search").press("Enter")
        page.wait_for_url("**/search.html?*")
        page.wait_for_selector("#search-results ul.search li")
        first = results(page)[0]
        assert first == f"{framework}/hybridize"
        text = page.locator("#search-results ul.search a").first.inner_text().lower()
        assert framework in text  # the same chapter thrice: which is which


# Code, outputs and folds.


def test_code_can_be_copied(visit: Visit) -> None:
    page = visit("pt/pytorch/hybridize.html", permissions=["clipboard-read", "clipboard-write"])
    notebook = read_notebook(ROOT / Key("pt", "pytorch", "hybridize").path)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    block = page.locator("article .cell_input div.highlight").nth(2)
    block.hover()
    button = block.locator("button.copy")
    assert button.inner_text() == "Copiar"
    button.click()
    page.wait_for_function("document.querySelectorAll('button.copy')[2].textContent == 'Copiado'")
    assert page.evaluate("navigator.clipboard.readText()") == cells[2].source
    assert page.locator(".cell_output button.copy").count() == 0
    assert page.locator("article .cell_input button.copy").count() == len(cells)


def test_of_an_example_only_what_was_typed_is_copied(visit: Visit) -> None:
    page = visit("en/api/timing.html", permissions=["clipboard-read", "clipboard-write"])
    block = page.locator("div.highlight", has_text=">>> timer")
    block.hover()
    block.locator("button.copy").click()
    typed = page.evaluate("navigator.clipboard.readText()")
    assert typed == "timer = Timer()\nseconds = timer.stop()\ntimer.times == [seconds]"


def test_solutions_and_hidden_code_open_with_a_click(visit: Visit) -> None:
    for language, javascript in (("en", True), ("zh", False)):
        page = visit(f"{language}/tensorflow/hybridize.html", java_script_enabled=javascript)
        for kind in ("solution", "hide"):
            fold = page.locator(f"details.{kind}").first
            inside = fold.locator("> :not(summary)").first
            assert not inside.is_visible()
            fold.locator("summary").click()
            assert inside.is_visible()


def test_outputs_are_there(visit: Visit) -> None:
    page = visit("ja/mxnet/hybridize.html")
    image = page.locator(".cell_output img")
    image.scroll_into_view_if_needed()
    assert image.evaluate("e => e.complete && e.naturalWidth") > 400
    figure = page.locator("article img[src$='.svg']")
    assert figure.evaluate("e => e.complete && e.naturalWidth") > 300
    rows = page.locator(".cell_output .text_html table").first.locator("tbody tr")
    assert rows.count() >= 4


def test_all_can_be_read_without_javascript(visit: Visit) -> None:
    landing = visit(java_script_enabled=False, locale="ja")
    assert place(landing) == ""
    landing.locator("main li a", has_text="简体中文").click()
    landing.wait_for_url("**/zh/index.html")
    landing.locator("article a", has_text="PyTorch").first.click()
    landing.wait_for_url("**/zh/pytorch/hybridize.html")
    text = landing.locator("article").inner_text()
    assert len(text) > 10_000
    landing.locator('nav.switch a[data-framework="mxnet"]').click()
    landing.wait_for_url("**/zh/mxnet/hybridize.html")


def test_pages_can_be_read_as_files(chromium: Browser, address: str) -> None:
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
    page.wait_for_selector("#search-results ul.search li")
    assert results(page)[0] == "mxnet/limits"
    assert "延迟计算" in page.locator("#search-results p.context").first.inner_text()
    page.locator("#search-results a.hit").first.click()
    page.wait_for_selector("article mark")
    assert in_sight(page, "article mark")
    assert complaints == []
    context.close()


# Looks.


def test_fonts_are_the_readers_own(visit: Visit) -> None:
    for language, font in (("zh", "PingFang SC"), ("ja", "Hiragino Sans")):
        page = visit(f"{language}/pytorch/hybridize.html")
        assert page.evaluate("document.fonts.size") == 0
        assert font in page.locator("article p").first.evaluate(
            "e => getComputedStyle(e).fontFamily"
        )


def test_dark_and_light(visit: Visit) -> None:
    def shade(page: Page) -> float:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour[4:-1].split(",")[:3]))

    assert shade(visit("en/index.html", color_scheme="light")) > 700
    page = visit("en/index.html", color_scheme="dark")
    assert shade(page) < 100
    button = page.locator(".theme-toggle-content .theme-toggle")
    button.click()
    while page.locator("body").get_attribute("data-theme") != "light":
        button.click()
    assert shade(page) > 700
    assert shade(visit("pt/mxnet/limits.html", reader=page)) > 700  # remembered


OUTSIDE = """() => {
  const scrolls = (e) => {
    for (; e && e.tagName !== 'ARTICLE'; e = e.parentElement)
      if (['auto', 'scroll'].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  return [...document.querySelectorAll('article *, main *')]
    .filter((e) => !e.closest('details:not([open]) > :not(summary)') && e.checkVisibility())
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
    .filter((e) => !e.closest('svg, math') && !e.closest('pre, table'))
    .map((e) => e.outerHTML.slice(0, 120));
}"""

PAGES = [
    *(f"{language}/index.html" for language in LANGUAGES),
    *(f"{a}/{b}/hybridize.html" for a, b in zip(LANGUAGES, (*FRAMEWORKS, "mxnet"), strict=True)),
    *(f"{a}/{b}/limits.html" for a, b in zip(LANGUAGES, ("pytorch", *FRAMEWORKS), strict=True)),
    *("en/api/comparing.html", "en/api/surroundings.html", "en/docs/authoring.html"),
    *("en/docs/results-schema.html", "ja/search.html?q=" + quote("コンパイラ")),
]


@pytest.mark.parametrize("path", ["", *PAGES])
def test_pages_fit_a_phone(visit: Visit, path: str) -> None:
    page = visit(path, width=PHONE, locale="sv", has_touch=True, is_mobile=True)
    for fold in page.locator("details").all():
        fold.evaluate("e => (e.open = true)")
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE
    page.mouse.wheel(500, 0)
    assert page.evaluate("scrollX") == 0
    assert page.evaluate(OUTSIDE) == []


def test_wide_code_scrolls_by_itself_on_a_phone(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html", width=PHONE)
    boxes = page.locator(".cell_input pre").evaluate_all(
        "all => all.filter(e => e.scrollWidth > e.clientWidth).map(e => {"
        " e.scrollLeft = 50; return [e.scrollLeft, e.tabIndex]; })"
    )
    assert boxes
    assert all(moved > 0 and reached == 0 for moved, reached in boxes)


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_nothing_that_was_printed_is_out_of_sight(visit: Visit, width: int) -> None:
    for path in ("en/pytorch/hybridize.html", "ja/tensorflow/limits.html"):
        page = visit(path, width=width)
        boxes = ".cell_output pre, .cell_output .text_html"
        assert page.locator(boxes).count() > 10
        cut = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
        assert page.locator(boxes).evaluate_all(cut) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_cell_of_a_comparison_is_on_a_phones_screen(visit: Visit, language: str) -> None:
    page = visit(f"{language}/pytorch/hybridize.html", width=PHONE, is_mobile=True, has_touch=True)
    cells = page.locator(".cell_output .text_html table").first.locator("tbody td:visible")
    assert cells.count() > 12
    for box in cells.evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())"):
        assert box["left"] >= 0
        assert box["right"] <= PHONE


@pytest.mark.parametrize("phone", [True, False])
def test_the_copy_button_covers_no_code(visit: Visit, phone: bool) -> None:
    options = {"is_mobile": True, "has_touch": True, "width": PHONE} if phone else {}
    page = visit("en/pytorch/hybridize.html", **options)
    block = page.locator("article .cell_input div.highlight").nth(2)
    block.scroll_into_view_if_needed()
    block.hover()
    button, code = block.locator("button.copy"), block.locator("pre")
    assert button.evaluate("e => getComputedStyle(e).opacity") == "1"
    above = button.bounding_box()
    assert above["y"] + above["height"] <= code.bounding_box()["y"] + 1


def test_the_bars_hide_on_the_way_down_and_come_back(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html", width=PHONE, is_mobile=True, has_touch=True)
    bottom = "() => document.querySelector('nav.switch').getBoundingClientRect().bottom"
    page.evaluate("scrollTo(0, 1500)")
    page.wait_for_function(f"({bottom})() <= 0")
    page.evaluate("scrollTo(0, 1300)")
    page.wait_for_function(f"({bottom})() > 40")


def test_pills_stand_in_the_middle(visit: Visit) -> None:
    page = visit("zh/pytorch/hybridize.html")
    off = """all => all.map(link => {
      const range = document.createRange();
      range.selectNodeContents(link);
      const [text, box] = [range.getBoundingClientRect(), link.getBoundingClientRect()];
      return Math.abs(text.top + text.bottom - box.top - box.bottom) / 2;
    })"""
    assert max(page.locator("nav.switch a").evaluate_all(off)) < 1.5


def test_plots_are_dark_in_the_dark(visit: Visit, tmp_path: Path) -> None:
    page = visit("en/pytorch/hybridize.html", color_scheme="dark")
    picture = page.locator(".cell_output img").first
    picture.scroll_into_view_if_needed()
    picture.screenshot(path=tmp_path / "plot.png")
    with Image.open(tmp_path / "plot.png") as image:
        grey = image.convert("L").histogram()
    assert sum(grey[:90]) > 0.8 * sum(grey)
    assert sum(grey[150:]) > 0.005 * sum(grey)  # and there is something to see


def test_the_menu_opens_on_a_phone(visit: Visit) -> None:
    page = visit("zh/mxnet/limits.html", width=PHONE, has_touch=True, is_mobile=True)
    link = page.locator(".sidebar-tree a", has_text="编译器").last
    assert link.bounding_box()["x"] < 0
    page.locator(".header-left label").tap()
    page.wait_for_timeout(500)
    assert link.bounding_box()["x"] >= 0
    link.tap()
    page.wait_for_url("**/zh/tensorflow/*.html")


def test_the_keyboard_skips_to_the_content(visit: Visit) -> None:
    page = visit("ja/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "本文へ移動"
    page.wait_for_function("document.activeElement.getBoundingClientRect().top >= 0")
    page.keyboard.press("Enter")
    assert place(page).endswith("#furo-main-content")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["", *PAGES])
def test_axe_finds_no_serious_fault(visit: Visit, path: str, scheme: str) -> None:
    page = visit(path, color_scheme=scheme, locale="sv")
    if "search" in path:
        page.wait_for_selector("#search-results ul.search li")
    for fold in page.locator("details").all():
        fold.evaluate("e => (e.open = true)")
    page.wait_for_timeout(200)
    found = Axe().run(page).response["violations"]
    faults = {
        fault["id"]: [node["html"][:200] for node in fault["nodes"]][:5]
        for fault in found
        if fault["impact"] in ("serious", "critical")
    }
    assert not faults, json.dumps(faults, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_pictures_are_taken(visit: Visit, screenshots: Path, language: str) -> None:
    shots = {
        "light": {"width": WIDE, "color_scheme": "light"},
        "dark": {"width": WIDE, "color_scheme": "dark"},
        "phone": {"width": PHONE, "is_mobile": True, "has_touch": True},
    }
    for name, options in shots.items():
        page = visit(f"{language}/pytorch/hybridize.html#sec-acceleration", **options)
        page.wait_for_timeout(300)
        picture = screenshots / f"site-{language}-{name}.png"
        page.screenshot(path=picture)
        assert picture.stat().st_size > 20_000
