"""Artifacts whose files cost a stranger nothing and a reader much, or are not what they say.

Each verb that reads them comes back at once, with an error of our own or an answer.
"""

import os
import socket
import time
import zipfile

import numpy as np
import pytest
from artifact_files import edit, forge, make

from d2lhybrid import __main__ as cli, inspect, load, run_native, trust, verify
from d2lhybrid.artifacts import integrity, proof
from d2lhybrid.artifacts.manifest import MANIFEST
from d2lhybrid.core import errors

SPARSE = integrity.MAX_TOTAL_BYTES + 1  # bytes
SECONDS = 20.0  # for all verbs together; to hash a sparse file takes longer


def sparse(path):
    """A file of many gigabytes that takes no space on the disk."""
    with open(path, "wb") as file:
        file.truncate(SPARSE)


def listed_and_sparse(path):
    sparse(path / "model.onnx")
    edit(path, lambda body: body["files"][0].update(size=SPARSE))


def deep(path):
    """A file in folders in folders."""
    before = os.getcwd()
    os.chdir(path)
    try:
        for _ in range(300):
            os.mkdir("folder")
            os.chdir("folder")
        open("file", "w").close()
    finally:
        os.chdir(before)


def with_socket(path):
    (path / "model.onnx").unlink()
    before = os.getcwd()
    os.chdir(path)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("model.onnx")
    finally:
        os.chdir(before)


COSTLY = {
    "a file that is not listed": (lambda path: sparse(path / "x.bin"), "isn't part"),
    "a file that has grown": (lambda path: sparse(path / "model.onnx"), "has changed"),
    "a file that is listed with its size": (listed_and_sparse, "at most"),
    "a pipe": (lambda path: os.mkfifo(path / "pipe"), "'pipe' isn't part"),
    "a device": (lambda path: (path / "zero").symlink_to("/dev/zero"), "'zero' isn't part"),
    "a socket": (with_socket, "has changed"),
    "a loop of links": (lambda path: (path / "loop").symlink_to("loop"), "'loop' isn't part"),
    "a link to the root": (lambda path: (path / "root").symlink_to("/"), "'root' isn't part"),
    "deep folders": (deep, "isn't part"),
}


@pytest.fixture
def only_small(monkeypatch):
    """A large file that is read would take so long that it is an error here."""
    original = integrity.hash_file

    def hashed(path):
        assert path.stat().st_size < SPARSE, path
        return original(path)

    monkeypatch.setattr(integrity, "hash_file", hashed)


@pytest.mark.usefixtures("only_small")
@pytest.mark.parametrize("case", COSTLY)
def test_what_would_take_long_is_refused_at_once(tmp_path, case, capsys):
    change, words = COSTLY[case]
    change(path := make(tmp_path / "a"))
    started = time.monotonic()
    for found in (inspect(path), verify(path)):
        assert words in str(found)
    for verb in (load, trust, run_native):
        with pytest.raises(errors.DamagedArtifactError):
            verb(path)
    assert cli.main(["verify", str(path)]) == 1
    assert words in capsys.readouterr().out
    assert time.monotonic() - started < SECONDS


def test_bytes_are_read_only_of_files_that_have_their_names_and_sizes(tmp_path, monkeypatch):
    path, read = make(tmp_path / "a", {"one": b"11111", "two": b"22222"}), []
    original = integrity.hash_file

    def noted(file):
        read.append(file.name)
        return original(file)

    monkeypatch.setattr(integrity, "hash_file", noted)
    (path / "two").write_bytes(b"2222222")
    (path / "three").write_bytes(b"3")
    assert len(inspect(path).problems) == 2
    assert read == ["one"]


def test_a_manifest_without_end(tmp_path):
    sparse(make(tmp_path / "a") / MANIFEST)
    for verb in (inspect, verify, load, trust, run_native):
        with pytest.raises(errors.DamagedArtifactError):
            verb(tmp_path / "a")


class Payload:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return open, (str(self.marker), "w")


def pickled(file):
    marker = file.parent.parent / "marker"
    np.save(file, np.array([Payload(marker)], dtype=object), allow_pickle=True)


def huge(file):
    """A header of four terabytes, and no number behind it."""
    with open(file, "wb") as opened:
        header = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1)}
        np.lib.format.write_array_header_1_0(opened, header)


def archive(file):
    with zipfile.ZipFile(file, "w") as opened:
        opened.writestr("array.npy", b"")


