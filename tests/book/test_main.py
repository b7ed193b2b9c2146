"""The command line writes what it was asked for, or nothing."""

from pathlib import Path

import pytest
from book_samples import FRONT

from book.__main__ import main

CHAPTER = FRONT + "# Title\n\nText.\n"


def notebooks(root):
    folder = root / "notebooks" / "en"
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_build_writes_what_changed(full, capsys):
    assert main(["build"], full) == 0
    assert len(notebooks(full)) == 6
    assert (full / "notebooks/figures/flow.svg").is_file()
    capsys.readouterr()
    assert main(["build"], full) == 0
    assert capsys.readouterr().out == ""
    limits = full / "chapters" / "limits.md"
    limits.write_text(limits.read_text() + "\nMore.\n")
    assert main(["build"], full) == 0
    written = capsys.readouterr().out.splitlines()
    assert {Path(path).name for path in written} == {"limits.ipynb"}
    assert len(written) == 3
    selection = ["--language", "en", "--framework", "pytorch", "--chapter", "limits"]
    assert main(["build", "--all", *selection], full) == 0
    assert capsys.readouterr().out.splitlines() == ["notebooks/en/pytorch/limits.ipynb"]
    assert main(["build", "--chapter", "no"], full) == 1
    assert "'no'" in capsys.readouterr().err


def test_build_writes_elsewhere(full, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "new"
    before = sorted(full.rglob("*"))
    assert main(["build", "--output", str(elsewhere), "--framework", "pytorch"], full) == 0
    assert sorted(full.rglob("*")) == before
    found = {path.name for path in (elsewhere / "notebooks/en").rglob("*.ipynb")}
    assert found == {"full.ipynb", "limits.ipynb"}
    assert (elsewhere / "notebooks/figures/flow.svg").is_file()


def test_a_broken_chapter_keeps_everything_as_it_was(project, capsys):
    root = project(a=CHAPTER, b=CHAPTER + "\n:::{tab} keras\nText.\n:::\n")
    for command in (["build"], ["build", "--chapter", "a"], ["build", "--execute"], ["check"]):
        assert main(command, root) == 1
        assert "chapters/b.md:10: " in capsys.readouterr().err
        assert not (root / "notebooks").exists()


def test_a_failure_while_writing_leaves_the_old_file(project, monkeypatch):
    root = project(a=CHAPTER)
    assert main(["build"], root) == 0
    path = root / "notebooks/en/pytorch/a.ipynb"
    before = path.read_bytes()
    project(a=CHAPTER + "\nMore.\n")

    def fail(*paths):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        main(["build"], root)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["a.ipynb"]
