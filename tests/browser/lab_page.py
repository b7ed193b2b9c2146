"""What a reader does in JupyterLab, and what the page then shows."""

import re

PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
VIEWER = ".jp-MarkdownViewer:not(.lm-mod-hidden)"
TAB = ".lm-DockPanel-tabBar .lm-TabBar-tab.jp-mod-current"
DIRTY = f"{TAB}.jp-mod-dirty"


def open_front_page(page, address):
    """Open the address that JupyterLab printed, with no tabs of earlier visits."""
    page.goto(f"{address}&reset")
    viewer = page.locator(VIEWER)
    viewer.locator("h1").wait_for(timeout=60_000)
    return viewer


def follow(viewer, framework, row):
    """Follow a link of the front page's table: a framework's column, a chapter's row."""
    column = viewer.locator("thead th").all_text_contents().index(framework)
    viewer.locator("tbody tr").nth(row).locator("td").nth(column).locator("a").click()


def opened(page, path, notebook):
    """The notebook of this path, once all its cells are in front and its kernel is ready."""
    page.wait_for_url(f"**/lab/tree/{path}*", timeout=60_000)
    page.wait_for_function(
        "([panel, cells]) => document.querySelectorAll(`${panel} .jp-Cell`).length === cells",
        arg=[PANEL, len(notebook.cells)],
        timeout=60_000,
    )
    idle(page, 60)
    panel = page.locator(PANEL)
    assert title(notebook) in panel.locator("h1").text_content()
    return panel


def title(notebook):
    """That of the chapter."""
    return notebook.metadata.d2lhybrid.title.rsplit(" · ", 2)[0]


def sections(notebook):
    """Where the cells stand that begin a section."""
    return [n for n, cell in enumerate(notebook.cells) if cell.source.startswith("## ")]


def idle(page, seconds):
    """Wait until no cell is waiting and the kernel is idle."""
    page.wait_for_function(
        """panel => {
          const shown = document.querySelector(panel);
          const state = shown?.querySelector('.jp-Notebook-ExecutionIndicator');
          const prompts = [...shown?.querySelectorAll('.jp-InputPrompt') ?? []];
          return state?.dataset.status === 'idle'
            && !prompts.some(prompt => prompt.textContent.includes('*'));
        }""",
        arg=PANEL,
        timeout=seconds * 1000,
    )


def run_all(page, menu, item, seconds):
    """Choose an item of the menu bar, both by the words that the reader sees, and wait."""
    for place, words in ((".lm-MenuBar-itemLabel", menu), (".lm-Menu-itemLabel", item)):
        page.locator(place, has_text=re.compile(f"^{re.escape(words)}$")).click()
    page.locator(f"{PANEL} .jp-InputPrompt", has_text="[*]").first.wait_for(timeout=30_000)
    idle(page, seconds)


def save(page):
    """Save the notebook in front, and wait until JupyterLab has."""
    page.locator(f"{PANEL} .jp-Notebook").click(position={"x": 3, "y": 3})
    page.keyboard.press("Control+s")
    page.locator(f"{TAB}:not(.jp-mod-dirty)").wait_for(timeout=30_000)


def show(place):
    """Bring a place of a notebook to the middle of the window, and wait until it stays there.

    JupyterLab guesses the height of cells that were never in the window, so the first jump misses.
    """
    top = None
    for _attempt in range(20):
        before, top = top, place.evaluate(
            "e => { e.scrollIntoView({block: 'center'}); return e.getBoundingClientRect().top; }"
        )  # fmt: skip
        if top == before:
            return
        place.page.wait_for_timeout(300)
    raise AssertionError(f"Expected a place that stays where it is. Received: {place}")
