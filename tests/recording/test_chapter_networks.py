"""What is recorded are the networks that the chapter `faster` shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from recording.chapter_networks import Case, Jax, PyTorch, chapter_networks

FOLDED = {"tags": ["hide-input"]}
SET_UP = ("%pip install d2lhybrid", {"tags": ["set-up", "hide-input"]})
NETWORKS = "def resnet():\n    return width\n\ndef encoder():\n    return 2 * width\n"


def notebook(folder: Path, *cells: tuple[str, dict[str, Any]]) -> Path:
    content = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "source": source.splitlines(keepends=True),
            "metadata": metadata,
        }
        for number, (source, metadata) in enumerate((SET_UP, *cells))
    ]
    path = folder / "faster.ipynb"
    path.write_text(json.dumps({"cells": content}))
    return path


def test_the_folded_cells_are_executed_down_to_the_networks(tmp_path: Path) -> None:
    shown, after = ("width = 64", {}), ("width = 128", FOLDED)
    path = notebook(tmp_path, ("width = 32", FOLDED), shown, (NETWORKS, FOLDED), after)
    module = chapter_networks(path)
    assert (module.resnet(), module.encoder()) == (32, 64)


@pytest.mark.parametrize("cells", [[], [(NETWORKS, {})], [(NETWORKS, FOLDED)] * 2])
def test_a_notebook_without_one_such_cell_is_refused(tmp_path: Path, cells: list[Any]) -> None:
    with pytest.raises(LookupError, match=r"one folded cell in .*faster.ipynb"):
        chapter_networks(notebook(tmp_path, *cells))


def test_a_missing_notebook_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"make notebooks"):
        chapter_networks(tmp_path / "faster.ipynb")


@pytest.mark.filterwarnings("ignore:.torch.jit.script_method:DeprecationWarning")  # Inductor's own
@pytest.mark.parametrize("framework", [PyTorch, Jax])
def test_the_chapter_s_networks_answer(framework: type[Any]) -> None:
    for name in ("resnet", "encoder"):
        ways, args = framework().ways(Case(name, 2))
        assert tuple(ways["eager"](*args).shape) == (2, 10)


@pytest.mark.parametrize("name", ["eager", "eager, channels last"])
def test_the_residual_network_learns_in_both_layouts(name: str) -> None:
    ways, args = PyTorch().ways(Case("resnet", 4, task="training"))
    first, *_others, last = ways[name](*args).tolist()  # the losses of the first steps
    assert last < first
