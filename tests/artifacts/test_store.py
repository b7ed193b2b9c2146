"""Replacing a folder whole: kills, full disks, two writers, and what is not ours to replace."""

import errno
import os
import threading
from pathlib import Path

import pytest
from artifact_files import make

from d2lhybrid import errors
from d2lhybrid.artifacts import publishing
from d2lhybrid.artifacts.files import reading
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import read, require_intact


def content(path):
    stored = read(path)
    require_intact(stored)
    with reading(stored.root):
        return (stored.root / "model.safetensors").read_bytes()


@pytest.fixture(params=["exchange", "two renames"])
def both_ways(request, monkeypatch):
    """With the system call that swaps folders, and without."""
    if request.param == "two renames":
        monkeypatch.setattr(publishing, "_exchange", lambda one, other: False)


@pytest.mark.usefixtures("both_ways")
def test_new_replaces_old(tmp_path):
    for data in (b"old", b"new", b"newer"):
        make(tmp_path / "a", {"model.safetensors": data})
        assert content(tmp_path / "a") == data
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    (tmp_path / "empty").mkdir()
    make(tmp_path / "empty")


@pytest.mark.usefixtures("both_ways")
def test_failure_leaves_the_old_one(tmp_path):
    make(tmp_path / "a", {"model.safetensors": b"old"})

    def interrupted():
        with replacing(tmp_path / "a") as folder:
            (folder / "half").write_text("x")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert content(tmp_path / "a") == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_never_overwrites_what_is_not_its_own(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.txt").write_text("mine")
    make(tmp_path / "noted")
    (tmp_path / "noted" / "notes.txt").write_text("mine")
    make(tmp_path / "damaged")
    (tmp_path / "damaged" / "d2lhybrid.json").write_text("{")
    make(tmp_path / "target")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    before = sorted(str(p) for p in tmp_path.rglob("*"))
    for name in ("file", "folder", "noted", "damaged", "link"):
        with pytest.raises(errors.ArtifactNotFoundError, match="Will not overwrite"):
            make(tmp_path / name)
    for name in ("missing/a", "file/a"):
        with pytest.raises(errors.ArtifactAccessError, match=r"Expected the folder .* Make"):
            make(tmp_path / name)
    assert sorted(str(p) for p in tmp_path.rglob("*")) == before


def test_user_files_added_while_it_saves_are_kept(tmp_path):
    make(tmp_path / "a")

    def save_meanwhile():
        with replacing(tmp_path / "a") as folder:
            (folder / "x").write_text("x")
            (tmp_path / "a" / "notes.txt").write_text("mine")

    with pytest.raises(errors.ArtifactNotFoundError, match=r"notes\.txt"):
        save_meanwhile()
    assert (tmp_path / "a" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("where", ["write", "flush", "mkdir", "rename"])
def test_file_layer_says_no(tmp_path, monkeypatch, where):
    make(tmp_path / "a", {"model.safetensors": b"old"})

    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = {"flush": "fsync", "mkdir": "mkdir", "rename": "rename"}.get(where)
    if target:
        monkeypatch.setattr(os, target, full)
    else:
        monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(errors.ArtifactAccessError, match="No space left") as caught:
        make(tmp_path / "a", {"model.safetensors": b"new"})
    assert caught.value.errno == errno.ENOSPC
    monkeypatch.undo()
    assert content(tmp_path / "a") == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_never_replaces_the_current_folder(tmp_path, monkeypatch):
    make(tmp_path / "a")
    monkeypatch.chdir(tmp_path / "a")
    for path in (".", tmp_path / "a", tmp_path, "/"):
        with pytest.raises(errors.ArtifactNotFoundError, match="the current folder"):
            make(path)
    assert content(tmp_path / "a") == b"weights"


def test_paths_that_no_file_system_takes(tmp_path, monkeypatch):
    with pytest.raises(errors.ArtifactNotFoundError, match="surrogates"):
        make(tmp_path / "\ud800")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for verb in (make, read):
        with pytest.raises(errors.ArtifactNotFoundError, match="path of a folder"):
            verb("a")


@pytest.mark.usefixtures("both_ways")
def test_two_writers_at_once_leave_one_of_both(tmp_path):
    payload = {name: name.encode() * 2000 for name in ("one", "two")}
    make(tmp_path / "a", {"model.safetensors": payload["one"]})

    def write(name):
        for _ in range(20):
            try:
                make(tmp_path / "a", {"model.safetensors": payload[name]})
            except errors.ArtifactError:  # the other one moved the folder at this moment
                continue

    threads = [threading.Thread(target=write, args=(name,)) for name in payload]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert content(tmp_path / "a") in payload.values()


def test_the_spare_of_two_renames_is_found_and_given_back(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "_exchange", lambda one, other: False)
    make(tmp_path / "a", {"model.safetensors": b"old"})
    (tmp_path / "a").rename(tmp_path / ".a.replaced")  # killed between the two
    assert content(tmp_path / "a") == b"old"
    with pytest.raises(KeyboardInterrupt), publishing.replacing(tmp_path / "a"):
        raise KeyboardInterrupt
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    make(tmp_path / ".a.replaced")  # killed behind the second
    make(tmp_path / "a", {"model.safetensors": b"new"})
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert content(tmp_path / "a") == b"new"
