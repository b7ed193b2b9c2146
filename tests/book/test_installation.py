"""The first cell: silent where all is there, and the right command where something is missing."""

import importlib.util
import tomllib

import pytest
from book_samples import FRONT
from IPython.core.interactiveshell import InteractiveShell

from book.__main__ import ROOT
from book.build import build
from book.frameworks import FRAMEWORKS
from book.installation import installation, is_installation
from book.languages import ENGLISH, LANGUAGES

URL = "https://github.com/someone/measured"


@pytest.fixture
def pip(monkeypatch):
    """Runs the cell in a folder, without some packages: what pip was told, and what was raised."""
    told = []
    shell = InteractiveShell()
    shell.register_magic_function(told.append, magic_name="pip")
    real = importlib.util.find_spec

    def run(framework, folder, *missing, url="", prefix="/usr", source=None):
        monkeypatch.chdir(folder)
        find = lambda name: None if name in missing else real(name)  # noqa: E731
        with monkeypatch.context() as patch:
            patch.setattr("importlib.util.find_spec", find)
            patch.setattr("sys.prefix", str(prefix))
            if source:
                patch.setenv("D2LHYBRID_SOURCE", str(source))
            code = installation(FRAMEWORKS[framework], ENGLISH, url).text[0]
            error = shell.run_cell(code).error_in_exec
        found = [*told]
        told.clear()
        return found, error

    return run


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_where_all_is_there_nothing_happens(pip, tmp_path, capsys, framework):
    assert pip(framework, tmp_path) == ([], None)
    assert capsys.readouterr().out == ""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert FRAMEWORKS[framework].module in extras["optional-dependencies"]


@pytest.mark.parametrize("missing", ["d2lhybrid", "torch", "matplotlib"])
def test_what_is_missing_is_installed_from_the_copy_or_the_address(pip, tmp_path, missing):
    here = ROOT / "notebooks/en/pytorch"
    for folder, source in ((here, ROOT.as_uri()), (tmp_path, f"git+{URL}")):
        told = [f'install "d2lhybrid[torch] @ {source}" matplotlib']
        assert pip("pytorch", folder, missing, url=URL) == (told, None)
    told, error = pip("pytorch", tmp_path, missing)
    assert not told
    assert "D2LHYBRID_SOURCE" in str(error)
    assert "torch" in str(error)


def test_the_reader_may_name_a_file_a_folder_or_an_address(pip, tmp_path):
    (tmp_path / "d2lhybrid-1.zip").touch()
    address = "https://example.org/d2lhybrid-1.zip"
    for source, asked in (
        ("d2lhybrid-1.zip", (tmp_path / "d2lhybrid-1.zip").as_uri()),
        (ROOT, ROOT.as_uri()),
        (address, address),
    ):
        told = [f'install "d2lhybrid[jax] @ {asked}" matplotlib']
        assert pip("jax", tmp_path, "jax", url=URL, source=source) == (told, None)


def test_make_lab_installs_what_a_reader_chose_and_the_cell_no_more(pip):
    here, prefix = ROOT / "notebooks/en/jax", ROOT / ".venv"
    told, error = pip("jax", here, "jax", url=URL, prefix=prefix)
    assert not told
    assert "JAX" in str(error)
    assert str(error).endswith(" make lab FRAMEWORK=jax")


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
