"""README's picture: what `reveal` shows in the English PyTorch notebook, in JupyterLab.

`make picture` puts the new picture in the place of the old one. It shows the committed outputs, so
it is due again when that notebook was executed anew; the picture says which outputs it shows.
"""

import hashlib
import json

import lab_page
import pytest
from collection import ROOT
from lab_server import LabServer
from PIL import Image, PngImagePlugin

from book.files import read_notebook

NOTEBOOK = "notebooks/en/pytorch/faster.ipynb"
CELL = "reveal(results, guess)"
KEY = "Outputs"
WIDTH = 920  # CSS pixels: the sentences fit, and a README is not much narrower


def shown_outputs():
    """A digest of the outputs that the picture shows."""
    cells = json.loads((ROOT / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    outputs = next(cell["outputs"] for cell in code if CELL in "".join(cell["source"]))
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()


def test_take_the_picture(chromium, screenshots, tmp_path):
    server = LabServer(tmp_path, {"LANG": "C.UTF-8"})
    size = {"width": WIDTH + 400, "height": 1400}
    context = chromium.new_context(viewport=size, device_scale_factor=2)
    page = context.new_page()
    picture = screenshots / "readme.png"
    try:
        page.goto(server.address.replace("README.md", NOTEBOOK.removeprefix("notebooks/")))
        panel = lab_page.opened(page, NOTEBOOK, read_notebook(ROOT / NOTEBOOK))
        cell = panel.locator(".jp-CodeCell", has_text=CELL).first
        lab_page.show(cell)
        shown = cell.locator(".jp-Cell-outputWrapper")
        assert shown.locator("img").first.is_visible()
        assert not shown.locator("table").first.is_visible()  # folded under *Details*
        shown.screenshot(path=picture)
    finally:
        context.close()
        server.stop()
    note = PngImagePlugin.PngInfo()
    note.add_text(KEY, shown_outputs())
    with Image.open(picture) as taken:
        image = taken.convert("RGB")
    assert image.width > 1200
    image.quantize(128).save(picture, pnginfo=note, optimize=True)


def test_readme_shows_the_committed_outputs():
    with Image.open(ROOT / "docs/images/notebook.png") as image:
        shown = image.info.get(KEY)
    if shown != shown_outputs():
        pytest.fail("README's picture shows other outputs than the notebook: run `make picture`")
