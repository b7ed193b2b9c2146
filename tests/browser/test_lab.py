"""JupyterLab in chromium, as a reader in each language has it: front page, notebooks, links.

All notebooks are opened and looked at. Some of them are run as well, so that each framework, each
chapter and each language is; `make test-browser ALL=1` runs all of them.
"""

import re
from typing import NamedTuple

import lab_page
import looks
import nbformat
import pytest
from collection import CHAPTERS, EDITIONS, ROOT
from lab_server import LabServer

from book.files import SLOW, Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES

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
    *(("zh", "mxnet", "faster"), ("ja", "pytorch", "faster")),
    *(("en", "tensorflow", "limits"), ("pt", "mxnet", "limits"), ("zh", "pytorch", "limits")),
    *(("en", "jax", "hybridize"), ("ja", "jax", "limits"), ("pt", "pytorch", "inside")),
}
LONGEST = 900  # seconds for all cells of a notebook, on a machine with other work


class Reader(NamedTuple):
    """A language, the JupyterLab of somebody who reads it, and a window of the browser."""

    code: str
    server: LabServer
    page: object

    def path(self, framework, chapter, code=None):
        return str(Key(code or self.code, framework, chapter).path)

    def file(self, framework, chapter):
        """The reader's copy."""
        return self.server.folder / "my" / self.path(framework, chapter)

    def front_page(self):
        return lab_page.open_front_page(self.page, self.server.address)

    def open(self, framework, chapter):
        """Follow the link on the front page to a notebook."""
        lab_page.follow(self.front_page(), FRAMEWORKS[framework].name, CHAPTERS.index(chapter))
        return self.opened(framework, chapter)

    def opened(self, framework, chapter, code=None):
        """The notebook, with its own title, once it is there as a whole."""
        path = self.path(framework, chapter, code)
        return lab_page.opened(self.page, path, read_notebook(self.server.folder / "my" / path))


