"""Whatever is done to a committed notebook is found and named."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from book_samples import FRONT

from book.__main__ import main
from book.build import Built, build
from book.check import check, content_problems, left_out, output_problems
from book.errors import ExecutionError
from book.execute import execute, outputs_digest
from book.files import notebook_bytes, read_notebook

BODY = """# Title

Prose.

```{code-cell} python
print("first")
```

More prose.

```{code-cell} python
:tags: [raises-exception]
1 / 0
```

:::{figure-md} fig-flow
![Alt text](figures/flow.svg)

Caption.
:::
"""
FRONT_ONE = FRONT.replace("mxnet, pytorch, tensorflow", "pytorch")
PATH = Path("notebooks/en/pytorch/a.ipynb")


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The notebook of BODY with its outputs."""
    root = tmp_path_factory.mktemp("executed")
    (root / "chapters" / "figures").mkdir(parents=True)
    (root / "chapters" / "figures" / "flow.svg").write_text("<svg/>")
    (root / "chapters" / "a.md").write_text(FRONT_ONE + BODY)
    notebooks = {root / key.path: notebook for key, notebook in build(root).notebooks.items()}

    async def run() -> list[nbformat.NotebookNode | ExecutionError]:
        return [result async for _, result in execute(notebooks, jobs=1)]

    [result] = asyncio.run(run())
    assert isinstance(result, nbformat.NotebookNode)
    return result


@pytest.fixture
def committed(
    project: Callable[..., Path], executed: nbformat.NotebookNode
) -> tuple[Path, Built, nbformat.NotebookNode]:
    """A root where all is as it should be, what its sources build, and a notebook to spoil."""
    root = project(a=FRONT_ONE + BODY)
    assert main(["build"], root) == 0
    (root / PATH).write_bytes(notebook_bytes(executed))
    notebook = read_notebook(root / PATH)
    assert notebook is not None
    return root, build(root), notebook


