"""Artifacts that mean harm, with markers in place of harm.

Every marker is a file that the payload would write. None may appear through inspect, verify or an
untrusted load; where a framework has a safe setting, none appears through a trusted load either.
"""

import contextlib
import io
import json
import pickle
import sys
import zipfile
from importlib import import_module

import pytest
import torch
from artifact_files import edit, forge, make

from d2lhybrid import inspect, load, run_native, verify
from d2lhybrid.backends import known
from d2lhybrid.backends.torch import formats
from d2lhybrid.core import errors


class Payload:
    """Unpickling it writes the marker."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "marker"


def assert_harmless(path, marker):
    """Nothing fires without trust."""
    report = inspect(path)
    assert not report.trusted
    assert report.risk in str(report)
    found = verify(path)
    assert (found.ok, found.answer) == (False, "not run")
    with pytest.raises(errors.UntrustedArtifactError, match="trust"):
        load(path)
    with pytest.raises((errors.UntrustedArtifactError, errors.UnsupportedArtifactError)):
        run_native(path)
    assert not marker.exists()


CARRYING = [
    (one.name, name) for one in known() for name, format in one.formats.items() if format.risk
]


@pytest.mark.parametrize(("framework", "format"), CARRYING)
def test_a_strangers_artifact_needs_trust(copied, marker, tmp_path, framework, format):
    if format == "aotinductor":  # which compiles for minutes, and is not even opened
        assert_harmless(make(tmp_path / "a", format=format, trusted=False), marker)
        return
    path = copied(framework, format)
    edit(path, lambda body: body.update(created="by a stranger"))
    assert_harmless(path, marker)
    assert verify(path, trust=True).ok


def pickled(payload, **options):
    """What torch.load reads, with the payload inside."""
    torch.save({"x": payload}, file := io.BytesIO(), **options)
    return file.getvalue()


def in_weights(entries, payload):
    config_name = next(n for n in entries if n.endswith("model_weights_config.json"))
    config = json.loads(entries[config_name])
    first = next(iter(config["config"].values()))
    first["use_pickle"] = True
    weight = f"model/data/weights/{first['path_name']}"
    return {weight: pickled(payload), config_name: json.dumps(config).encode()}


INPUTS, OLD = "model/data/sample_inputs/model.pt", {"_use_new_zipfile_serialization": False}
PUT = {
    "zip": lambda entries, payload: {INPUTS: pickled(payload)},
    "old": lambda entries, payload: {INPUTS: pickled(payload, **OLD)},
    "plain": lambda entries, payload: {INPUTS: pickle.dumps(payload)},
    "weights": in_weights,
}


@pytest.mark.parametrize("put", PUT)
def test_pickles_in_an_exported_program(copied, marker, put):
    path = copied("torch", "torch.export")
    with zipfile.ZipFile(path / "model.pt2") as old:
        entries = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(path / "model.pt2", "w", zipfile.ZIP_STORED) as new:
        for name, data in (entries | PUT[put](entries, Payload(marker))).items():
            new.writestr(name, data)
    forge(path)
    assert_harmless(path, marker)
    # Some are read without the part that was exchanged; none runs it.
    with contextlib.suppress(errors.ArtifactLoadError):
        load(path, trust=True)
    assert not marker.exists()


def test_onnx_data_that_escapes(copied, tmp_path):
    import onnx

    path, secret = copied("torch", "onnx"), tmp_path / "secret.bin"
    model = onnx.load(path / "model.onnx")
    weight = next(w for w in model.graph.initializer if len(w.dims) == 2)
    size = 4 * weight.dims[0] * weight.dims[1]
    secret.write_bytes(bytes(size))
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for location in ("../secret.bin", str(secret), "x/../../secret.bin"):
        del weight.external_data[:]
        for key, value in {"location": location, "offset": "0", "length": str(size)}.items():
            weight.external_data.add(key=key, value=value)
        (path / "model.onnx").write_bytes(model.SerializeToString())
        forge(path)
        for open_it in (load, verify, run_native):
            with pytest.raises((errors.ArtifactLoadError, errors.NativeRunError)):
                open_it(path)


@pytest.mark.parametrize("current", [True, False], ids=["in it", "beside it"])
def test_libraries_that_try_an_import_find_nothing_in_the_folder(
    copied, marker, monkeypatch, current
):
    """Although a session imports from its current folder, and processes from where it does."""
    path = copied("torch", "onnx")
    folder = path if current else path.parent
    # The standard library's pickle tries `org`; PyTorch tries the next two.
    for name in ("optional", "org", "dill", "gmpy2", "sitecustomize"):
        (folder / f"{name}.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    forge(path)
    edit(path, lambda body: body.update(created="by a stranger"))
    original = formats.Onnx.read

    def read(*given):
        with contextlib.suppress(ImportError):
            import_module("optional")
        return original(*given)

    monkeypatch.setattr(formats.Onnx, "read", read)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", ["", *sys.path, str(path)])
    before = [*sys.path]
    inspect(path)
    load(path)
    assert verify(path).ok  # in a fresh process
    assert not marker.exists()
    assert sys.path == before
