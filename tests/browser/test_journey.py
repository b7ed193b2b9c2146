"""The whole way of a reader, on the site and in JupyterLab, in two languages and frameworks.

First page, chapter, in JupyterLab all its cells run, the same section in another language and in
another framework, and back; in JupyterLab, what was run is reset.
"""

import re

import lab_page
import pytest
from collection import CHAPTERS, ROOT
from lab_server import LabServer
from site_page import PHONE, WIDE, choose, place, top_of

from book.files import Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES

# From the reader's language and framework to another language and framework.
WAYS = [("en", "mxnet", "ja", "jax"), ("pt", "jax", "zh", "mxnet")]
CHAPTER = "limits"  # runs in less than a minute
SECTION = "sec-limits-index"
LOCALES = {"en": "C.UTF-8", "pt": "pt_BR.UTF-8"}
LONGEST = 600  # seconds for all cells, on a machine with other work


@pytest.mark.parametrize("width", [WIDE, PHONE])
@pytest.mark.parametrize(("language", "framework", "other", "another"), WAYS)
def test_on_the_site(visit, width, language, framework, other, another):
    page = visit(locale=language, width=width)
    page.wait_for_url(f"**/{language}/index.html")
    row = page.locator(f"#chapter-{CHAPTER} li a", has_text=FRAMEWORKS[framework].name)
    row.click()
    page.wait_for_url(f"**/{language}/{framework}/{CHAPTER}.html")
    page.locator(f"#{SECTION}").evaluate("e => e.scrollIntoView()")
    page.wait_for_timeout(300)
    seen = [f"{language}/{framework}"]
    for kind, value in (("language", other), ("framework", another)):
        choose(page, kind, value)
        seen.append(f"{other}/{framework}" if kind == "language" else f"{other}/{another}")
        assert place(page) == f"{seen[-1]}/{CHAPTER}.html#{SECTION}"
        nav = page.locator("nav.switch").bounding_box()
        assert nav["y"] + nav["height"] - 1 <= top_of(page, f"#{SECTION} > h2") < 300
    for before in reversed(seen[:-1]):
        page.go_back()
        page.wait_for_url(f"**/{before}/{CHAPTER}.html*")
        page.wait_for_function(
            "id => Math.abs(document.getElementById(id).getBoundingClientRect().top) < innerHeight",
            arg=SECTION,
        )
    # And the first page knows the choice of language and framework that was made last.
    front = visit(reader=page)
    front.wait_for_url(f"**/{other}/index.html")
    assert front.locator(".start-here a").inner_text().endswith(FRAMEWORKS[another].name)


def show_section(page, panel, notebook):
    """Bring the chapter's fifth section to the top of the window; the id of its cell."""
    number = lab_page.sections(notebook)[4]
    cell = panel.locator(f".jp-Cell[data-windowed-list-index='{number}']")
    lab_page.show(cell)
    cell.evaluate("e => e.scrollIntoView({block: 'start'})")
    page.wait_for_timeout(500)
    return notebook.cells[number].id


def heading_of(panel, notebook, section):
    number = [cell.id for cell in notebook.cells].index(section)
    return panel.locator(f".jp-Cell[data-windowed-list-index='{number}'] h2")


@pytest.mark.parametrize(("language", "framework", "other", "another"), WAYS)
def test_in_jupyterlab(chromium, tmp_path, language, framework, other, another):
    server = LabServer(tmp_path, {"LANG": LOCALES[language]})
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(30_000)
    page = context.new_page()

    def opened(key):
        file = server.folder / "my" / key.path
        notebook = read_notebook(file)
        return lab_page.opened(page, str(key.path), notebook), file, notebook

    try:
        start = Key(language, framework, CHAPTER)
        viewer = lab_page.open_front_page(page, server.address)
        lab_page.follow(viewer, FRAMEWORKS[framework].name, CHAPTERS.index(CHAPTER))
        panel, file, notebook = opened(start)
        before = file.read_bytes()
        menu, item, *_english = re.findall(r"\*(.+?)\*", LANGUAGES[language].run)
        lab_page.run_all(page, menu, item, seconds=LONGEST)
        lab_page.save(page)
        ran = [cell for cell in read_notebook(file).cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in ran] == [*range(1, 1 + len(ran))]
        assert file.read_bytes() != before
        # To the other language, to the other framework, and home again: always at the section.
        section = show_section(page, panel, notebook)
        there = Key(other, another, CHAPTER)
        for key in (
            start._replace(language=other),
            there,
            there._replace(language=language),
            start,
        ):
            for of, name in (
                (0, FRAMEWORKS[key.framework].name),
                (1, LANGUAGES[key.language].name),
            ):
                choice = panel.locator(".d2lhybrid-ways select").nth(of)
                if choice.locator("option:checked").inner_text() != name:
                    choice.select_option(label=name)
                    break
            panel, file, notebook = opened(key)
            heading = heading_of(panel, notebook, section)
            page.wait_for_timeout(2500)
            assert 0 < heading.bounding_box()["y"] < 200, key
        # What was run is reset, and the reader stays where he is.
        top = heading.bounding_box()["y"]
        panel.locator(".d2lhybrid-reset").click()
        page.locator(".jp-Dialog .jp-mod-warn").click()
        page.wait_for_timeout(5000)
        assert file.read_bytes() == before == (ROOT / start.path).read_bytes()
        assert heading.bounding_box()["y"] == pytest.approx(top, abs=60)
        assert page.locator(lab_page.DIRTY).count() == 0
    finally:
        context.close()
        server.stop()
