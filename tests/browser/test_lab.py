"""JupyterLab in chromium, as a reader in each language has it: front page, notebooks, links.

All notebooks are opened and looked at. Some of them are run as well, so that each framework, each
chapter and each language is; `make test-browser ALL=1` runs all of them.
"""

import hashlib
import re
from typing import NamedTuple

import expected
import glyphs
import lab_page
import lab_server
import looks
import pytest
from collection import CHAPTERS, EDITIONS

from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES

NOTEBOOKS = lab_server.ROOT / "notebooks"
# One way for a system to say the language each; that of C is English.
LOCALES = {
    "en": {"LANG": "C.UTF-8"},
    "pt": {"LANG": "pt_BR.UTF-8"},
    "zh": {"LANG": "C.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"},
    "ja": {"LANG": "pt_BR.UTF-8", "D2LHYBRID_LANGUAGE": "ja"},
}
INTERFACE = {"en": "en", "pt": "pt-BR", "zh": "zh-CN", "ja": "ja-JP"}
RUN = {
    *(("en", "pytorch", "hybridize"), ("pt", "tensorflow", "hybridize")),
    *(("zh", "mxnet", "hybridize"), ("ja", "pytorch", "hybridize")),
    *(("en", "tensorflow", "limits"), ("pt", "mxnet", "limits"), ("zh", "pytorch", "limits")),
    *(("en", "jax", "hybridize"), ("ja", "jax", "limits"), ("pt", "pytorch", "inside")),
}
PLOT = ".jp-OutputArea-output img[src^='data:image/png']"
TO_THE_TOP = """cell => {
  const outer = cell.closest(".jp-WindowedPanel-outer");
  outer.scrollBy(0, cell.getBoundingClientRect().top - outer.getBoundingClientRect().top);
}"""
LONGEST = 900  # seconds for all cells of a notebook, on a machine with other work


class Reader(NamedTuple):
    """A language, and the JupyterLab of somebody who reads it."""

    code: str
    server: lab_server.LabServer

    def path(self, framework, chapter):
        return f"notebooks/{self.code}/{framework}/{chapter}.ipynb"

    def file(self, framework, chapter):
        """The reader's copy."""
        return self.server.folder / "my" / self.path(framework, chapter)


@pytest.fixture(scope="module", autouse=True)
def _committed_notebooks_stay_as_they_are():
    before = _digests()
    yield
    assert _digests() == before


@pytest.fixture(scope="module", params=list(LANGUAGES))
def reader(request, tmp_path_factory):
    """JupyterLab, started for a reader of each language in turn."""
    folder = tmp_path_factory.mktemp(request.param)
    lab_server.copy_collection(folder / "checkout")
    server = lab_server.start(folder / "checkout", folder / "home", LOCALES[request.param])
    yield Reader(request.param, server)
    lab_server.stop(server.process)


