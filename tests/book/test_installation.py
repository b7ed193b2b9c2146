"""The first cell: silent where all is there, and the right command where something is missing."""

import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

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
PYTORCH = FRAMEWORKS["pytorch"]


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., tuple[list[str], SimpleNamespace]]]:
    """Runs the cell in a folder, with some packages missing: what pip was told, and the result."""
    made = InteractiveShell()
    told: list[str] = []
    made.register_magic_function(told.append, magic_name="pip")
    here = os.getcwd()

    def run(code: str, folder: Path, *missing: str) -> tuple[list[str], SimpleNamespace]:
        real = importlib.util.find_spec
        with monkeypatch.context() as patch:
            patch.setattr(
                "importlib.util.find_spec",
                lambda name, *more: None if name in missing else real(name, *more),
            )
            os.chdir(folder)
            result = made.run_cell(code)
        return told, result

    yield run
    os.chdir(here)


def code(url: str = "", framework: str = "pytorch") -> str:
    return installation(FRAMEWORKS[framework], ENGLISH, url).text[0]


def test_where_all_is_there_nothing_happens(
    shell: Callable[..., tuple[list[str], SimpleNamespace]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for framework in FRAMEWORKS:
        told, result = shell(code(framework=framework), tmp_path)
        assert result.success
        assert told == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("missing", ["d2lhybrid", "torch", "matplotlib"])
def test_a_copy_of_the_repository_goes_before_the_address(
    shell: Callable[..., tuple[list[str], SimpleNamespace]], tmp_path: Path, missing: str
) -> None:
    folder = ROOT / "notebooks/en/pytorch"
    told, result = shell(code(URL), folder, missing)
    assert result.success
    assert told == [f'install "d2lhybrid[torch] @ {ROOT.as_uri()}" matplotlib']


def test_a_notebook_alone_takes_the_address(
    shell: Callable[..., tuple[list[str], SimpleNamespace]], tmp_path: Path
) -> None:
    told, result = shell(code(URL), tmp_path, "d2lhybrid")
    assert result.success
    assert told == [f'install "d2lhybrid[torch] @ git+{URL}" matplotlib']


def test_a_notebook_alone_without_an_address_says_what_to_do(
    shell: Callable[..., tuple[list[str], SimpleNamespace]], tmp_path: Path
) -> None:
    told, result = shell(code(), tmp_path, "d2lhybrid")
    assert told == []
    assert str(result.error_in_exec) == ENGLISH.nowhere


def test_every_framework_is_an_extra_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for framework in FRAMEWORKS.values():
        assert f"\n{framework.module} = [" in project


def test_its_id_is_the_same_everywhere(project: Callable[..., Path]) -> None:
    root = project(a=FRONT + "# Title\n")
    before = build(root).notebooks
    (root / "pyproject.toml").write_text(f'[project.urls]\nRepository = "{URL}.git"\n')
    after = build(root).notebooks
    cells = [notebook.cells[1] for built in (before, after) for notebook in built.values()]
    assert len({cell.id for cell in cells}) == 1
    assert all(is_installation(cell.metadata) for cell in cells)
    assert f"git+{URL}" in cells[-1].source
    sources = {installation(PYTORCH, one, "").text[0] for one in LANGUAGES.values()}
    assert len(sources) == len(LANGUAGES)


def test_a_new_address_executes_nothing(
    project: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert notebook.cells[2 + 1].outputs[0].text == "42\n"
    assert main(["check"], root) == 0
