"""The first cell: silent where all is there, and the right command where something is missing."""

import importlib.util
import tomllib
from pathlib import Path

import pytest
from book_samples import FRONT
from IPython.core.interactiveshell import InteractiveShell

from book.__main__ import main
from book.build import build
from book.files import Key, read_notebook
from book.frameworks import FRAMEWORKS
from book.installation import installation, is_installation
from book.languages import ENGLISH, LANGUAGES

ROOT = Path(__file__).resolve().parents[2]
URL = "https://github.com/someone/measured"
HERE = ROOT / "notebooks/en/pytorch"


@pytest.fixture
def pip(monkeypatch):
    """Runs the cell in a folder, without some packages: what pip was told, and what was raised."""
    told: list[str] = []
    shell = InteractiveShell()
    shell.register_magic_function(told.append, magic_name="pip")
    real = importlib.util.find_spec

    def run(code, folder, *missing):
        monkeypatch.chdir(folder)
        with monkeypatch.context() as patch:
            patch.setattr(
                "importlib.util.find_spec", lambda name: None if name in missing else real(name)
            )
            return told, shell.run_cell(code).error_in_exec

    return run


def code(url="", framework="pytorch"):
    return installation(FRAMEWORKS[framework], ENGLISH, url).text[0]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_where_all_is_there_nothing_happens(pip, tmp_path, capsys, framework):
    assert pip(code(framework=framework), tmp_path) == ([], None)
    assert capsys.readouterr().out == ""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert FRAMEWORKS[framework].module in extras["optional-dependencies"]


@pytest.mark.parametrize("missing", ["d2lhybrid", "torch", "matplotlib"])
def test_what_is_missing_is_installed_from_the_copy_or_the_address(pip, tmp_path, missing):
    for folder, source in ((HERE, ROOT.as_uri()), (tmp_path, f"git+{URL}")):
        told, error = pip(code(URL), folder, missing)
        assert error is None
        assert told.pop() == f'install "d2lhybrid[torch] @ {source}" matplotlib'
    told, error = pip(code(), tmp_path, missing)
    assert (told, str(error)) == ([], ENGLISH.nowhere)


def test_its_id_is_the_same_everywhere(project):
    root = project(a=FRONT + "# Title\n")
    before = build(root).notebooks
    (root / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{URL}.git"\n')
    cells = [one.cells[1] for built in (before, build(root).notebooks) for one in built.values()]
    assert len({cell.id for cell in cells}) == 1
    assert all(is_installation(cell.metadata) for cell in cells)
    assert f"git+{URL}" in cells[-1].source
    said = {installation(FRAMEWORKS["pytorch"], one, "").text[0] for one in LANGUAGES.values()}
    assert len(said) == len(LANGUAGES)


def test_a_new_address_executes_nothing(project, monkeypatch):
    chapter = FRONT.replace("mxnet, pytorch, tensorflow", "pytorch") + "# Title\n\n"
    root = project(a=chapter + "```{code-cell} python\nprint(6 * 7)\n```\n")
    assert main(["build", "--execute"], root) == 0
    (root / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{URL}"\n')
    assert main(["check"], root) == 1
    monkeypatch.setattr("book.__main__.execute", None)
    assert main(["build", "--execute"], root) == 0
    notebook = read_notebook(root / Key("en", "pytorch", "a").path)
    assert notebook is not None
    assert URL in notebook.cells[1].source
    assert notebook.cells[3].outputs[0].text == "42\n"
    assert main(["check"], root) == 0
