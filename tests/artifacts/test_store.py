"""Replacing a folder whole: kills, full disks, two writers, and what is not ours to replace."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from artifact_files import make
from fuzz_crash import campaign

from d2lhybrid import errors, trust
from d2lhybrid.artifacts import loading, publishing, store
from d2lhybrid.artifacts.files import reading
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import read, require_intact, steady


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
        with pytest.raises(errors.ArtifactAccessError, match="Could not write"):
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


@pytest.mark.usefixtures("both_ways")
def test_two_writers_and_readers_at_once(tmp_path):
    payload = {name: name.encode() * 2000 for name in ("one", "two")}
    make(tmp_path / "a", {"model.safetensors": payload["one"]})
    stop, failures = time.monotonic() + 2, []

    def write(name):
        while time.monotonic() < stop:
            make(tmp_path / "a", {"model.safetensors": payload[name]})

    def look():
        while time.monotonic() < stop:
            found = steady(tmp_path / "a", lambda stored: content(stored.root))
            if found not in payload.values():
                failures.append(found)

    def guarded(action, *arguments):
        try:
            action(*arguments)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(write, n)) for n in payload]
    threads += [threading.Thread(target=guarded, args=(look,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert content(tmp_path / "a") in payload.values()
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("swap", [True, False])
def test_killed_while_saving(tmp_path, swap):
    found = campaign(tmp_path, count=25, seed=1, swap=swap)
    assert found["neither"] == 0
    assert found["killed in time"] == 25
    assert found["leftovers"] == 0


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


FULL_DISK = """
import sys, os, torch
from d2lhybrid import save, load, errors
model = torch.nn.Linear(100, 100)
x = torch.ones(1, 100)
save(model, "a", x, format=sys.argv[1])
old = load("a")(x)
filler = os.open("filler", os.O_WRONLY | os.O_CREAT)
try:
    while os.write(filler, bytes(4096)):
        pass
except OSError:
    os.ftruncate(filler, os.fstat(filler).st_size - 5 * 4096)
try:
    save(torch.nn.Linear(100, 100), "a", x, format=sys.argv[1])
except errors.ArtifactAccessError as error:
    print("refused:", error)
assert torch.equal(load("a")(x), old)
os.close(filler)
os.remove("filler")
assert sorted(os.listdir()) == ["a"], os.listdir()
save(model, "a", x, format=sys.argv[1])
print("done")
"""


@pytest.mark.parametrize("format", ["torchscript", "torch.export", "safetensors"])
def test_full_disk(tmp_path, format):
    (tmp_path / "disk").mkdir()
    weights_only = format == "safetensors"
    text = FULL_DISK.replace('load("a")(x)', 'load("a")["weight"]') if weights_only else FULL_DISK
    (tmp_path / "full.py").write_text(text)
    mount = 'mount -t tmpfs -o size=300k none "$1" && cd "$1" && exec "$2" "$3" "$4"'
    command = ["unshare", "-Urm", "sh", "-c", mount, "sh", str(tmp_path / "disk"), sys.executable]
    try:
        subprocess.run([*command[:2], "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"mounting a small disk needs user namespaces: {error}")
    done = subprocess.run(
        [*command, str(tmp_path / "full.py"), format],
        env={**os.environ, "PYTHONPATH": str(Path(store.__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "refused: " in done.stdout, done.stdout + done.stderr
    assert "done" in done.stdout, done.stdout + done.stderr


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


def test_folders_with_a_name_like_leftovers_are_kept(tmp_path):
    mine = tmp_path / ".a.saving-notes"
    mine.mkdir()
    (mine / "thesis.txt").write_text("mine")
    left = tmp_path / ".a.saving-0123456789ab"
    left.mkdir()
    os.mkfifo(tmp_path / ".a.saving-0123456789ac")  # opening it would wait for a writer
    make(tmp_path / "a")
    assert (mine / "thesis.txt").read_text() == "mine"
    assert not left.exists()


def test_a_folder_that_another_program_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "_PATIENCE", 0.05)
    make(tmp_path / "a", format="torchscript")
    with publishing.locked(tmp_path):
        for verb in (make, trust):
            with pytest.raises(errors.ArtifactAccessError, match="Another program holds"):
                verb(tmp_path / "a")
    make(tmp_path / "a")


def test_trust_signs_nothing_that_came_while_it_looked(tmp_path, monkeypatch, user):
    make(tmp_path / "a", {"model.pt": b"looked at"}, format="torchscript", signed=False)
    look, replacements = loading.signer, [b"exchanged"]

    def meanwhile(stored):
        found = look(stored)
        if replacements:
            new = {"model.pt": replacements.pop()}
            make(tmp_path / "a", new, format="torchscript", signed=False)
        return found

    monkeypatch.setattr(loading, "signer", meanwhile)
    signed = []
    sign = loading.sign
    monkeypatch.setattr(loading, "sign", lambda stored: (signed.append(stored.raw), sign(stored)))
    assert trust(tmp_path / "a").signer.startswith("you")
    assert signed == [(tmp_path / "a" / "d2lhybrid.json").read_bytes()]  # looked at anew


def test_trust_says_that_the_parent_cannot_be_read(tmp_path, monkeypatch):
    make(tmp_path / "a")

    def closed(folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(loading, "locked", closed)
    with pytest.raises(errors.ArtifactAccessError, match="permissions"):
        trust(tmp_path / "a")