def sign(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.d2lhybrid["outputs_sha256"] = outputs_digest(notebook)


def change_prose(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[2].source = notebook.cells[2].source.replace("Prose", "Other prose")


def change_code(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].source += "  # by hand"
    sign(notebook)


def change_id(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].id = "by-hand"
    sign(notebook)


def change_cell_metadata(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].metadata["tags"] = ["hide-input"]


def change_kernel(notebook: nbformat.NotebookNode) -> None:
    notebook.metadata.kernelspec["name"] = "python2"


def drop_cell(notebook: nbformat.NotebookNode) -> None:
    notebook.cells.pop()


def add_cell(notebook: nbformat.NotebookNode) -> None:
    notebook.cells.append(nbformat.v4.new_markdown_cell("By hand."))


def strip_outputs(notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells[1:6:2]:
        cell.outputs, cell.execution_count = [], None


def strip_a_count(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].execution_count = None


def strip_an_output(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].outputs = []


def edit_output(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].outputs[0].text = "faster\n"


def run_out_of_order(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].execution_count = 3
    sign(notebook)


def add_error(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].outputs = [
        nbformat.v4.new_output("error", ename="ValueError", evalue="no", traceback=[])
    ]
    sign(notebook)


def drop_error(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[5].outputs = []
    sign(notebook)


def add_warning(notebook: nbformat.NotebookNode) -> None:
    text = "cell.py:1: FutureWarning: soon gone\n"
    notebook.cells[3].outputs.append(nbformat.v4.new_output("stream", name="stderr", text=text))
    sign(notebook)


def keep_what_a_gpu_printed(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[3].metadata["tags"] = ["gpu"]
    notebook.cells[3].outputs[0].text = "12 ms\n"
    sign(notebook)


def add_logged_warning(notebook: nbformat.NotebookNode) -> None:
    text = "compiling\nW1121 07:44:13.6 graph break\n"
    notebook.cells[3].outputs.append(nbformat.v4.new_output("stream", name="stderr", text=text))
    sign(notebook)


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        (change_prose, "source differs"),
        (change_code, "source differs"),
        (change_id, "found cell by-hand"),
        (change_cell_metadata, "metadata differs"),
        (change_kernel, "notebook metadata: differs"),
        (drop_cell, "missing"),
        (add_cell, "no chapter makes this cell"),
        (strip_outputs, "was never executed"),
        (strip_a_count, "execution count None, expected 2"),
        (strip_an_output, "not those of its execution"),
        (edit_output, "not those of its execution"),
        (run_out_of_order, "execution count 3, expected 2"),
        (add_error, "shows the error ValueError"),
        (drop_error, "raised nothing"),
        (add_warning, "prints a warning"),
        (add_logged_warning, "prints a warning"),
        (keep_what_a_gpu_printed, "does not say that it was left out"),
    ],
)
def test_a_spoiled_notebook(
    committed: tuple[Path, Built, nbformat.NotebookNode],
    spoil: Callable[[nbformat.NotebookNode], None],
    expected: str,
) -> None:
    root, built, notebook = committed
    spoil(notebook)
    (root / PATH).write_bytes(notebook_bytes(notebook))
    problems = check(root, built)
    assert any(expected in problem for problem in problems), problems
    assert all(problem.startswith(str(PATH)) for problem in problems)
    assert (root / PATH).read_bytes() == notebook_bytes(notebook)


def test_all_is_well(committed: tuple[Path, Built, nbformat.NotebookNode]) -> None:
    root, built, _ = committed
    before = snapshot(root)
    assert check(root, built) == []
    assert main(["check"], root) == 0
    assert snapshot(root) == before


def snapshot(root: Path) -> dict[Path, tuple[int, bytes]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_the_difference_is_shown(
    committed: tuple[Path, Built, nbformat.NotebookNode], capsys: pytest.CaptureFixture[str]
) -> None:
    root, _, notebook = committed
    change_code(notebook)
    (root / PATH).write_bytes(notebook_bytes(notebook))
    assert main(["check"], root) == 1
    shown = capsys.readouterr().err
    assert f"{PATH}: cell {notebook.cells[3].id}: source differs" in shown
    assert '    -print("first")  # by hand\n    +print("first")\n' in shown
    assert "make notebooks" in shown


def spoil_files(root: Path) -> Iterator[tuple[Path, str]]:
    (root / PATH).rename(root / PATH.with_name("b.ipynb"))
    yield PATH, "missing"
    yield PATH.with_name("b.ipynb"), "delete it"
    (root / "notebooks/figures/flow.svg").write_text("other")
    yield Path("notebooks/figures/flow.svg"), "differs from what the chapters make"
    (root / "notebooks/figures/stray.svg").write_text("stray")
    yield Path("notebooks/figures/stray.svg"), "delete it"
    (root / "notebooks/README.md").write_text("by hand")
    yield Path("notebooks/README.md"), "differs from what the chapters make"
    (root / "notebooks/README.pt.md").write_text("of a language without catalogs")
    yield Path("notebooks/README.pt.md"), "delete it"


def test_missing_and_stray_files(committed: tuple[Path, Built, nbformat.NotebookNode]) -> None:
    root, built, _ = committed
    expected = list(spoil_files(root))
    problems = check(root, built)
    assert len(problems) == len(expected)
    for path, text in expected:
        assert any(problem.startswith(f"{path}: ") and text in problem for problem in problems)
    (root / "notebooks/figures/flow.svg").unlink()
    (root / PATH).write_text("{")
    assert sum("missing" in problem for problem in check(root, built)) == 2


def test_outputs_are_no_content(executed: nbformat.NotebookNode) -> None:
    bare = nbformat.from_dict(executed)
    strip_outputs(bare)
    assert not list(content_problems(bare, executed))
    assert not list(output_problems(executed))


def test_a_cell_that_was_left_out() -> None:
    source = 'if has_gpu:\n    print("12 ms")\nelse:\n    print("Left out: no GPU.")'
    note = nbformat.v4.new_output("stream", name="stdout", text="Left out: no GPU.\n")
    other = nbformat.v4.new_output("stream", name="stdout", text="11 ms\n")
    assert left_out(source, [note])
    assert not left_out(source, [other])
    assert not left_out(source, [note, note])
    assert not left_out(source, [])