@pytest.fixture
def page(chromium, reader):
    """A window of the browser; afterwards no kernel is left."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()
    reader.server.stop_kernels()


def test_front_page(reader, page, screenshots):
    viewer = lab_page.open_front_page(page, reader.server.address)
    language = LANGUAGES[reader.code]
    assert language.collection in viewer.locator("h1").inner_text()
    assert page.locator("html").get_attribute("lang") == INTERFACE[reader.code]
    assert viewer.locator("tbody tr").count() == len(CHAPTERS)
    links = viewer.locator("tbody a").all_text_contents()
    assert links == [language.open] * len(EDITIONS)
    assert not glyphs.boxes(viewer, glyphs.cjk(viewer.inner_text()))
    page.screenshot(path=screenshots / f"lab-{reader.code}-front.png")
    for other in LANGUAGES.values():
        if other != language:
            viewer.locator("p a", has_text=other.name).click()
            page.locator("h1", has_text=other.collection).wait_for()
            lab_page.open_front_page(page, reader.server.address)


@pytest.mark.parametrize(("framework", "chapter"), EDITIONS)
def test_a_notebook_looks_right(reader, page, screenshots, framework, chapter):
    panel = open_from_front_page(reader, page, framework, chapter)
    content = expected.read(reader.file(framework, chapter))
    name = f"{FRAMEWORKS[framework].name} · {LANGUAGES[reader.code].name}"
    tab = page.locator(lab_page.TAB).inner_text().strip()
    assert tab == f"{expected.title(content)} · {name}"
    assert not panel.locator(".jp-MarkdownCell:not(.jp-mod-rendered)").count()
    looks.look_at_folds(panel, content)
    looks.look_at_outputs(panel, content)
    page.screenshot(path=screenshots / f"lab-{reader.code}-{framework}-{chapter}.png")


@pytest.mark.parametrize(("framework", "chapter"), EDITIONS)
def test_a_notebook_runs(reader, page, screenshots, pytestconfig, framework, chapter):
    if (reader.code, framework, chapter) not in RUN and not pytestconfig.getoption("--all"):
        pytest.skip("opened only; ALL=1 runs it as well")
    panel = open_from_front_page(reader, page, framework, chapter)
    file = reader.file(framework, chapter)
    before = file.read_bytes()
    committed = expected.read(file)
    lab_page.run_all(page, *menu_words(reader.code), seconds=LONGEST)
    lab_page.save(page)
    content = expected.read(file)
    file.write_bytes(before)
    assert not expected.not_well(content)
    assert [cell["execution_count"] for cell in expected.code_cells(content)] == [
        *range(1, 1 + len(expected.code_cells(committed)))
    ]
    looks.look_at_outputs(panel, content)
    name = f"lab-{reader.code}-{framework}-{chapter}-run"
    places = {"table": ".jp-OutputArea-output:has(table)"}
    if chapter == "hybridize":
        places["plot"] = PLOT
    for kind, place in places.items():
        lab_page.show(panel.locator(place).first)
        page.screenshot(path=screenshots / f"{name}-{kind}.png")


def test_links_lead_to_the_other_languages_frameworks_and_chapters(reader, page):
    here = [framework for framework, chapter in EDITIONS if chapter == "hybridize"]
    framework = here[list(LANGUAGES).index(reader.code) % len(here)]
    open_from_front_page(reader, page, framework, "hybridize")
    others = {one.name: (code, framework) for code, one in LANGUAGES.items() if code != reader.code}
    others[LANGUAGES[reader.code].name] = (reader.code, framework)  # and home again
    others |= {FRAMEWORKS[name].name: (reader.code, name) for name in here if name != framework}
    for text, (code, name) in others.items():
        top_link(page, text).click()
        opened(reader, page, f"notebooks/{code}/{name}/hybridize.ipynb")
    following = reader.path(name, CHAPTERS[CHAPTERS.index("hybridize") + 1])
    title = expected.title(expected.read(reader.server.folder / "my" / following))
    top_link(page, title).click()
    opened(reader, page, following)


def test_a_link_to_a_section_of_another_chapter_leads_there(reader, page):
    panel = open_from_front_page(reader, page, "pytorch", "inside")
    # The link to "Other Numbers", which stands in the second half of the other chapter.
    link = panel.locator(".jp-Cell a[href*='limits.ipynb'][href*='#']").first
    for _turn in range(100):  # cells are drawn when they come into the window
        if link.count():
            break
        panel.locator(".jp-WindowedPanel-outer").evaluate("outer => outer.scrollBy(0, 1000)")
        page.wait_for_timeout(200)
    link.click()
    opened(reader, page, reader.path("pytorch", "limits"))
    page.wait_for_function(
        "panel => document.querySelector(`${panel} .jp-WindowedPanel-outer`).scrollTop > 5000",
        arg=lab_page.PANEL,
    )
    assert page.locator(f"{lab_page.PANEL} .jp-Cell.jp-mod-active h2").first.is_visible()


def test_a_notebook_that_was_only_looked_at_is_as_it_was(reader, page):
    open_from_front_page(reader, page, "mxnet", "hybridize")
    page.wait_for_timeout(2000)
    assert page.locator(lab_page.DIRTY).count() == 0
    path = reader.file("mxnet", "hybridize")
    before = path.stat().st_mtime_ns
    lab_page.save(page)
    assert path.stat().st_mtime_ns >= before
    assert path.read_bytes() == (lab_server.ROOT / reader.path("mxnet", "hybridize")).read_bytes()


def test_another_edition_opens_at_the_same_section(reader, page):
    panel = open_from_front_page(reader, page, "pytorch", "hybridize")
    at = expected.sections(expected.read(reader.file("pytorch", "hybridize")))[4]
    heading = panel.locator(f".jp-Cell[data-windowed-list-index='{at}']")
    lab_page.show(heading)
    page.wait_for_timeout(500)
    heading.evaluate(TO_THE_TOP)
    page.wait_for_timeout(500)
    other = next(code for code in LANGUAGES if code != reader.code)
    panel.locator(".d2lhybrid-ways select").nth(1).select_option(label=LANGUAGES[other].name)
    page.wait_for_url(f"**/notebooks/{other}/pytorch/hybridize.ipynb*")
    in_sight = """cell => {
      const { top } = document.querySelector(cell)?.getBoundingClientRect() ?? {};
      return top > 0 && top < 700;
    }"""
    section = f"{lab_page.PANEL} .jp-Cell[data-windowed-list-index='{at}']"
    page.wait_for_function(in_sight, arg=section)
    page.wait_for_timeout(1500)  # and it stays there
    assert page.evaluate(in_sight, section)


def test_progress_is_counted_and_leads_on(reader, page):
    panel = open_from_front_page(reader, page, "pytorch", "hybridize")
    begin = expected.sections(expected.read(reader.file("pytorch", "hybridize")))
    button = panel.locator(".d2lhybrid-progress")
    lab_page.show(panel.locator(f".jp-Cell[data-windowed-list-index='{begin[1]}']"))
    page.wait_for_function(
        "() => /^[1-9]/.test(document.querySelector('.d2lhybrid-progress').textContent)"
    )
    read, total = map(int, button.inner_text().split("/"))
    assert total == len(begin) - 1  # the last one leads to other notebooks
    assert str(total) in button.get_attribute("aria-label")
    button.click()  # to the first section that was not read
    head = panel.locator(f".jp-Cell[data-windowed-list-index='{begin[read]}'] h2")
    page.wait_for_timeout(2500)
    assert 0 < head.bounding_box()["y"] < 500
    viewer = lab_page.open_front_page(page, reader.server.address)
    marked = viewer.locator("td a[data-d2lhybrid-read]")
    marked.wait_for()
    assert re.fullmatch(rf"\d+/{total}", marked.get_attribute("data-d2lhybrid-read"))
    viewer.locator(".d2lhybrid-continue").click()
    opened(reader, page, reader.path("pytorch", "hybridize"))


def test_a_changed_notebook_can_be_reset(reader, page):
    panel = open_from_front_page(reader, page, "mxnet", "limits")
    path = reader.file("mxnet", "limits")
    original = (lab_server.ROOT / reader.path("mxnet", "limits")).read_bytes()
    panel.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.type("changed = 1 # ")
    lab_page.save(page)
    assert b"changed = 1 # " in path.read_bytes()
    panel.locator(".d2lhybrid-reset").click()
    page.locator(".jp-Dialog .jp-mod-warn").click()
    page.wait_for_function(
        "() => !document.querySelector('.jp-Notebook').textContent.includes('changed = 1 # ')"
    )
    assert path.read_bytes() == original
    assert page.locator(lab_page.DIRTY).count() == 0


def open_from_front_page(reader, page, framework, chapter):
    """Follow the link on the front page to a notebook."""
    viewer = lab_page.open_front_page(page, reader.server.address)
    lab_page.follow(viewer, FRAMEWORKS[framework].name, CHAPTERS.index(chapter))
    return opened(reader, page, reader.path(framework, chapter))


def top_link(page, words):
    """A link of the cell that opens the notebook in front."""
    return page.locator(lab_page.PANEL).locator(".jp-Cell").first.locator("a", has_text=words)


def opened(reader, page, path):
    """The notebook of this path, with its own title, once it is there as a whole."""
    content = expected.read(reader.server.folder / "my" / path)
    panel = lab_page.notebook(page, path, len(content["cells"]))
    assert expected.title(content) in panel.locator("h1").text_content()
    return panel


def menu_words(code):
    """The menu and its item that the front page names for running all cells."""
    menu, item, *_english = re.findall(r"\*(.+?)\*", LANGUAGES[code].run)
    return menu, item


def _digests():
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in NOTEBOOKS.rglob("*.*")
        if path.is_file()
    }