def committed():
    files = (path for path in (ROOT / "notebooks").rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


@pytest.fixture(scope="module", params=list(LANGUAGES))
def server(request, tmp_path_factory):
    """JupyterLab, for a reader of each language in turn; what is committed stays as it was."""
    before = committed()
    server = LabServer(tmp_path_factory.mktemp(request.param), LOCALES[request.param])
    yield request.param, server
    server.stop()
    assert committed() == before


@pytest.fixture
def reader(chromium, server):
    """Such a reader; afterwards no kernel is left."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    context.set_default_timeout(30_000)
    yield Reader(*server, context.new_page())
    context.close()
    server[1].stop_kernels()


def test_front_page(reader, screenshots):
    viewer, page, language = reader.front_page(), reader.page, LANGUAGES[reader.code]
    assert language.collection in viewer.locator("h1").inner_text()
    assert page.locator("html").get_attribute("lang") == INTERFACE[reader.code]
    assert viewer.locator("tbody tr").count() == len(CHAPTERS)
    links = viewer.locator("tbody a").all_text_contents()
    assert links == [language.open] * len(EDITIONS)
    assert not looks.boxes(viewer, viewer.inner_text())
    page.screenshot(path=screenshots / f"lab-{reader.code}-front.png")
    for other in LANGUAGES.values():
        if other != language:
            viewer.locator("p a", has_text=other.name).click()
            page.locator("h1", has_text=other.collection).wait_for()
            reader.front_page()


@pytest.mark.parametrize(("framework", "chapter"), EDITIONS)
def test_a_notebook_looks_right_and_runs(reader, screenshots, pytestconfig, framework, chapter):
    panel, page = reader.open(framework, chapter), reader.page
    file = reader.file(framework, chapter)
    before, notebook = file.read_bytes(), read_notebook(file)
    name = f"lab-{reader.code}-{framework}-{chapter}"
    assert page.locator(lab_page.TAB).inner_text().strip() == notebook.metadata.d2lhybrid.title
    assert not panel.locator(".jp-MarkdownCell:not(.jp-mod-rendered)").count()
    assert not page.locator(lab_page.DIRTY).count()  # it was only opened
    contents = page.locator(".jp-TableOfContents:visible .jp-tocItem-content")
    assert contents.filter(has_text=lab_page.title(notebook)).count() == 1
    looks.look_at_folds(panel, notebook)
    looks.look_at_outputs(panel, notebook)
    page.screenshot(path=screenshots / f"{name}.png")
    if (reader.code, framework, chapter) not in RUN and not pytestconfig.getoption("--all"):
        return
    menu, item, *_english = re.findall(r"\*(.+?)\*", LANGUAGES[reader.code].run)
    lab_page.run_all(page, menu, item, seconds=LONGEST)
    lab_page.save(page)
    notebook = read_notebook(file)
    file.write_bytes(before)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, 1 + len(code))]
    for cell in code:
        if "raises-exception" not in cell.metadata.get("tags", []):
            kinds = {output.get("name", output.output_type) for output in cell.outputs}
            assert not kinds & {"error", "stderr"}, cell
    looks.look_at_outputs(panel, notebook)
    lab_page.show(panel.locator(".jp-OutputArea-output:has(table)").first)
    page.screenshot(path=screenshots / f"{name}-run.png")


def test_links_lead_to_the_other_languages_frameworks_and_chapters(reader):
    here = [framework for framework, chapter in EDITIONS if chapter == "hybridize"]
    framework = here[list(LANGUAGES).index(reader.code) % len(here)]
    reader.open(framework, "hybridize")

    def follow(text):
        first = reader.page.locator(lab_page.PANEL).locator(".jp-Cell").first
        first.locator("a", has_text=text).click()

    others = {one.name: (code, framework) for code, one in LANGUAGES.items() if code != reader.code}
    others[LANGUAGES[reader.code].name] = (reader.code, framework)  # and home again
    others |= {FRAMEWORKS[name].name: (reader.code, name) for name in here if name != framework}
    for text, (code, name) in others.items():
        follow(text)
        reader.opened(name, "hybridize", code)
    following = CHAPTERS[CHAPTERS.index("hybridize") + 1]
    follow(lab_page.title(read_notebook(reader.file(name, following))))
    reader.opened(name, following)


def test_a_link_to_a_section_of_another_chapter_leads_there(reader):
    panel, page = reader.open("pytorch", "inside"), reader.page
    # The first of them leads to "Recompilation", which is in the second half of the other chapter.
    link = panel.locator(".jp-Cell a[href*='limits.ipynb'][href*='#']").first
    for _turn in range(100):  # cells are drawn when they come into the window
        if link.count():
            break
        panel.locator(".jp-WindowedPanel-outer").evaluate("outer => outer.scrollBy(0, 1000)")
        page.wait_for_timeout(200)
    link.click()
    reader.opened("pytorch", "limits")
    page.wait_for_function(
        "panel => document.querySelector(`${panel} .jp-WindowedPanel-outer`).scrollTop > 5000",
        arg=lab_page.PANEL,
    )
    assert page.locator(f"{lab_page.PANEL} .jp-Cell.jp-mod-active h2").first.is_visible()


def test_progress_is_counted_and_leads_on(reader):
    panel, page = reader.open("pytorch", "hybridize"), reader.page
    begin = lab_page.sections(read_notebook(reader.file("pytorch", "hybridize")))
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
    assert 0 < head.bounding_box()["y"] < 560  # its cell begins in the upper half: nothing moves
    viewer = reader.front_page()
    marked = viewer.locator("td a[data-d2lhybrid-read]")
    marked.wait_for()
    assert re.fullmatch(rf"\d+/{total}", marked.get_attribute("data-d2lhybrid-read"))
    viewer.locator(".d2lhybrid-continue").click()
    reader.opened("pytorch", "hybridize")


def test_a_changed_notebook_can_be_reset(reader):
    panel, page = reader.open("mxnet", "limits"), reader.page
    path = reader.file("mxnet", "limits")
    panel.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.type("changed = 1 # ")
    lab_page.save(page)
    assert b"changed = 1 # " in path.read_bytes()
    begin = lab_page.sections(read_notebook(path))[5]
    head = panel.locator(f".jp-Cell[data-windowed-list-index='{begin}'] h2")
    lab_page.show(panel.locator(f".jp-Cell[data-windowed-list-index='{begin}']"))
    before = head.bounding_box()["y"]
    panel.locator(".d2lhybrid-reset").click()
    page.locator(".jp-Dialog .jp-mod-warn").click()
    page.wait_for_timeout(5000)
    assert head.bounding_box()["y"] == pytest.approx(before, abs=40)  # the reader stays there
    assert path.read_bytes() == (ROOT / reader.path("mxnet", "limits")).read_bytes()
    assert page.locator(lab_page.DIRTY).count() == 0


def test_a_slow_cell_says_how_long_it_takes(reader):
    path = reader.file("mxnet", "limits")
    before = path.read_bytes()
    notebook = read_notebook(path)
    slow = [cell for cell in notebook.cells if cell.cell_type == "code"][2]
    slow.source = "import time; time.sleep(6.5)"
    notebook.metadata.d2lhybrid[SLOW] = {slow.id: 75}
    nbformat.write(notebook, path)
    panel, page = reader.open("mxnet", "limits"), reader.page
    cell, label = panel.locator(".jp-CodeCell").nth(2), "[data-d2lhybrid-took]"
    cell.locator(f"{label}:visible").wait_for()
    assert cell.locator(label).first.get_attribute("data-d2lhybrid-took") == "≈ 1 min 15 s"
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(8000)
    assert cell.locator(label).first.get_attribute("data-d2lhybrid-took") in ("6 s", "7 s")
    assert not panel.locator(".jp-CodeCell").nth(3).locator(label).count()
    path.write_bytes(before)
