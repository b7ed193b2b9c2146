"""One clear error of our own for each thing that can be wrong with an artifact."""

import os
import re
import shutil
import sys

import pytest
from artifact_files import edit, forge, make
from processes import python

from d2lhybrid import call, inspect, load, run_native, save, trust, verify
from d2lhybrid.artifacts.manifest import MANIFEST, parse
from d2lhybrid.artifacts.store import read
from d2lhybrid.core import errors

ALL = inspect, verify, load, trust, run_native
VERBS = [pytest.param(verb, id=verb.__name__) for verb in ALL]


@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_artifact(tmp_path, verb):
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / MANIFEST)
    (tmp_path / "loop").symlink_to("loop")
    said = dict.fromkeys(("missing", "nul\0byte", "file/below", "loop/below"), "nothing at")
    said |= dict.fromkeys(("file", "folder", "pipe"), "has no file d2lhybrid.json")
    for name, words in said.items():
        with pytest.raises(errors.ArtifactNotFoundError, match=words):
            verb(f"{tmp_path}/{name}")


class Recorded:
    """As the models that users hand over in place of a path."""


NO_PATHS = {
    "a model": (Recorded(), "Recorded"),
    "nothing": (None, "None"),
    "a number": (3, "3"),
    "bytes": (b"a", "bytes"),
}


@pytest.mark.parametrize("case", NO_PATHS)
@pytest.mark.parametrize("verb", VERBS)
def test_what_is_no_path_is_told_so(verb, case):
    received, words = NO_PATHS[case]
    with pytest.raises(errors.ArgumentError) as raised:
        verb(received)
    assert f"Received: {verb.__name__}({words})" in str(raised.value)
    assert "Pass the path of the folder that save made." in str(raised.value)


@pytest.mark.parametrize("verb", VERBS)
def test_what_save_returned_is_no_path_but_has_one(tmp_path, verb):
    make(tmp_path / "linear")
    with pytest.raises(errors.ArgumentError, match=r"artifact\.path"):
        verb(inspect(tmp_path / "linear"))


