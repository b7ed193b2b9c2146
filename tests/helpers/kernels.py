"""Cells that are executed in a notebook's kernel."""

import nbclient
import nbformat

from book.execute import is_progress


def executed(cells, folder, progress=False):
    """The cells with these texts, after they ran in a kernel; with what is left of `progress`."""
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(folder))
    for cell in notebook.cells:
        cell.outputs = [out for out in cell.outputs if progress or not is_progress(out)]
    return notebook.cells
