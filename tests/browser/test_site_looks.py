"""The site's looks: on a phone and a wide screen, dark and light, with axe and as pictures."""

import json
from itertools import pairwise
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from collection import LANGUAGES, one_of_each
from site_page import ON_A_PHONE, PHONE, WIDE, place

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
CUT = "all => all.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"
LABELS = """rows => rows.map(row => [...row.cells].slice(1)
  .filter(cell => cell.textContent.trim()).map(cell => cell.dataset.head))"""
PAGES = [
    "",
    *(f"{language}/index.html" for language in LANGUAGES),
    *(f"{'/'.join(edition)}.html" for edition in one_of_each()),
    *("en/api/comparing.html", "en/api/surroundings.html", "en/docs/authoring.html"),
    *("en/docs/results-schema.html", "ja/search.html?q=" + quote("コンパイラ")),
]


def unfold(page):
    if "search" in page.url:
        page.wait_for_selector("#search-results ul.search li")
    page.locator("details").evaluate_all("all => all.forEach(e => (e.open = true))")


@pytest.mark.parametrize("path", PAGES)
def test_pages_fit_a_phone(visit, path):
    page = visit(path, locale="sv", **ON_A_PHONE)
    unfold(page)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_no_serious_fault(visit, path, scheme):
    page = visit(path, color_scheme=scheme, locale="sv")
    unfold(page)
    page.wait_for_timeout(200)
    faults = {
        fault["id"]: [node["html"][:200] for node in fault["nodes"]][:5]
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in ("serious", "critical")
    }
    assert not faults, json.dumps(faults, indent=1, ensure_ascii=False)


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_nothing_that_was_printed_is_out_of_sight(visit, width):
    for path in ("en/pytorch/hybridize.html", "ja/tensorflow/limits.html"):
        page = visit(path, width=width)
        boxes = ".cell_output pre, .cell_output .text_html"
        if width == PHONE:
            boxes += ":not(:has(svg))"  # a wide graph scrolls there, rather than be unreadable
        assert page.locator(boxes).count() > 10
        assert page.locator(boxes).evaluate_all(CUT) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_table_on_a_phone_is_a_list(visit, language):
    page = visit(f"{language}/pytorch/hybridize.html", **ON_A_PHONE)
    cells = page.locator(".cell_output .text_html table").first.locator("tbody td:visible")
    assert cells.count() >= 12
    for box in cells.evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())"):
        assert 0 <= box["left"] <= box["right"] <= PHONE
    empty = page.locator("table.listed td.nothing")
    assert empty.count() > 0
    assert not any(one.is_visible() for one in empty.all())


@pytest.mark.parametrize("language", LANGUAGES)
def test_on_a_phone_every_figure_has_its_label_and_a_table_fits_in_a_screen_and_a_half(
    visit, language
):
    for path in ("pytorch/hybridize", "jax/faster", "mxnet/hybridize"):
        page = visit(f"{language}/{path}.html", **ON_A_PHONE | {"width": 390})
        assert page.locator("table.dense").count() > 0
        for table in page.locator("table.dense").all():
            rows = table.locator("tbody tr").evaluate_all(LABELS)
            assert all(all(row) and len(set(row)) == len(row) for row in rows)
        # Also with the sentences below it, and where it lies in a fold.
        boxes = page.locator(".text_html:has(> div > table.dense)")
        assert boxes.count() > 0
        for box in boxes.all():
            assert box.evaluate("e => e.offsetHeight") <= 1.5 * 844


def test_a_heading_of_two_lines_is_read_as_two_words(visit):
    page = visit("en/jax/faster.html", **ON_A_PHONE)
    page.wait_for_selector("table.dense", state="attached")
    labels = {
        label for row in page.locator("table.dense tbody tr").evaluate_all(LABELS) for label in row
    }
    wanted = {"latency\nratio", "throughput\nratio", "latency\ntime", "cold start"}
    assert wanted | {"latency\nverdict", "throughput\neager"} <= labels
    assert not [label for label in labels if "throughput" in label and "cold" in label]


@pytest.mark.parametrize("width", [1280, WIDE])
def test_the_contents_of_a_chapter_stand_beside_it(visit, width):
    page = visit("pt/pytorch/hybridize.html", width=width)
    text, contents = (
        page.locator("article").bounding_box(),
        page.locator(".toc-tree").bounding_box(),
    )
    assert text["x"] + text["width"] < contents["x"]
    assert contents["x"] + contents["width"] <= width
    assert text["width"] > 700
    assert not page.locator(".toc-content-icon").is_visible()


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_the_stages_of_a_graph_stand_where_they_fit(visit, width):
    page = visit("en/pytorch/hybridize.html", width=width)
    stages = page.locator(".cell_output svg[role=img]").first.locator("> g")
    boxes = stages.evaluate_all("all => all.map(e => e.getBoundingClientRect().toJSON())")
    assert len(boxes) == 3
    assert all(0 <= box["left"] <= box["right"] <= width for box in boxes)
    for one, following in pairwise(boxes):
        before, after = ("bottom", "top") if width == PHONE else ("right", "left")
        assert one[before] < following[after]


def test_columns_that_were_printed_stay_columns_on_a_phone(visit):
    page = visit("ja/pytorch/faster.html", **ON_A_PHONE)
    printed = page.locator(".cell_output pre", has_text="エンコーダ、バッチサイズ32").first
    lines = printed.inner_text().strip().splitlines()
    style = "e => ['height', 'lineHeight'].map(name => parseFloat(getComputedStyle(e)[name]))"
    height, line = printed.evaluate(style)
    assert height < (len(lines) + 1) * line


def test_the_sign_for_a_headings_address_takes_no_line(visit):
    page = visit("pt/pytorch/faster.html", width=1280)
    heights = "all => all.map(e => e.offsetHeight)"
    shown = page.locator("article h2").evaluate_all(heights)
    page.locator(".headerlink").evaluate_all("all => all.forEach(e => e.remove())")
    assert page.locator("article h2").evaluate_all(heights) == shown


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_no_column_is_one_character_wide(visit, language):
    for width in (WIDE, PHONE):
        page = visit(f"{language}/pytorch/faster.html", width=width)
        first = page.locator(".table-wrapper table").first.locator("tbody td:first-child")
        sizes = first.evaluate_all("all => all.map(e => parseFloat(getComputedStyle(e).width))")
        assert min(sizes) > 40


def test_the_menu_and_the_keyboard_lead_to_places(visit):
    page = visit("ja/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").strip() == "本文へ移動"
    page.keyboard.press("Enter")
    assert place(page).endswith("#furo-main-content")
    page = visit("zh/mxnet/limits.html", **ON_A_PHONE)
    link = page.locator(".sidebar-tree a[href*='/tensorflow/']", has_text="编译器").last
    page.locator(".header-left label").tap()
    page.wait_for_timeout(500)
    link.tap()
    page.wait_for_url("**/zh/tensorflow/*.html")
