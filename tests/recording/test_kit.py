"""The kit: one file that Python runs on a machine with nothing else of this project."""

import argparse
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from recording import kit, unpacked


def wheel(folder: Path, name: str, *files: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for file in (*files, f"{name}-1.0.dist-info/METADATA"):
            packed.writestr(file, "NUMBER = 9\n")
    return path


def test_it_unpacks_itself_and_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(_python: str, folder: str) -> None:
        wheel(Path(folder), "never_heard_of", "never_heard_of/__init__.py")
        wheel(Path(folder), "numpy", "numpy/__init__.py")

    monkeypatch.setattr(kit, "download", download)
    target = tmp_path / "there" / "record-kit.zip"
    assert kit.pack(argparse.Namespace(to=target, python="3.12")) == 0
    # As there: outside of this repository, and without its path.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    command = [sys.executable, target.name, "--help"]
    done = subprocess.run(command, cwd=target.parent, capture_output=True, text=True)
    assert done.stdout.startswith("usage: python -m recording run"), done.stderr
    folder = target.with_suffix("")
    assert len((folder / "COMMIT").read_text().strip()) == 40
    assert (folder / "notebooks/en/pytorch/faster.ipynb").exists()
    assert not (folder / "notebooks/pt").exists()
    assert [path.name for path in (folder / "wheels").glob("*.whl")] == [
        "never_heard_of-1.0-py3-none-any.whl"
    ]
    assert (folder / "wheels/never_heard_of-1.0-py3-none-any/never_heard_of").is_dir()


def test_only_what_is_lacking_is_taken_from_the_wheels(tmp_path: Path) -> None:
    wheel(tmp_path, "msgspec", "msgspec/__init__.py")
    wheel(tmp_path, "one_module", "one_module.py")
    (folder,) = unpacked.lacking(tmp_path)
    assert Path(folder).name == "one_module-1.0-py3-none-any"


def test_a_kit_that_is_too_large_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kit, "download", lambda *_: None)
    monkeypatch.setattr(kit, "MOST", 1e6)
    assert kit.pack(argparse.Namespace(to=tmp_path / "kit.zip", python="3.12")) == 1
    assert "Expected at most 1 MB." in capsys.readouterr().err
