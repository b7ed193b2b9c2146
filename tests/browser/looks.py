"""What has to be right in a notebook as JupyterLab shows it."""

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
# Draws each character as the element's font would, and a code point that no font has: equal
# pixels mean a box.
_BOXES = """(element, characters) => {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 48;
  const context = canvas.getContext('2d', {willReadFrequently: true});
  const draw = character => {
    context.clearRect(0, 0, 48, 48);
    context.font = '24px ' + getComputedStyle(element).fontFamily;
    context.fillText(character, 8, 34);
    return context.getImageData(0, 0, 48, 48).data.join();
  };
  const box = draw('\\u{10FFFD}');
  return characters.filter(character => [box, draw(' ')].includes(draw(character)));
}"""


def boxes(element, text):
    """The Chinese and Japanese characters of a text that are drawn as boxes, or not at all."""
    characters = {c for c in text if "\u3001" <= c <= "\u9fff" or "\uff01" <= c <= "\uff5e"}
    return element.evaluate(_BOXES, sorted(characters))


def shown(notebook, mime):
    """The outputs of a kind."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    return [output.data[mime] for output in outputs if mime in output.get("data", {})]


def look_at_folds(panel, notebook):
    """Solutions are folded away, and so is the code of cells that say so, with all of it."""
    metadata = [cell.metadata for cell in notebook.cells]
    solutions = sum("jp-MarkdownHeadingCollapsed" in data for data in metadata)
    assert solutions
    assert panel.locator(".jp-collapseHeadingButton.jp-mod-collapsed").count() == solutions
    hidden = sum("hide-input" in data.get("tags", []) for data in metadata)
    assert panel.locator(".jp-InputPlaceholder").count() == hidden
    assert not "".join(panel.locator(".jp-InputPlaceholder:visible").all_inner_texts()).strip()


def look_at_outputs(panel, notebook):
    """Tables are tables, plots are images, and what is printed is drawn as characters."""
    outputs = panel.locator(".jp-OutputArea-output")
    mimes = outputs.evaluate_all("all => all.map(e => e.dataset.mimeType)")
    assert not [mime for mime in mimes if mime.endswith(("error", "stderr"))]
    html = "".join(shown(notebook, "text/html"))
    assert outputs.locator("table").count() == html.count("<table")
    assert outputs.locator("svg[role=img]").count() == html.count("<svg")
    assert panel.evaluate(_ODD_TABLES) == []
    assert panel.evaluate(_BROKEN) == []
    images = [image.replace("\n", "") for image in shown(notebook, "image/png")]
    sources = outputs.locator("img").evaluate_all("all => all.map(e => e.src)")
    assert sources == [f"data:image/png;base64,{image}" for image in images]
    assert not boxes(panel, "".join(outputs.all_text_contents()))
