"""Cells that are executed in a notebook's kernel."""

import nbclient
import nbformat


def executed(cells, folder):
    """The cells with these texts, after they ran in a kernel."""
    notebook = nbformat.v4.new_notebook(cells=list(map(nbformat.v4.new_code_cell, cells)))
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    client.execute(cwd=str(folder))
    return notebook.cells