CALLS = {  # what is passed to save, and what the message has to name
    "the path first": (lambda f, x: save("path", f, x), "model comes first, then the path"),
    "the path last": (lambda f, x: save(f, x, "path"), "model comes first, then the path"),
    "no path": (lambda f, x: save(f), r"Received: save\("),
    "no arguments": (lambda f, x: save(f, "path"), r"save\(net, 'path', x\)"),
    "several callables": (lambda f, x: save({"f": f}, "path", x), "several callables"),
    "no callable": (lambda f, x: save(None, "path", x), "cannot be called"),
    "a class": (lambda f, x: save(Recorded, "path", x), "is a class"),
    "an unknown format": (lambda f, x: save(f, "path", x, format="onx"), "Write 'onnx'"),
    "axes without a name": (
        lambda f, x: save(f, "path", x, dynamic={"x": 0}),
        "as dynamic, such as",
    ),
    "no parent": (lambda f, x: save(f, "no/such/path", x), "no/such' .* create it first"),
    "not finite": (lambda f, x: save(f, "path", x, float("inf")), "finite number as .*tensor"),
    "complex": (lambda f, x: save(f, "path", x + 1j), "x, which is complex64. Save a function"),
    "bfloat16 in ONNX": (
        lambda f, x: save(f, "path", x.bfloat16(), format="onnx"),
        r"'onnx'\. Received: x, which is bfloat16",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_wrong_call_of_save_is_told_what_is_wrong(tmp_path, monkeypatch, case):
    torch = pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    wrong, words = CALLS[case]

    def double(x, scale=2.0):
        return x * scale

    with pytest.raises(errors.D2LHybridError, match=words):
        wrong(double, torch.ones(2, 3))
    assert not list(tmp_path.iterdir())


def test_a_call_that_does_not_fit_shows_the_whole_call(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.ones(2, 3)
    save(call(lambda x, mask: x * mask, x, mask=x), tmp_path / "a")
    model = load(tmp_path / "a")

    def run_outside(*args, **kwargs):
        return run_native(call(tmp_path / "a", *args, **kwargs))

    for args, kwargs, received in (
        ((x,), {}, r"\(Tensor\)"),
        ((x, x), {}, r"\(Tensor, Tensor\)"),
        ((), {"x": x, "mask": x}, r"\(x=Tensor, mask=Tensor\)"),
    ):
        for run in (model, run_outside):
            with pytest.raises(errors.InputMismatchError) as raised:
                run(*args, **kwargs)
            assert re.search(rf"\(·, mask=·\)\. Received: {received}", str(raised.value))
    for wrong, words in (
        (x.double(), r"x: float32 .*Received: float64 \(2, 3\)\. Convert it to float32"),
        (torch.ones(2, 4), r"Received: float32 \(2, 4\)\. Give it that shape"),
        (x.numpy(), r"as x\. Received: numpy\.ndarray\. .*torch\.as_tensor"),
        (None, r"a tensor as argument 1\. Received: None"),
        ([x], r"a tensor as argument 1\. Received: \[Tensor\]"),
    ):
        with pytest.raises(errors.InputMismatchError, match=words):
            model(wrong, mask=x)


PATHS = (
    *("../secret", "/etc/passwd", "a\\b", "C:x", "./model", "model.", ".bashrc", "a\nb", ""),
    *("a//b", "a/../b"),
)
TENSOR, CALL = {"kind": "tensor"}, [{"kind": "tuple"}, {"kind": "dict"}]
BAD_MANIFESTS = [  # what is changed in the manifest, in its file, and in its input
    ({"d2lhybrid_artifact": True}, {}, {}),
    *(({name: None}, {}, {}) for name in ("files", "more", "in_spec", "options")),
    *(({"examples": number}, {}, {}) for number in (0, 3)),
    *(({"in_spec": tree}, {}, {}) for tree in (TENSOR, {"kind": "tuple", "parts": CALL})),
    ({"out_spec": {"kind": "set", "parts": []}}, {}, {}),
    ({"out_spec": TENSOR | {"value": 1}}, {}, {}),
    ({"out_spec": {"kind": "dict", "keys": ["a", "a"], "parts": [TENSOR] * 2}}, {}, {}),
    ({"options": {"module": [1]}}, {}, {}),
    *(({}, {"path": path}, {}) for path in PATHS),
    *(({}, wrong, {}) for wrong in ({"size": 10**40}, {"sha256": "0" * 63})),
    ({}, {}, {"shape": [1.5]}),
    *(({}, {}, wrong) for wrong in ({"dtype": "object"}, {"name": "\x1b[31m"})),
]


@pytest.mark.parametrize("changes", BAD_MANIFESTS, ids=lambda changes: str(changes)[:60])
def test_bad_manifest(tmp_path, changes):
    path = make(tmp_path / "a")

    def change(body):
        for part, fields in zip((body, body["files"][0], body["inputs"][0]), changes, strict=True):
            part.update(fields)

    edit(path, change)
    for verb in (inspect, verify, load, trust):
        with pytest.raises(errors.DamagedArtifactError):
            verb(path)


def test_another_version(tmp_path):
    edit(path := make(tmp_path / "a"), lambda body: body.update(d2lhybrid_artifact=2))
    for verb in (inspect, verify, load, trust):
        with pytest.raises(errors.DamagedArtifactError, match="d2lhybrid_artifact"):
            verb(path)


def test_bad_bytes(tmp_path):
    good = (make(tmp_path / "a") / MANIFEST).read_bytes()
    parse(good)
    changed = good.replace(b"float32", b"float64", 1)
    twice = good.replace(b'"fixed": "",', b'"fixed": "", "fixed": "",')
    assert good not in (changed, twice)
    for raw in (
        *(b"", b"\x80\x04K\x01.", b'{"d2lhybrid_artifact": "\xff"}', b" " * (1 << 20) + b"{}"),
        *(b"[" * 500_000 + b"]" * 500_000, b'{"a":' * 150_000 + b"1" + b"}" * 150_000),
        *(b'{"d2lhybrid_artifact": NaN}', b'{"d2lhybrid_artifact": 1, "files": ['),
        *(good + b" ", good[:-2], changed, twice),
    ):
        with pytest.raises(errors.DamagedArtifactError):
            parse(raw)


def _replace_by(make_it):
    return lambda path: ((path / "one").unlink(), make_it(path / "one"))


DAMAGE = {
    "truncated": lambda path: os.truncate(path / "one", 3),
    "flipped": lambda path: (path / "one").write_bytes(b"11011"),
    "swapped": lambda path: shutil.copy(path / "two", path / "one"),
    "missing": lambda path: (path / "one").unlink(),
    "extra": lambda path: (path / "\x1b[31m").write_text("x"),
    "link": _replace_by(lambda p: p.symlink_to(p.parent / "two")),
    "link to a folder": _replace_by(lambda p: p.symlink_to(p.parent)),
    "pipe": _replace_by(os.mkfifo),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files(tmp_path, case):
    path = make(tmp_path / "a", {"one": b"11111", "two": b"22222"})
    read(path).require_intact()
    DAMAGE[case](path)
    for verb in (load, trust):
        with pytest.raises(errors.DamagedArtifactError):
            verb(path)
    for found in (verify(path), inspect(path)):
        assert found.problems
        assert "\x1b" not in str(found)
    assert verify(path).answer == "failed"
    assert re.search(r"answer: +failed\n.*outputs: not run", str(verify(path)), re.DOTALL)


def test_what_desktops_leave_is_no_damage(tmp_path):
    path = make(tmp_path / "a", {"model.onnx": b"w", "example/x.npy": b"1"})
    for folder in (path, path / "example"):
        (folder / ".DS_Store").write_text("Finder")
    (path / ".ipynb_checkpoints").mkdir()
    (path / ".ipynb_checkpoints" / "x").write_text("Jupyter")
    assert inspect(path).problems == ()
    make(path)


def test_unknown_format_and_framework(tmp_path):
    for name, fields, error in (
        ("pickle", {"format": "pickle"}, errors.UnsupportedArtifactError),
        ("os", {"framework": "os"}, errors.UnknownFrameworkError),
    ):
        path = make(tmp_path / name, **fields)
        for verb in (load, inspect):
            with pytest.raises(error, match=f"'{name}'"):
                verb(path)


@pytest.mark.parametrize(
    ("format", "package"), [("torch.export", "torch"), ("onnx", "onnxruntime")]
)
def test_a_package_that_is_not_installed(tmp_path, monkeypatch, format, package):
    path = make(tmp_path / "a", format=format)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingPackageError, match="pip install"):
        load(path)
    assert inspect(path).trusted


def test_inspect_loads_no_framework(tmp_path):
    make(tmp_path / "a")
    code = (
        "import sys, d2lhybrid; print(d2lhybrid.inspect(sys.argv[1]));"
        "from d2lhybrid import backends; modules = [one.name for one in backends.known()];"
        "print(sorted({*modules, 'onnxruntime'} & set(sys.modules)))"
    )
    assert python("-c", code, str(tmp_path / "a")).stdout.endswith("[]\n")


def test_trust_ends_with_the_first_change_and_at_the_user(tmp_path, user):
    path = make(tmp_path / "a", format="torch.export", files={"model.pt2": b"good"})
    assert inspect(path).trusted
    user("someone else")
    assert not inspect(path).trusted
    assert verify(path).answer == "not run"
    with pytest.raises(errors.UntrustedArtifactError, match="trust"):
        load(path)
    assert trust(path).trusted
    (path / "model.pt2").write_bytes(b"evil")
    forge(path)
    assert not inspect(path).trusted
    with pytest.raises(errors.UntrustedArtifactError):
        load(path)


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_the_list_of_trust_is_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path / "data"))
    make(tmp_path / "a")
    (kept,) = (tmp_path / "data" / "trusted").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path / "file"))
    with pytest.raises(OSError, match="Not a directory"):
        trust(tmp_path / "a")
    assert not inspect(tmp_path / "a").trusted
