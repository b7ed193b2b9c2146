"""Artifacts that mean harm, with markers in place of harm.

Every marker is a file that the payload would write. None may appear through inspect, verify or an
untrusted load; where a framework has a safe setting, none appears through a trusted load either.
"""

import contextlib
import io
import json
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from artifact_files import forge
from artifact_models import torch_model

from d2lhybrid import errors, inspect, load, run_native, save, trust, verify


class Payload:
    """Unpickling it writes the marker."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


@pytest.fixture
def marker(tmp_path):
    return tmp_path / "marker"


def assert_harmless(path, marker, *, found=None):
    """Nothing fires without trust, and what is found in the files is told."""
    report = inspect(path)
    assert report.signer == "nobody"
    assert found is None or any(found in text for text in report.findings), report.findings
    assert found is None or found in str(report)
    assert not verify(path).compared
    with pytest.raises(errors.UntrustedArtifactError, match="trust"):
        load(path)
    with pytest.raises((errors.UntrustedArtifactError, errors.UnsupportedArtifactError)):
        run_native(path)
    assert not marker.exists()


def rewrite(archive, change):
    """Rewrite a zip file; `change` maps names to bytes, or to None for entries to drop."""
    with zipfile.ZipFile(archive) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries.update(change(entries))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as new:
        for name, data in entries.items():
            if data is not None:
                new.writestr(name, data)


def torch_pickle(payload):
    """What torch.load reads, with the payload inside."""
    file = io.BytesIO()
    torch.save({"x": payload}, file)
    return file.getvalue()


def old_torch_pickle(payload):
    """The format before zip files, which torch.load still reads."""
    file = io.BytesIO()
    torch.save({"x": payload}, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


def in_sample_inputs(pack):
    return lambda entries, payload: {"model/data/sample_inputs/model.pt": pack(payload)}


def in_weights(entries, payload):
    config_name = next(n for n in entries if n.endswith("model_weights_config.json"))
    config = json.loads(entries[config_name])
    first = next(iter(config["config"].values()))
    first["use_pickle"] = True
    weight = f"model/data/weights/{first['path_name']}"
    return {weight: torch_pickle(payload), config_name: json.dumps(config).encode()}


def in_script(entries, payload):
    return {"model/data.pkl": pickle.dumps(payload)}


@pytest.mark.parametrize(
    ("format", "put"),
    [
        ("torch.export", in_sample_inputs(torch_pickle)),
        ("torch.export", in_sample_inputs(old_torch_pickle)),
        ("torch.export", in_sample_inputs(pickle.dumps)),
        ("torch.export", in_weights),
        ("torchscript", in_script),
    ],
)
def test_pickles_in_archives(tmp_path, marker, packages, format, put):
    path = packages(format, tmp_path / "a")
    file = next(path.glob("model.pt*"))
    rewrite(file, lambda entries: put(entries, Payload(marker)))
    forge(path)
    assert_harmless(path, marker)
    # Some are read without the part that was exchanged; none runs it.
    with contextlib.suppress(errors.ArtifactLoadError):
        load(path, trust=True)
    assert not marker.exists()


class WithState(torch.nn.Module):
    """TorchScript compiles __setstate__ and runs it when the archive is loaded."""

    def __init__(self):
        super().__init__()
        self.loaded = torch.zeros(1)
        self.training = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.loaded

    @torch.jit.export
    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        return self.loaded, self.training

    @torch.jit.export
    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        self.loaded = state[0] + 1  # the marker: what the model adds shows that this ran
        self.training = state[1]


def test_setstate_of_torchscript(tmp_path, marker):
    path = tmp_path / "a"
    save(torch_model("mlp"), path, torch.ones(1, 512), format="torchscript")
    with pytest.warns(DeprecationWarning, match="jit"):
        torch.jit.script(WithState()).save(str(path / "model.pt"))
    forge(path)
    assert_harmless(path, marker, found="__setstate__")
    loaded = load(path, trust=True)  # the caller takes the risk; torch has no safe setting
    assert loaded.model(torch.zeros(1)).item() == 1


@pytest.mark.parametrize("name", ["model/../../marker", "/tmp/marker", "model/..\\..\\marker"])
@pytest.mark.parametrize("format", ["aotinductor", "torch.export", "torchscript"])
def test_escaping_entries(tmp_path, marker, format, name, packages):
    path = packages(format, tmp_path / "a")
    file = path / ("model.pt" if format == "torchscript" else "model.pt2")
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(name, b"escaped")
    forge(path)
    assert_harmless(path, marker, found="points outside")
    for open_it in (load, run_native) if format == "aotinductor" else (load,):
        with pytest.raises(errors.DamagedArtifactError, match="points outside"):
            open_it(path, trust=True)
    assert not marker.exists()


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """A function that makes an artifact at a path; each format is written once."""
    import shutil

    made = {}

    def copy(format, path):
        if format not in made:
            made[format] = tmp_path_factory.mktemp("made") / format
            save(torch.nn.Linear(3, 2), made[format], torch.ones(1, 3), format=format)
        shutil.copytree(made[format], path)
        return path

    return copy


def test_native_code_is_named(tmp_path, marker, packages):
    path = packages("aotinductor", tmp_path / "a")
    forge(path)
    assert_harmless(path, marker, found="native code")


def test_keras_lambda(tmp_path, marker):
    import keras

    text = str(marker)
    layers = [keras.layers.Input((3,)), keras.layers.Lambda(lambda x: x + 0 * fire(text))]
    path = tmp_path / "a"
    good = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
    save(good, path, ones(), format="keras")
    keras.Sequential(layers).save(path / "model.keras")
    assert marker.exists()
    marker.unlink()
    forge(path)
    assert_harmless(path, marker, found="lambda")
    with pytest.raises(errors.ArtifactLoadError, match="safe"):
        load(path, trust=True)
    assert not marker.exists()


def fire(marker):
    Path(marker).touch()
    return 0.0


def ones():
    import tensorflow as tf

    return tf.ones((1, 3))


def test_file_writing_operation_in_a_saved_model(tmp_path, marker):
    import tensorflow as tf

    def write(x):
        with tf.control_dependencies([tf.io.write_file(str(marker), "fired")]):
            return tf.identity(x)

    path = tmp_path / "a"
    save(tf.function(write), path, ones())
    assert marker.exists()
    marker.unlink()
    forge(path)
    assert_harmless(path, marker, found="WriteFile")


def test_file_writing_initializer_of_a_saved_model(tmp_path, marker):
    """A table's initializer is part of the graph, and tf.saved_model.load runs it."""
    import tensorflow as tf
    from tensorflow.python.ops.lookup_ops import TableInitializerBase

    class Writing(TableInitializerBase):
        def initialize(self, table):
            return tf.io.write_file(str(marker), "fired")

    class Model(tf.Module):
        def __init__(self):
            self.table = tf.lookup.StaticHashTable(Writing(tf.string, tf.int64), 0)

        @tf.function(input_signature=[tf.TensorSpec((None, 3), tf.float32, "x")])
        def serve(self, x):
            found = self.table.lookup(tf.constant(["key"]))
            return {"output_0": x + tf.cast(found, tf.float32)}

    path = tmp_path / "a"
    save(tf.function(lambda x: x * 1), path, ones())
    model = Model()
    tf.saved_model.save(
        model, str(path / "saved_model"), signatures={"serving_default": model.serve}
    )
    forge(path)
    marker.unlink()
    assert_harmless(path, marker, found="WriteFile")
    tf.saved_model.load(str(path / "saved_model"))
    assert marker.exists()


