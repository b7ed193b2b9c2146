"""The site's looks: on a phone and a wide screen, dark and light, with axe and as pictures."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from collection import LANGUAGES, one_of_each
from PIL import Image
from playwright.sync_api import Page
from site_page import PHONE, WIDE, place

Visit = Callable[..., Page]


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
    *(f"{'/'.join(edition)}.html" for edition in one_of_each()),
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


@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_nothing_that_was_printed_is_out_of_sight(visit: Visit, width: int) -> None:
    for path in ("en/pytorch/hybridize.html", "ja/tensorflow/limits.html"):
        page = visit(path, width=width)
        boxes = ".cell_output pre, .cell_output .text_html"
        if width == PHONE:
            boxes += ":not(:has(svg))"  # a wide graph scrolls there, rather than be unreadable
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
    empty = page.locator("table.listed td.nothing")
    assert empty.count() > 0
    assert set(empty.evaluate_all("all => all.map(e => getComputedStyle(e).display)")) == {"none"}


SHADOW = "e => getComputedStyle(e).backgroundImage.match(/gradient/g)?.length"


def test_plots_on_a_phone_can_be_read_and_show_that_they_scroll(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html", width=PHONE, is_mobile=True, has_touch=True)
    picture = page.locator(".cell_output img[src$='.png']").first
    assert picture.bounding_box()["width"] >= 480
    box = picture.locator("xpath=..")
    assert box.evaluate("e => e.scrollWidth - e.clientWidth") > 100
    assert box.evaluate(SHADOW) == 4
    wide = visit("en/pytorch/hybridize.html").locator(".cell_output img[src$='.png']").first
    assert wide.bounding_box()["width"] == 571


def test_code_on_a_phone_shows_that_it_scrolls(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html", width=PHONE, is_mobile=True, has_touch=True)
    code = page.locator(".cell_input pre:visible")
    assert any(code.evaluate_all("all => all.map(e => e.scrollWidth > e.clientWidth)"))
    assert code.first.evaluate(SHADOW) == 4


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


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_copy_button_covers_no_text_above_it(visit: Visit, language: str) -> None:
    page = visit(f"{language}/pytorch/hybridize.html")
    gaps = """all => all.map(button => {
      const above = button.closest('div.cell').previousElementSibling;
      return above && button.getBoundingClientRect().top - above.getBoundingClientRect().bottom;
    }).filter(gap => gap !== null)"""
    found = page.locator("div.cell > .cell_input button.copy").evaluate_all(gaps)
    assert len(found) > 5
    assert min(found) >= 2


def test_the_bars_hide_on_the_way_down_and_come_back(visit: Visit) -> None:
    page = visit("en/pytorch/hybridize.html", width=PHONE, is_mobile=True, has_touch=True)
    bottom = "() => document.querySelector('nav.switch').getBoundingClientRect().bottom"
    for _ in range(5):
        page.evaluate("scrollBy(0, 300)")
        page.wait_for_timeout(50)
    page.wait_for_function(f"({bottom})() <= 0")
    page.evaluate("scrollBy(0, -200)")
    page.wait_for_function(f"({bottom})() > 40")


def test_the_bars_stay_for_a_place_that_a_link_leads_to(visit: Visit) -> None:
    size = {"width": PHONE, "is_mobile": True, "has_touch": True}
    page = visit("en/pytorch/limits.html#sec-limits-index", **size)
    bottom = "document.querySelector('nav.switch').getBoundingClientRect().bottom"
    for section in ("sec-limits-index", "sec-limits-if"):
        page.evaluate("id => location.hash = id", section)
        page.wait_for_timeout(500)
        top = page.locator(f"#{section} > h2").evaluate("e => e.getBoundingClientRect().top")
        assert 40 < page.evaluate(bottom) - 1 <= top < 300


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
    assert sum(grey[150:]) > 0.001 * sum(grey)  # and there is something to see: text
    assert sum(grey[100:]) > 0.01 * sum(grey)  # and bars


def test_the_menu_opens_on_a_phone(visit: Visit) -> None:
    page = visit("zh/mxnet/limits.html", width=PHONE, has_touch=True, is_mobile=True)
    link = page.locator(".sidebar-tree a[href*='/tensorflow/']", has_text="编译器").last
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
        for kind, path in (("front", "index"), ("chapter", "pytorch/hybridize")):
            page = visit(f"{language}/{path}.html", **options)
            page.locator("figure.gains, .cell_output img").first.scroll_into_view_if_needed()
            page.wait_for_timeout(300)
            picture = screenshots / f"site-{language}-{kind}-{name}.png"
            page.screenshot(path=picture)
            assert picture.stat().st_size > 20_000
