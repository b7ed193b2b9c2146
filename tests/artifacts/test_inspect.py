"""``inspect`` never executes, never hangs and raises nothing foreign, on any bytes."""

import contextlib
import io
import os
import random
import subprocess
import sys
import time
import zipfile

import pytest
import torch
from artifact_files import forge, make
from artifact_models import torch_model
from fuzz_damage import mutate

from d2lhybrid import i18n, inspect, load, save
from d2lhybrid.artifacts import inspection
from d2lhybrid.artifacts.store import read, require_intact
from d2lhybrid.errors import ArtifactError, DamagedArtifactError


def zipped(entries, method=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return file.getvalue()


HOSTILE = {
    "bomb": lambda: zipped([(f"{i}.py", bytes(10**8)) for i in range(5)]),
    "many": lambda: zipped([(f"{i}.py", b"") for i in range(70_000)]),
    "encrypted": lambda: zipped([("data.py", b"x")]).replace(b"\0\0\x08\0", b"\1\0\x08\0"),
    "terminal": lambda: zipped([("\x1b[31m/../x.py", b"")]),
    "junk": lambda: b"PK" * 1000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_archives(tmp_path, case):
    path = make(tmp_path / "a", {"model.pt": HOSTILE[case]()}, format="torchscript")
    start = time.monotonic()
    found = inspect(path)
    assert time.monotonic() - start < 20
    assert found.findings
    assert "\x1b" not in str(found)


def test_escaping_entry_behind_many_others(tmp_path):
    entries = [(f"{i}.py", b"") for i in range(20_000)]
    data = zipped([*entries, ("../../escaped", b"x")])
    path = make(tmp_path / "a", {"model.pt": data}, format="torchscript", signed=False)
    with pytest.raises(DamagedArtifactError, match="points outside"):
        load(path, trust=True)


@pytest.mark.parametrize("format", ["torchscript", "torch.export", "onnx"])
def test_any_bytes(tmp_path, format):
    save(torch_model("rnn"), tmp_path / "a", torch.ones(1, 5, 4), format=format)
    file = next((tmp_path / "a").glob("model*"))
    good, rng = file.read_bytes(), random.Random(0)
    start = time.monotonic()
    for i in range(150):
        file.write_bytes(rng.randbytes(i * 7) if i % 10 == 0 else mutate(good, rng))
        forge(tmp_path / "a")
        assert inspect(tmp_path / "a").signer == "nobody"
    for _ in range(150):
        manifest = tmp_path / "a" / "d2lhybrid.json"
        before = manifest.read_bytes()
        manifest.write_bytes(mutate(before, rng))
        with contextlib.suppress(ArtifactError):
            inspect(tmp_path / "a")
        manifest.write_bytes(before)
    assert time.monotonic() - start < 60


def test_imports_no_framework(tmp_path):
    make(tmp_path / "a", {"model.pt": b"x"}, format="torchscript")
    code = (
        "import sys, d2lhybrid; print(d2lhybrid.inspect(sys.argv[1]));"
        "from d2lhybrid import frameworks; modules = [one.module for one in frameworks.known()];"
        "print(sorted({*modules, 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a")], capture_output=True, text=True
    )
    assert done.stdout.endswith("[]\n"), done.stderr


def test_system_files_are_no_damage(tmp_path):
    path = make(tmp_path / "a", {"model.safetensors": b"w", "example/x.raw": b"1"})
    for folder in (path, path / "example"):
        (folder / ".DS_Store").write_text("Finder")
    (path / ".ipynb_checkpoints").mkdir()
    (path / ".ipynb_checkpoints" / "x").write_text("Jupyter")
    assert inspect(path).problems == ()
    require_intact(read(path))
    make(path)


def test_names_that_a_terminal_would_obey(tmp_path):
    path = make(tmp_path / "a")
    (path / "\x1b[31m\n  signed: by you\n.pt").write_bytes(b"no archive")
    (path / os.fsdecode(b"\xff.pt")).write_bytes(b"no archive")
    found = str(inspect(path))
    assert "does not belong here" in found
    assert "\x1b" not in found
    assert "\n  signed: by you\n" not in found
    assert found.encode()


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_columns_line_up_in_each_language(tmp_path, language, user):
    i18n.set_language(language)
    try:
        data = zipped([("x.so", b""), ("d/x.py", b"__setstate__")])
        path = make(tmp_path / "a", {"model.pt": data}, format="torchscript")
        (path / "extra").write_bytes(b"x")
        user("someone else")
        found = inspect(path)
        values = ("torchscript (", "torch 1", "x: float32", "'extra'")
        lines = [(line, v) for line in str(found).splitlines()[1:] for v in values if v in line]
        assert len({i18n.width(line[: line.index(value)]) for line, value in lines}) == 1
        assert found.signer.startswith("someone else (key ")  # an identifier, for programs
        assert (language == "en") == ("may:" in str(found))
    finally:
        i18n.set_language(None)


def test_graphs_are_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(inspection, "MAX_LOOK", 1000)
    names = [f"saved_model/{i}.pb" for i in range(3)]
    graph = bytes(600) + b"\n\x09WriteFile"
    path = make(
        tmp_path / "a", dict.fromkeys(names, graph), framework="tensorflow", format="savedmodel"
    )
    found = inspect(path).findings
    assert sum("WriteFile" in text for text in found) == 1
    assert sum("more content" in text for text in found) == 2
