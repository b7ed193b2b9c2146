"""The command line writes what it was asked for, or nothing."""

from pathlib import Path

import pytest
from book_samples import FRONT

CHAPTER = FRONT + "# Title\n\nText.\n"


def test_build_writes_what_changed(full, told):
    told("build")
    assert len(list((full / "notebooks/en").rglob("*.*"))) == 6
    assert (full / "notebooks/figures/flow.svg").is_file()
    assert told("build").out == ""
    limits = full / "chapters" / "limits.md"
    limits.write_text(limits.read_text() + "\nMore.\n")
    written = told("build").out.splitlines()
    assert [Path(path).name for path in written] == ["limits.ipynb"] * 3
    selection = ["--language", "en", "--framework", "pytorch", "--chapter", "limits"]
    assert told("build", "--all", *selection).out == "notebooks/en/pytorch/limits.ipynb\n"
    assert "'no'" in told("build", "--chapter", "no", status=1).err


def test_build_writes_elsewhere(full, told, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "new"
    before = sorted(full.rglob("*"))
    told("build", "--output", str(elsewhere), "--framework", "pytorch")
    assert sorted(full.rglob("*")) == before
    found = {path.name for path in (elsewhere / "notebooks/en").rglob("*.ipynb")}
    assert found == {"full.ipynb", "limits.ipynb"}
    assert (elsewhere / "notebooks/figures/flow.svg").is_file()


def test_a_broken_chapter_keeps_everything_as_it_was(project, told):
    root = project(a=CHAPTER, b=CHAPTER + "\n:::{tab} keras\nText.\n:::\n")
    for command in (["build"], ["build", "--chapter", "a"], ["build", "--execute"], ["check"]):
        assert "chapters/b.md:10: " in told(*command, status=1).err
        assert not (root / "notebooks").exists()


def test_a_failure_while_writing_leaves_the_old_file(project, told, monkeypatch):
    path = project(a=CHAPTER) / "notebooks/en/pytorch/a.ipynb"
    told("build")
    before = path.read_bytes()
    project(a=CHAPTER + "\nMore.\n")

    def fail(*paths):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        told("build")
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["a.ipynb"]
