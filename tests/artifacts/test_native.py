"""Native programs: what is kept, what is cached, and what is said when something is missing."""

import subprocess

import numpy as np
import pytest
import torch
from artifact_models import example, mxnet_inputs, mxnet_model

from d2lhybrid import load, run_native, save
from d2lhybrid.artifacts import native
from d2lhybrid.errors import (
    ArtifactAccessError,
    CompilerMissingError,
    DamagedArtifactError,
    InputMismatchError,
    MissingPackageError,
    NativeRunError,
    UnsupportedArtifactError,
    UntrustedArtifactError,
)
from d2lhybrid.frameworks.mxnet.compat import import_mxnet


@pytest.fixture
def saved(tmp_path):
    save(mxnet_model("mlp", True), tmp_path / "a", *mxnet_inputs("mlp", 1, True))
    return tmp_path / "a"


def test_kept_folder_works_without_us(saved, tmp_path):
    keep = tmp_path / "kept"
    expected = run_native(saved, keep=keep)
    run_native(saved, example("mlp", 1), keep=keep)  # a second time over the first
    names = {p.name for p in keep.iterdir()}
    assert names == {"mxnet.c", "tensors.h", "build.sh", "run.sh", "run_model", "input-0.raw"}
    (keep / "run_model").unlink()
    subprocess.run(["sh", "build.sh"], cwd=keep, check=True)
    printed = subprocess.run(["sh", "run.sh"], cwd=keep, check=True, capture_output=True, text=True)
    assert printed.stdout.split()[1:] == ["float32", "1", "2"]
    again = np.fromfile(keep / "output-0.raw", "float32").reshape(1, 2)
    np.testing.assert_array_equal(again, expected)


def test_keep_leaves_a_folder_of_somebody_else(saved, tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "build.sh").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for keep in (tmp_path / "kept", tmp_path / "file", saved):
        with pytest.raises(ArtifactAccessError, match=r"Will not|Could not"):
            run_native(saved, keep=keep)
    assert (tmp_path / "kept" / "build.sh").read_text() == "mine"


def test_cache_saves_compiling(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    calls = []
    real = native._compile
    monkeypatch.setattr(native, "_compile", lambda *a: (calls.append(a), real(*a)))
    first = run_native(saved)
    assert run_native(saved).tolist() == first.tolist()
    assert len(calls) == 1
    monkeypatch.setattr(native, "_library_stamp", lambda folder: "another build")
    run_native(saved)
    assert len(calls) == 2


def test_missing_library(saved, monkeypatch):
    monkeypatch.setattr(native, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pip install"):
        run_native(saved)


def test_wrong_inputs(saved):
    good = np.ones((1, 512), "float32")
    for wrong in ([good[:, 1:]], [good.astype("float64")], [good] * 2, [["text"]], [[object()]]):
        with pytest.raises(InputMismatchError, match=r"float32 \(any, 512\)"):
            run_native(saved, *wrong)
    for wrong in ([[1, 2], [3]], torch.ones(1, 512).requires_grad_()):
        with pytest.raises(InputMismatchError, match="Expected a NumPy array, received a"):
            run_native(saved, wrong)


def test_hanging_program(saved, monkeypatch):
    with pytest.raises(NativeRunError, match=r"after 0\.001 s"):
        run_native(saved, timeout=0.001)


def test_formats_without_a_program_and_foreign_artifacts(saved, tmp_path, user):
    save(torch.nn.Linear(3, 2), tmp_path / "t", torch.ones(1, 3), format="safetensors")
    formats = "torch.export, torchscript, aotinductor, onnx"
    with pytest.raises(UnsupportedArtifactError, match=f"runs without Python.*: {formats}"):
        run_native(tmp_path / "t")
    user("someone else")
    with pytest.raises(UntrustedArtifactError):
        run_native(saved)
    assert run_native(saved, trust=True).shape == (1, 2)
    (saved / "model-symbol.json").write_text("{}")
    with pytest.raises(DamagedArtifactError):
        run_native(saved, trust=True)


def test_a_model_that_fails_inside_the_program(tmp_path):
    class Picky(torch.nn.Module):
        def forward(self, x):
            if x.sum() < 0:
                raise ValueError("below zero")
            return x

    save(Picky(), tmp_path / "a", torch.ones(1, 3), format="torchscript")
    with pytest.raises(NativeRunError, match="below zero"):
        run_native(tmp_path / "a", -np.ones((1, 3), "float32"))
    with pytest.raises(torch.jit.Error, match="below zero"):
        load(tmp_path / "a")(-torch.ones(1, 3))


def test_integer_and_boolean_tensors(tmp_path):
    class Both(torch.nn.Module):
        def forward(self, a, b):
            return a * 2, ~b, a.sum() > 3

    a, b = torch.arange(4), torch.tensor([True, False])
    for format in ("torchscript", "onnx"):
        save(Both(), tmp_path / format, a, b, format=format)
        double, inverse, big = run_native(tmp_path / format, a.numpy(), b.numpy())
        assert double.tolist() == [0, 2, 4, 6]
        assert inverse.tolist() == [False, True]
        assert big.shape == ()
        assert bool(big)


def test_mxnet_outputs_that_are_not_float32(tmp_path):
    mx = import_mxnet()

    class Whole(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return F.cast(x * 3, dtype="int32")

    model = Whole()
    save(model, tmp_path / "a", mx.nd.ones((2, 3)))
    with pytest.raises(UnsupportedArtifactError, match=r"float32, received .*int32"):
        run_native(tmp_path / "a")


def test_bits_of_bfloat16(tmp_path):
    model = torch.nn.ReLU()
    save(model, tmp_path / "a", torch.ones(4, dtype=torch.bfloat16), format="torchscript")
    for wrong in (np.ones(4, "float16"), np.ones(4, "float32")):
        with pytest.raises(InputMismatchError, match="bfloat16"):
            run_native(tmp_path / "a", wrong)
    assert run_native(tmp_path / "a", np.full(4, 0x4040, "uint16")).tolist() == [3] * 4


@pytest.mark.parametrize(
    ("format", "variable", "command", "error", "words"),
    [
        ("mxnet", "CC", None, CompilerMissingError, "apt install gcc"),
        ("mxnet", "CC", "no-such-compiler", CompilerMissingError, "no-such-compiler"),
        ("mxnet", "CC", 'cc "', CompilerMissingError, 'cc "'),
        ("torchscript", "CXX", None, CompilerMissingError, r"apt install g\+\+"),
        ("mxnet", "CC", "cc -no-such-flag", NativeRunError, "no-such-flag"),
        ("mxnet", "CC", "{folder}/no-program", NativeRunError, "Exec format error"),
    ],
)
def test_compilers(saved, tmp_path, monkeypatch, format, variable, command, error, words):
    path = saved
    if format != "mxnet":
        path = tmp_path / "t"
        save(torch.nn.Linear(3, 2), path, torch.ones(1, 3), format=format)
    (tmp_path / "no-program").write_text("no program")
    (tmp_path / "no-program").chmod(0o755)
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(variable, raising=False)
    if command is None:
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    else:
        monkeypatch.setenv(variable, command.format(folder=tmp_path))
    with pytest.raises(error, match=words):
        run_native(path)


def test_a_cache_that_is_no_folder(saved, tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ArtifactAccessError, match="D2LHYBRID_CACHE"):
        run_native(saved)
