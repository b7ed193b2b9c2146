"""The cell magic ``%%benchmark``: in a shell, and with ``await`` in a kernel."""

import re

import nbclient
import nbformat
import pytest
from IPython.testing.globalipapp import start_ipython


@pytest.fixture(scope="module")
def shell():
    shell = start_ipython()
    shell.run_line_magic("load_ext", "d2lhybrid")
    return shell


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%benchmark Twenty and one \nfound = base + 1\n!true", r"Twenty and one: 0\.\d{4} sec"),
        ("\n%%benchmark\nfound = 21", r"Done: 0\.\d{4} sec"),
        ("%%benchmark x\n%%time\nfound = 21", r"(?s)CPU.*\nx: 0\.\d{4} sec"),
        ("found = 21", ""),
        ("found = '%%benchmark'; found = 21\n", ""),
    ],
)
def test_it_times_a_cell_in_the_notebooks_namespace(shell, capsys, cell, said):
    shell.user_ns |= {"base": 20, "found": 0}
    assert shell.run_cell(cell).success
    assert shell.user_ns["found"] == 21
    assert re.fullmatch(said, capsys.readouterr().out.strip())


def test_a_cell_that_cannot_run_prints_no_time(shell, capsys):
    assert not shell.run_cell("%%benchmark x\n1 +").success
    assert " sec" not in capsys.readouterr().out


def test_it_shows_the_last_value_and_lets_await():
    cells = [
        "%load_ext d2lhybrid",
        "%%benchmark Waiting\nimport asyncio\nawait asyncio.sleep(0.2)\n6 * 7",
        "%%benchmark x\n1 / 0",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    nbclient.NotebookClient(notebook, allow_errors=True).execute()
    value, time = notebook.cells[1].outputs
    assert value["data"]["text/plain"] == "42"
    assert re.fullmatch(r"Waiting: 0\.[2-9]\d{3} sec\n", time["text"])
    assert [one["output_type"] for one in notebook.cells[2].outputs] == ["error"]
