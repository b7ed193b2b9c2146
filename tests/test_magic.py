"""The cell magic ``%%benchmark``."""

import re

import pytest
from IPython.testing.globalipapp import start_ipython


@pytest.fixture(scope="module")
def shell():
    shell = start_ipython()
    shell.run_line_magic("load_ext", "d2lhybrid")
    return shell


def test_it_times_a_cell_in_the_notebooks_namespace(shell, capsys):
    shell.user_ns["base"] = 20
    shell.run_cell_magic("benchmark", "Twenty and one", "found = base + 1\n!true")
    assert shell.user_ns["found"] == 21
    assert re.fullmatch(r"Twenty and one: 0\.\d{4} sec\n", capsys.readouterr().out)


def test_without_a_description(shell, capsys):
    shell.run_cell_magic("benchmark", "", "pass")
    assert capsys.readouterr().out.startswith("Done: 0.")


@pytest.mark.parametrize("cell", ["1 / 0", "1 +"])
def test_a_cell_that_fails_prints_no_time(shell, capsys, cell):
    with pytest.raises((ZeroDivisionError, SyntaxError)):
        shell.run_cell_magic("benchmark", "x", cell)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_runs_nothing(shell, capsys, option):
    shell.run_cell(f"%%benchmark {option}\nran = True")
    said = capsys.readouterr().out
    assert "%%benchmark [DESCRIPTION]" in said
    assert "'Done'" in said
    assert "ran" not in shell.user_ns
