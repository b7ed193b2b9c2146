"""README's picture: the comparison of the English PyTorch notebook, as JupyterLab shows it.

`make picture` puts the new picture in the place of the old one. It shows the committed outputs, so
it is due again when that notebook was executed anew; the picture says which outputs it shows.
"""

import hashlib
import json

import expected
import lab_page
import lab_server
import pytest
from PIL import Image, PngImagePlugin

NOTEBOOK = "notebooks/en/pytorch/hybridize.ipynb"
CELL = "comparison = compare("
COMMITTED = lab_server.ROOT / "docs/images/notebook.png"
KEY = "Outputs"
WIDTH = 920  # CSS pixels: the sentences fit, and a README is not much narrower


def shown_outputs():
    """A digest of the outputs that the picture shows."""
    cells = expected.code_cells(expected.read(lab_server.ROOT / NOTEBOOK))
    outputs = next(cell["outputs"] for cell in cells if CELL in "".join(cell["source"]))
    return hashlib.sha256(json.dumps(outputs, sort_keys=True).encode()).hexdigest()


def test_take_the_picture(chromium, screenshots, tmp_path):
    lab_server.copy_collection(tmp_path / "checkout")
    server = lab_server.start(tmp_path / "checkout", tmp_path / "home", {"LANG": "C.UTF-8"})
    context = chromium.new_context(
        viewport={"width": WIDTH + 400, "height": 1000}, device_scale_factor=2
    )
    page = context.new_page()
    try:
        page.goto(server.address.replace("README.md", NOTEBOOK.removeprefix("notebooks/")))
        cells = len(expected.read(lab_server.ROOT / NOTEBOOK)["cells"])
        panel = lab_page.notebook(page, NOTEBOOK, cells)
        cell = panel.locator(".jp-CodeCell", has_text=CELL).first
        lab_page.show(cell)
        picture = screenshots / "readme.png"
        cell.screenshot(path=picture)
        assert cell.locator("table").is_visible()
    finally:
        context.close()
        lab_server.stop(server.process)
    note = PngImagePlugin.PngInfo()
    note.add_text(KEY, shown_outputs())
    with Image.open(picture) as taken:
        image = taken.convert("RGB")
    assert image.width > 1200
    image.quantize(128).save(picture, pnginfo=note, optimize=True)


def test_readme_shows_the_committed_outputs():
    with Image.open(COMMITTED) as image:
        shown = image.info.get(KEY)
    if shown != shown_outputs():
        pytest.fail("README's picture shows other outputs than the notebook: run `make picture`")
