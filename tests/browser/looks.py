"""What has to be right in a notebook as JupyterLab shows it."""

import expected
import glyphs

_BROKEN = """panel => [...panel.querySelectorAll('img')]
  .filter(image => !image.complete || image.naturalWidth === 0).map(image => image.src)"""
_ODD_TABLES = """panel => [...panel.querySelectorAll('.jp-OutputArea-output table')]
  .filter(table => table.closest('.jp-OutputArea-output').clientWidth > 0)
  .filter(table => getComputedStyle(table).display !== 'table'
    || [...table.querySelectorAll('tbody tr')].some(row =>
      new Set([...row.children].map(cell => cell.offsetTop)).size !== 1 || !row.offsetHeight)
    || table.offsetWidth > table.closest('.jp-OutputArea-output').clientWidth
      && getComputedStyle(table.parentElement).overflowX !== 'auto')
  .map(table => table.textContent)"""


def look_at_folds(panel, content):
    """Solutions are folded away, and so is the code of cells that say so, with all of it."""
    metadata = [cell["metadata"] for cell in content["cells"]]
    solutions = sum(bool(data.get("jp-MarkdownHeadingCollapsed")) for data in metadata)
    assert solutions
    assert panel.locator(".jp-collapseHeadingButton.jp-mod-collapsed").count() == solutions
    hidden = sum("hide-input" in data.get("tags", []) for data in metadata)
    assert panel.locator(".jp-InputPlaceholder").count() == hidden
    assert not "".join(panel.locator(".jp-InputPlaceholder:visible").all_inner_texts()).strip()


def look_at_outputs(panel, content):
    """Tables are tables, plots are images, and what is printed is drawn as characters."""
    outputs = panel.locator(".jp-OutputArea-output")
    mimes = outputs.evaluate_all("all => all.map(e => e.dataset.mimeType)")
    assert not [mime for mime in mimes if mime.endswith(("error", "stderr"))]
    html = "".join(expected.shown(content, "text/html"))
    assert outputs.locator("table").count() == html.count("<table")
    assert outputs.locator("svg[role=img]").count() == html.count("<svg")
    assert panel.evaluate(_ODD_TABLES) == []
    assert panel.evaluate(_BROKEN) == []
    plots = [
        f"data:image/png;base64,{image.replace(chr(10), '')}"
        for image in expected.shown(content, "image/png")
    ]
    assert outputs.locator("img").evaluate_all("all => all.map(e => e.src)") == plots
    assert not glyphs.boxes(panel, glyphs.cjk("".join(outputs.all_text_contents())))
