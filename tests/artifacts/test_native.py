"""Native programs: what is kept, what is cached, and what is said when something is missing."""

import shlex
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pytest
from artifact_files import edit, make
from artifact_models import example, inputs

from d2lhybrid import call, run_native, save
from d2lhybrid.artifacts import program
from d2lhybrid.backends.mxnet.compat import import_mxnet
from d2lhybrid.core import errors


@pytest.fixture
def path(saved):
    return saved("mxnet numpy", "mxnet")


def test_kept_folder_works_without_us(path, tmp_path):
    kept = tmp_path / "kept"
    expected = run_native(path, output_dir=kept)
    run_native(path, example(1), output_dir=kept)  # a second time over the first
    names = {p.name for p in kept.iterdir()}
    assert names == {"mxnet.c", "tensors.h", "build.sh", "run.sh", "run_model", "input-0.raw"}
    (kept / "run_model").unlink()
    subprocess.run(["sh", "build.sh"], cwd=kept, check=True)
    printed = subprocess.run(["sh", "run.sh"], cwd=kept, check=True, capture_output=True, text=True)
    assert printed.stdout.split()[1:] == ["float32", "1", "2"]
    again = np.fromfile(kept / "output-0.raw", "float32").reshape(1, 2)
    np.testing.assert_array_equal(again, expected)
    with pytest.raises(errors.UnwritableFolderError, match="other files"):  # of somebody else
        run_native(path, output_dir=path)


