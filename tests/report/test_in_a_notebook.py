"""Plots in a notebook's kernel: each one shows, at twice the pixels of its place on the page."""

import base64
import struct

import nbclient
import nbformat


def test_every_plot_shows_and_is_sharp(tmp_path):
    code = (
        "from d2lhybrid import compare\n"
        "c = compare({'a': sum, 'b': max}, range(9), check=False, time_limit=0.1, progress=False)\n"
        "c.plot();"
    )
    cells = [code, "c.waterfall(['b', 'a']);", "c.plot();"]
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(tmp_path))
    for cell in notebook.cells:
        (shown,) = (out for out in cell.outputs if out.output_type == "display_data")
        width, height = struct.unpack(">II", base64.b64decode(shown.data["image/png"])[16:24])
        place = shown.metadata["image/png"]
        assert (place["width"], place["height"]) == (width // 2, height // 2)
