"""Artifacts made by hand: no framework, and as hostile as a test wants them."""

import json
from pathlib import Path

from d2lhybrid.artifacts.files import entries
from d2lhybrid.artifacts.manifest import MANIFEST, SIGNATURE, Manifest, TensorSpec
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.trust import signature
from d2lhybrid.frameworks.layout import Structure

FIELDS = {
    "versions": {"torch": "1"},
    "inputs": (TensorSpec("x", "float32", (None, 4)),),
    "outputs": (TensorSpec("y", "float32", (None, 4)),),
    "takes": Structure({"tuple": [{"tuple": [0]}, {"mapping": [], "of": []}]}),
    "returns": Structure(0),
    "example_inputs": (),
    "example_outputs": (),
    "options": {},
    "created": "",
}


def make(path, files=None, *, format="safetensors", framework="torch", signed=True):
    """Write an artifact with these files; nothing is loaded, so they may hold anything."""
    with replacing(path) as folder:
        for name, data in (files or {"model.safetensors": b"weights"}).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        manifest = Manifest(format=format, framework=framework, files=entries(folder), **FIELDS)
        (folder / MANIFEST).write_bytes(manifest.to_bytes())
        if signed:
            (folder / SIGNATURE).write_bytes(signature(manifest.to_bytes()))
    return Path(path)


def edit(path, change):
    """Let `change` alter the manifest, as somebody without our key could."""
    body = json.loads((path / MANIFEST).read_text())
    (path / MANIFEST).write_text(json.dumps(change(body) or body))
    (path / SIGNATURE).unlink(missing_ok=True)


def forge(path):
    """Make the manifest fit the files again, unsigned: what an attacker hands out."""

    def change(body):
        body["files"] = [vars(e) for e in entries(path)]

    edit(path, change)