def test_the_cache_saves_compiling(path, tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    first = run_native(path)
    (made,) = (tmp_path / "cache" / "native").glob("*/run_model")
    before = made.stat().st_mtime_ns
    assert run_native(path).tolist() == first.tolist()
    assert made.stat().st_mtime_ns == before
    monkeypatch.setenv("CC", "cc -O0")  # another program
    run_native(path)
    assert len(list((tmp_path / "cache" / "native").iterdir())) == 2


def test_wrong_inputs(path):
    good = np.ones((1, 512), "float32")
    for wrong in ([good[:, 1:]], [good.astype("float64")], [np.array([["text"]])]):
        with pytest.raises(errors.InputMismatchError, match=r"float32 \(any, 512\)"):
            run_native(path, *wrong)


@pytest.mark.usefixtures("unproved")
def test_a_program_leaves_a_gpus_memory_to_others(monkeypatch):
    """As one of TensorFlow's that finds a GPU, and would take all of it."""
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    assert program.execute(["printenv", "TF_FORCE_GPU_ALLOW_GROWTH"], "", 60) == "true\n"


def test_what_cannot_be_run(saved, copied, path, user, tmp_path, monkeypatch):
    with pytest.raises(errors.UnsupportedArtifactError, match="JAX has no such format"):
        run_native(saved("jax", "jax.export"))
    with pytest.raises(errors.NativeRunError, match=r"longer than 0\.001 s"):
        run_native(path, timeout=0.001)
    net = import_mxnet().gluon.nn.HybridLambda(lambda F, x: F.cast(x * 3, dtype="int32"))
    save(net, tmp_path / "whole", *inputs("mxnet", 1))
    with pytest.raises(errors.UnsupportedArtifactError, match=r"float32\. Received: .*int32"):
        run_native(tmp_path / "whole")
    on_a_gpu = copied("torch", "torch.export")
    edit(on_a_gpu, lambda body: body["options"].update(device="cuda:0"))
    with pytest.raises(errors.UnsupportedArtifactError, match="one on 'cuda:0'"):
        run_native(on_a_gpu, trust=True)
    user("someone else")
    with pytest.raises(errors.UntrustedArtifactError):
        run_native(path)
    assert run_native(path, trust=True).shape == (1, 2)
    monkeypatch.setattr(program, "find_spec", lambda name: None)
    with pytest.raises(errors.MissingPackageError, match="pip install"):
        run_native(path, trust=True)


def test_a_misspelt_option_is_an_error_that_names_the_option(path):
    with pytest.raises(errors.ArgumentError, match="Write timeout instead of timout"):
        run_native(path, timout=3.0)


def test_keywords_of_the_model_go_into_call_even_if_an_option_has_the_name(tmp_path):
    artifact = make(tmp_path / "a")

    def takes_timeout(body):
        body["in_spec"]["parts"] = [
            {"kind": "tuple"},
            {"kind": "dict", "keys": ["timeout"], "parts": [{"kind": "tensor"}]},
        ]

    edit(artifact, takes_timeout)
    wrong_shape = np.ones((1, 5), "float32")
    with pytest.raises(errors.InputMismatchError, match=r"float32 \(any, 4\)"):
        run_native(call(artifact, timeout=wrong_shape), timeout=3.0, trust=True)
    with pytest.raises(errors.InputMismatchError, match="Expected the arguments"):
        run_native(call(artifact, x=wrong_shape), trust=True, output_dir=tmp_path / "out")
    with pytest.raises(errors.ArgumentError, match=r"goes into call\(net, x, x=\.\.\.\)"):
        run_native(artifact, trust=True, x=wrong_shape)


PRINTED = {  # by a program that writes 1 and 2 as its output called "a b"
    "a stray line": "warming up\na b float32 1 2\n",
    "nothing": "",
    "another name": "a float32 1 2\n",
    "another dtype": "a b float33 1 2\n",
    "other sizes": "a b float32 1 3\n",
    "no sizes": "a b float32 one two\n",
    "two outputs": "a b float32 1 2\na b float32 1 2\n",
}


@pytest.fixture
def prints(copied, tmp_path, monkeypatch):
    """An artifact whose output is called "a b", and what stands for its native program."""

    def get(text):
        path = copied("mxnet numpy", "mxnet")
        edit(path, lambda body: body["options"].update(tensors=["data", "a b"]))
        made = tmp_path / "made"
        made.mkdir()
        executable = made / "run_model"
        numbers = "printf '\\0\\0\\200\\77\\0\\0\\0\\100'"  # 1 and 2 in float32
        script = f'#!/bin/sh\nfor file in "$@"; do :; done\n{numbers} >"$file"\n'
        executable.write_text(f"{script}printf %s {shlex.quote(text)}\n")
        executable.chmod(0o755)
        monkeypatch.setattr(program, "build", lambda of: made)
        return path

    return get


def test_an_output_with_a_space_in_its_name(prints):
    assert run_native(prints("a b float32 1 2\n"), trust=True).tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("case", PRINTED)
def test_what_no_program_of_ours_prints(prints, case):
    with pytest.raises(errors.NativeRunError, match="a line for each of 1 outputs"):
        run_native(prints(PRINTED[case]), trust=True)


def test_tensors_that_are_no_arrays(path):
    torch = pytest.importorskip("torch")
    x = torch.ones(1, 512, requires_grad=True)
    with pytest.raises(errors.InputMismatchError, match=r"NumPy arrays\..*torch\.Tensor"):
        run_native(path, x)
    assert run_native(path, x.detach()).shape == (1, 2)


@pytest.mark.parametrize(
    ("command", "error", "words"),
    [
        ("no-such-compiler", errors.CompilerMissingError, "no-such-compiler"),
        ("cc -no-such-flag", errors.NativeRunError, "no-such-flag"),
        ("{folder}/no-program", errors.NativeRunError, "Exec format error"),
    ],
)
def test_compilers(path, tmp_path, monkeypatch, command, error, words):
    (tmp_path / "no-program").write_text("no program")
    (tmp_path / "no-program").chmod(0o755)
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", command.format(folder=tmp_path))
    with pytest.raises(error, match=words):
        run_native(path)
    assert not list((tmp_path / "cache").rglob("*.c"))


def test_what_hinders_compiling_a_model_is_not_said_of_its_file(copied, tmp_path, monkeypatch):
    """A program of torch.export is compiled before its first run."""
    path = copied("torch", "torch.export")
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    compiler = "torch._inductor.aoti_compile_and_package"
    with monkeypatch.context() as patched:
        patched.setattr(compiler, Mock(side_effect=RuntimeError("g++: internal error")))
        with pytest.raises(errors.NativeRunError, match=r"compile the program: .*internal error"):
            run_native(path)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "file"))
    with pytest.raises(errors.UnwritableFolderError, match="Set D2LHYBRID_CACHE"):
        run_native(path)


@pytest.mark.parametrize("folder", ["native", "compiled"])
def test_a_part_of_the_cache_that_cannot_be_written_to(copied, tmp_path, monkeypatch, folder):
    path = copied("torch", "torch.export" if folder == "compiled" else "aotinductor")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / folder).write_text("no folder")
    monkeypatch.setenv("D2LHYBRID_CACHE", str(tmp_path / "cache"))
    with pytest.raises(errors.UnwritableFolderError, match="Set D2LHYBRID_CACHE"):
        run_native(path)


def test_an_output_folder_that_cannot_be_made(path, tmp_path):
    (tmp_path / "file").write_text("no folder")
    for taken in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(errors.UnwritableFolderError, match="Set output_dir"):
            run_native(path, output_dir=taken)


def test_a_model_to_compile_without_its_framework(tmp_path, monkeypatch):
    path = make(tmp_path / "a", {"model.pt2": b"program"}, format="torch.export")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(errors.MissingPackageError, match="pip install"):
        run_native(path, np.ones((1, 4), "float32"))
