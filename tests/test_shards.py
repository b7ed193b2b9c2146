"""A big collection spreads over runners: every notebook in one shard, and no shard much longer."""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import run_notebooks  # noqa: E402
from shards import numbers, split, weight  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
# A collection of forty chapters, of which every second one is four times as long.
MANY = {
    Path(language, framework, f"{chapter:02}"): 10 + 30 * (chapter % 2)
    for language in ("en", "ja", "pt", "zh")
    for framework in ("mxnet", "pytorch", "tensorflow")
    for chapter in range(40)
}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 24, 30])
def test_every_notebook_is_in_exactly_one_shard(count: int) -> None:
    shards = split({path: weight(path) for path in NOTEBOOKS}, count)
    assert len(shards) == count
    assert sorted(path for shard in shards for path in shard) == NOTEBOOKS


@pytest.mark.parametrize("count", [2, 3, 7, 20])
def test_shards_are_about_equally_long(count: int) -> None:
    loads = [sum(MANY[path] for path in shard) for shard in split(MANY, count)]
    assert max(loads) - min(loads) <= max(MANY.values())


def test_the_order_of_the_files_does_not_matter() -> None:
    assert split(MANY, 7) == split(dict(reversed(MANY.items())), 7)


def test_the_translations_of_a_notebook_land_in_different_shards() -> None:
    heavy = {path: 40 if path.name == "01" else 10 for path in MANY}
    for shard in split({path: heavy[path] for path in MANY if path.parts[1] == "mxnet"}, 4):
        assert [path.name for path in shard].count("01") == 1


def test_the_weight_is_the_number_of_code_cells(tmp_path: Path) -> None:
    cells = [{"cell_type": kind} for kind in ("markdown", "code", "code", "markdown")]
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    assert weight(path) == 2


def test_which_shard_of_how_many() -> None:
    assert numbers("2/5") == (2, 5)
    assert numbers("") == (1, 1)
    for wrong in ("0/5", "6/5", "5", "a/b", "1/2/3", "-1/2"):
        with pytest.raises(argparse.ArgumentTypeError, match="received"):
            numbers(wrong)


def test_only_the_shard_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[Path] = []

    def run(command: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
        ran.extend(Path(part) for part in command if part.endswith(".ipynb"))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(run_notebooks, "mxnet_problem", lambda *machine: None)
    for which in (1, 2, 3):
        monkeypatch.setattr(sys, "argv", ["", "--framework", "mxnet", "--shard", f"{which}/3"])
        with pytest.raises(SystemExit, match="0"):
            run_notebooks.main()
    mxnet = [path for path in NOTEBOOKS if path.parent.name == "mxnet"]
    assert sorted(ran) == mxnet
    assert capsys.readouterr().out.count(f" of {len(NOTEBOOKS)} notebooks") == 3


def test_more_shards_than_notebooks_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *command, **options: pytest.fail("ran pytest"))
    monkeypatch.setattr(sys, "argv", ["", "--language", "en", "--shard", "99/99"])
    run_notebooks.main()
    assert "Shard 99 of 99 is empty" in capsys.readouterr().out


def test_a_workflow_gets_the_list_from_one_number() -> None:
    command = ["make", "-s", "shards", "SHARDS=3", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    name, _, value = done.stdout.strip().partition("=")
    assert name == "shards"
    assert json.loads(value) == ["1/3", "2/3", "3/3"]
