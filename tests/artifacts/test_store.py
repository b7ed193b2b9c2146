"""Replacing a folder whole: failures, two writers, and what is not ours to replace."""

import errno
import os
import threading
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from artifact_files import make

from d2lhybrid.artifacts.store import read, replacing
from d2lhybrid.core import errors


def content(path):
    stored = read(path)
    stored.require_intact()
    return (stored.root / "model.onnx").read_bytes()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_never_overwrites_what_is_not_its_own(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    (make(tmp_path / "noted") / "notes.txt").write_text("mine")
    (make(tmp_path / "damaged") / "d2lhybrid.json").write_text("{")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for name in ("file", "folder", "noted", "damaged"):
        with pytest.raises(errors.ArtifactNotFoundError, match="Will not overwrite"):
            make(tmp_path / name)
    for name in ("missing", "file"):
        with pytest.raises(
            errors.ArtifactNotFoundError, match=r"to save into, but it (doesn't exist|is a file)"
        ):
            make(tmp_path / name / "a")
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_through_a_link_what_it_points_to_is_read_and_replaced(tmp_path):
    (tmp_path / "link").symlink_to(make(tmp_path / "target", {"model.onnx": b"old"}))
    assert content(tmp_path / "link") == b"old"
    make(tmp_path / "link", {"model.onnx": b"new"})
    assert content(tmp_path / "target") == b"new"
    assert names(tmp_path) == ["link", "target"]


@pytest.mark.parametrize(
    ("place", "name", "works"),
    [(Path, "write_bytes", 0), (Path, "mkdir", 0), (os, "rename", 0), (os, "rename", 1)],
)
def test_a_full_disk_leaves_the_old_one(tmp_path, monkeypatch, place, name, works):
    """It is full behind so many calls that still work, until the old one is put back."""
    make(tmp_path / "a", {"model.onnx": b"old"})
    original, calls = getattr(place, name), count()

    def full(*arguments, **named):
        number = next(calls)
        if number == works or works == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(*arguments, **named)

    monkeypatch.setattr(place, name, full)
    with pytest.raises(OSError, match="No space left"):
        make(tmp_path / "a", {"model.onnx": b"new"})
    monkeypatch.undo()
    assert content(tmp_path / "a") == b"old"
    assert names(tmp_path) == ["a"]


def test_the_spare_of_a_killed_save_is_found_until_the_next(tmp_path):
    (tmp_path / "a").mkdir()  # an empty folder is nobody's
    make(tmp_path / "a", {"model.onnx": b"old"})
    (tmp_path / "a").rename(tmp_path / ".a.replaced")  # killed between the two renames
    assert content(tmp_path / "a") == b"old"
    with suppress(KeyboardInterrupt), replacing(tmp_path / "a") as folder:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt
    assert (content(tmp_path / "a"), names(tmp_path)) == (b"old", [".a.replaced"])
    for data in (b"new", b"newer"):
        make(tmp_path / "a", {"model.onnx": data})
        assert content(tmp_path / "a") == data
        assert names(tmp_path) == ["a"]
        make(tmp_path / ".a.replaced")  # killed behind the second


@pytest.mark.parametrize("is_link", [True, False], ids=["a link", "a file"])
def test_something_else_in_the_place_of_the_spare_is_refused_before_the_work(tmp_path, is_link):
    spare = tmp_path / ".a.replaced"
    spare.symlink_to("nowhere") if is_link else spare.write_text("mine")
    with pytest.raises(errors.ArtifactNotFoundError, match=r"overwrite .*move it away"):
        make(tmp_path / "a")
    assert names(tmp_path) == [spare.name]


def test_two_writers_at_once_leave_one_of_both(tmp_path):
    payload = {name: name.encode() * 2000 for name in ("one", "two")}
    make(tmp_path / "a", {"model.onnx": payload["one"]})

    def write(name):
        for _ in range(20):
            try:
                make(tmp_path / "a", {"model.onnx": payload[name]})
            except (OSError, errors.ArtifactError):  # the other one moved the folder at this moment
                continue

    threads = [threading.Thread(target=write, args=(name,)) for name in payload]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(tmp_path / "a") in payload.values()
