"""Artifacts made by hand: no framework, and as hostile as a test wants them."""

import json
from contextlib import suppress
from pathlib import Path

import msgspec

from d2lhybrid.artifacts.integrity import file_entries
from d2lhybrid.artifacts.manifest import MANIFEST, VERSION, Manifest, TensorSpec, parse
from d2lhybrid.artifacts.store import read, replacing
from d2lhybrid.artifacts.trusted import add_trusted
from d2lhybrid.core.treespec import TreeSpec

TENSOR = TreeSpec("tensor")
FIELDS = {
    "d2lhybrid_artifact": VERSION,
    "versions": {"torch": "1"},
    "inputs": (TensorSpec("x", "float32", (None, 4)),),
    "outputs": (TensorSpec("y", "float32", (None, 4)),),
    "fixed": "",
    "in_spec": TreeSpec("tuple", parts=(TreeSpec("tuple", parts=(TENSOR,)), TreeSpec("dict"))),
    "out_spec": TENSOR,
    "examples": 1,
    "options": {},
    "created": "",
}


def make(path, files=None, *, format="onnx", framework="torch", trusted=True):
    """Write an artifact with these files; nothing is loaded, so they may hold anything."""
    path = Path(path)
    with replacing(path) as folder:
        for name, data in (files or {"model.onnx": b"weights"}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        files = file_entries(folder)
        manifest = Manifest(format=format, framework=framework, files=files, **FIELDS)
        (folder / MANIFEST).write_bytes(manifest.to_bytes())
    if trusted:
        add_trusted(read(path).digest)
    return path


def edit(path, change):
    """Let `change` alter the manifest, as somebody would who can compute its hash."""
    body = json.loads((path / MANIFEST).read_text())
    change(body)
    raw = json.dumps(body).encode()
    with suppress(msgspec.ValidationError):  # which a reader is to find out
        raw = msgspec.json.decode(raw, type=Manifest).to_bytes()
    (path / MANIFEST).write_bytes(raw)


def forge(path):
    """Make the manifest fit the files again: what an attacker hands out."""
    manifest = parse((path / MANIFEST).read_bytes())
    files = file_entries(path)
    (path / MANIFEST).write_bytes(msgspec.structs.replace(manifest, files=files).to_bytes())