EXAMPLES = {
    "pickled": pickled,
    "huge": huge,
    "an archive": archive,
    "empty": lambda file: file.write_bytes(b""),
    "no array": lambda file: file.write_bytes(b"weights"),
    "another dtype": lambda file: np.save(file, np.ones((1, 512))),
    "another shape": lambda file: np.save(file, np.ones((1, 3), "float32")),
    "missing": lambda file: file.unlink(),
}


@pytest.mark.parametrize("case", EXAMPLES)
def test_recorded_calls_that_are_none(copied, case, capsys):
    path = copied("torch", "onnx")
    EXAMPLES[case](path / "example" / "0-input-0.npy")
    forge(path)
    assert trust(path).problems == ()  # so that it runs here: a process for each takes long
    load(path)  # which reads none
    found = verify(path)
    assert (found.answer, found.problems) == ("failed", ())
    assert "0-input-0.npy" in found.reason
    with pytest.raises(errors.DamagedArtifactError, match=r"0-input-0\.npy"):
        run_native(path)
    assert run_native(path, np.ones((1, 512), "float32")).shape == (1, 2)
    assert cli.main(["verify", str(path)]) == 1
    assert "0-input-0.npy" in capsys.readouterr().out
    assert not list(path.glob("marker"))


# Programs that nobody waits for, in ONNX's own text. In place of each function's body stands a call
# of the one before it, ten times.
FOLDED = """
   size = Constant <value = int64[2] {5000, 5000}> ()
   m0 = ConstantOfShape <value = float[1] {0.0002}> (size)
   MATMULS
   axes = Constant <value = int64[2] {0, 1}> ()
   y = ReduceMean (m40, axes)
""".replace("MATMULS", "\n".join(f"m{i + 1} = MatMul (m{i}, m0)" for i in range(40)))
LOOP = """
   iterations = Constant <value = int64 {4611686018427387904}> ()
   true = Constant <value = bool {1}> ()
   y = Loop (iterations, true, x) <body = body (int64 i, bool before, float[N, 512] old)
      => (bool after, float[N, 512] new) {
      after = Identity (before)
      new = Mul (old, old)
   }>
"""
CALLS = "y = own.f4 (x)"
FUNCTIONS = '<domain: "own", opset_import: ["": 18, "own": 1]> f0 (x) => (y) { y = Neg (x) }'
for number in range(4):
    calls = "\n".join(f"y{i + 1} = own.f{number} (y{i})" for i in range(10))
    FUNCTIONS += (
        f'<domain: "own", opset_import: ["": 18, "own": 1]> f{number + 1} (x) => (y) '
        f"{{ y0 = Identity (x) {calls} y = Identity (y10) }}"
    )


@pytest.fixture
def programmed(copied):
    """Gives an artifact whose model a stranger has replaced by this program."""

    def artifact(body, functions=""):
        import onnx

        path, y = copied("torch", "onnx"), "float[N, M] y"
        x, given = "float[N, 512] x", '<ir_version: 8, opset_import: ["": 18, "own": 1]>'
        model = onnx.parser.parse_model(f"{given} graph ({x}) => ({y}) {{ {body} }} {functions}")
        onnx.save(model, path / "model.onnx")
        forge(path)
        return path

    return artifact


def test_a_file_is_opened_although_its_constants_would_never_be_computed(programmed):
    path, started = programmed(FOLDED), time.monotonic()
    load(path)
    assert time.monotonic() - started < SECONDS


def test_functions_that_call_each_other_are_refused(programmed):
    with pytest.raises(errors.UnsupportedArtifactError, match="one with the function 'f0'"):
        load(programmed(CALLS, FUNCTIONS))


def test_verifying_a_program_without_end_comes_to_an_end(programmed, monkeypatch):
    monkeypatch.setattr(proof, "VERIFY_SECONDS", 1.0)
    found = verify(programmed(LOOP))
    assert found.answer == "failed"
    assert "did not verify it within 1 s" in found.reason


def test_a_program_that_the_framework_refuses(copied):
    path = copied("torch", "torch.export")
    (path / "model.pt2").write_bytes(b"no program")
    forge(path)
    for verb in (load, verify, run_native):
        with pytest.raises(errors.ArtifactLoadError, match="although its bytes are as saved"):
            verb(path, trust=True)
    edit(path, lambda body: body.update(format="aotinductor", options={"processor": True}))
    for verb in (load, verify, run_native):
        with pytest.raises(errors.D2LHybridError):
            verb(path, trust=True)