def test_onnx_data_that_escapes(tmp_path, marker):
    import onnx

    path = tmp_path / "a"
    save(torch.nn.Linear(3, 2), path, torch.ones(1, 3), format="onnx")
    secret = tmp_path / "secret.bin"
    secret.write_bytes(b"\0" * 24)
    model = onnx.load(path / "model.onnx")
    weight = next(w for w in model.graph.initializer if len(w.dims) == 2)
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for location in ("../secret.bin", str(secret), "x/../../secret.bin"):
        del weight.external_data[:]
        for key, value in {"location": location, "offset": "0", "length": "24"}.items():
            weight.external_data.add(key=key, value=value)
        (path / "model.onnx").write_bytes(model.SerializeToString())
        forge(path)
        inspect(path)
        for open_it in (load, verify, run_native):
            with pytest.raises((errors.ArtifactLoadError, errors.NativeRunError)):
                open_it(path)


def test_trust_ends_with_the_first_change(tmp_path, user):
    path = tmp_path / "a"
    save(torch.nn.Linear(3, 2), path, torch.ones(1, 3), format="torchscript")
    assert load(path) is not None
    user("someone else")
    assert inspect(path).signer.startswith("someone else")
    with pytest.raises(errors.UntrustedArtifactError, match="signed by someone else"):
        load(path)
    assert load(path, trust=True) is not None
    assert trust(path).signer.startswith("you")
    assert load(path) is not None
    forge(path)
    with pytest.raises(errors.UntrustedArtifactError):
        load(path)
