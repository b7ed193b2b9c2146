"""One clear error of our own for each thing that can be wrong with an artifact."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from artifact_files import edit, forge, make

from d2lhybrid import errors, inspect, load, trust, verify
from d2lhybrid.artifacts.manifest import MANIFEST, SIGNATURE, parse
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import read, require_intact
from d2lhybrid.artifacts.trust import signature

REFUSE = [
    pytest.param(inspect, id="inspect"),
    pytest.param(verify, id="verify"),
    pytest.param(load, id="load"),
    pytest.param(trust, id="trust"),
]


@pytest.mark.parametrize("verb", REFUSE)
def test_what_is_no_artifact(tmp_path, verb):
    with pytest.raises(errors.ArtifactNotFoundError, match="nothing is there"):
        verb(tmp_path / "missing")
    with pytest.raises(errors.ArtifactNotFoundError):
        verb(tmp_path / "nul\0byte")
    with pytest.raises(errors.ArtifactNotFoundError):
        verb(3.5)
    (tmp_path / "file").write_text("x")
    with pytest.raises(errors.ArtifactNotFoundError, match="a file or a link"):
        verb(tmp_path / "file")
    with pytest.raises(errors.ArtifactNotFoundError):
        verb(tmp_path / "file" / "below")
    (tmp_path / "folder").mkdir()
    with pytest.raises(errors.ArtifactNotFoundError, match="did not make it"):
        verb(tmp_path / "folder")
    (tmp_path / "folder" / MANIFEST).write_text('{"name": "of another tool"}')
    with pytest.raises(errors.ArtifactNotFoundError, match="did not write it"):
        verb(tmp_path / "folder")
    make(tmp_path / "good")
    (tmp_path / "link").symlink_to(tmp_path / "good")
    with pytest.raises(errors.ArtifactNotFoundError, match="link"):
        verb(tmp_path / "link")


def _set(**fields):
    return lambda body: body.update(fields)


def _file(**fields):
    return lambda body: body["files"][0].update(fields)


BAD_MANIFESTS = {
    "newer": (_set(d2lhybrid_artifact=3), errors.UnsupportedArtifactError, "version 3"),
    "version true": (_set(d2lhybrid_artifact=True), errors.DamagedArtifactError, "version"),
    "version text": (_set(d2lhybrid_artifact="1"), errors.DamagedArtifactError, "version"),
    "no files": (lambda b: b.pop("files") and None, errors.DamagedArtifactError, "its fields"),
    "files text": (_set(files="model"), errors.DamagedArtifactError, "list"),
    "outside": (_file(path="../secret"), errors.DamagedArtifactError, "relative"),
    "absolute": (_file(path="/etc/passwd"), errors.DamagedArtifactError, "relative"),
    "backslash": (_file(path="a\\b"), errors.DamagedArtifactError, "relative"),
    "drive": (_file(path="C:x"), errors.DamagedArtifactError, "relative"),
    "dot": (_file(path="./model"), errors.DamagedArtifactError, "relative"),
    "trailing dot": (_file(path="model."), errors.DamagedArtifactError, "relative"),
    "hidden": (_file(path=".bashrc"), errors.DamagedArtifactError, "relative"),
    "control": (_file(path="a\nb"), errors.DamagedArtifactError, "relative"),
    "long": (_file(path="a" * 600), errors.DamagedArtifactError, "relative"),
    "10 GB": (_file(size=10**10), errors.DamagedArtifactError, "10000000000"),
    "huge": (_file(size=10**40), errors.DamagedArtifactError, "count"),
    "negative": (_file(size=-1), errors.DamagedArtifactError, "count"),
    "hash": (_file(sha256="0" * 63), errors.DamagedArtifactError, "SHA-256"),
    "shape": (
        lambda b: b["inputs"][0].update(shape=[1.5]), errors.DamagedArtifactError, "int"),
    "dtype": (
        lambda b: b["inputs"][0].update(dtype=["x"]), errors.DamagedArtifactError, "where str"),
    "example": (
        _set(example_inputs=[{"path": "model.safetensors", "dtype": "int8", "shape": [10**10]}]),
        errors.DamagedArtifactError, "size of its shape"),
    "more": (_set(more=1), errors.DamagedArtifactError, "or with others"),
    "structure": (
        _set(takes={"form": {"list": [0, 0]}, "constants": {}}),
        errors.DamagedArtifactError, "structure of 1"),
    "strange structure": (
        _set(takes={"form": {"set": [0]}, "constants": {}}),
        errors.DamagedArtifactError, "unknown structure"),
    "options": (_set(options=[1]), errors.DamagedArtifactError, "fields"),
}  # fmt: skip


@pytest.mark.parametrize("verb", REFUSE)
@pytest.mark.parametrize("case", BAD_MANIFESTS)
def test_bad_manifest(tmp_path, verb, case):
    change, error, text = BAD_MANIFESTS[case]
    path = make(tmp_path / "a")
    edit(path, change)
    if verb in (inspect, verify) and case == "10 GB":
        found = verb(path)
        assert found.problems
        assert any(text in problem for problem in found.problems)
    else:
        with pytest.raises(error, match=text):
            verb(path)


BAD_BYTES = {
    "empty": b"",
    "no JSON": b"\x80\x04K\x01.",
    "not UTF-8": b'{"d2lhybrid_artifact": "\xff"}',
    "deep": b"[" * 500_000 + b"]" * 500_000,
    "deep objects": b'{"a":' * 150_000 + b"1" + b"}" * 150_000,
    "too big": b" " * (1 << 20) + b"{}",
    "twice": b'{"d2lhybrid_artifact": 1, "d2lhybrid_artifact": 1}',
    "NaN": b'{"d2lhybrid_artifact": NaN}',
    "long number": b'{"d2lhybrid_artifact": ' + b"9" * 10_000 + b"}",
    "cut": b'{"d2lhybrid_artifact": 1, "files": [',
}


@pytest.mark.parametrize("case", BAD_BYTES)
def test_bad_bytes(case):
    with pytest.raises(errors.DamagedArtifactError):
        parse(BAD_BYTES[case])


def test_clashing_names(tmp_path):
    path = make(tmp_path / "a", {"Model": b"1", "straße": b"2"})
    for other in ("model", "MODEL", "STRASSE", "Ｍodel"):
        (path / other).write_bytes(b"3")
        with pytest.raises(errors.DamagedArtifactError, match="one and the same"):
            load(path)
        (path / other).unlink()
    edit(path, lambda b: b["files"].append(b["files"][0]))
    with pytest.raises(errors.DamagedArtifactError, match="one and the same"):
        load(path)


def _truncate(p):
    os.truncate(p / "one", 3)


def _flip(p):
    data = bytearray((p / "one").read_bytes())
    data[2] ^= 16
    (p / "one").write_bytes(data)


def _swap(p):
    os.rename(p / "one", p / "three")
    os.rename(p / "two", p / "one")
    os.rename(p / "three", p / "two")


DAMAGE = {
    "truncated": (_truncate, "3 bytes, not 5"),
    "flipped": (_flip, "other bytes"),
    "swapped": (_swap, "other bytes"),
    "missing": (lambda p: (p / "one").unlink(), "missing"),
    "extra": (lambda p: (p / "four").write_text("x"), "does not belong"),
    "extra folder": (lambda p: make(p / "four"), "does not belong"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_damaged_files(tmp_path, case):
    damage, text = DAMAGE[case]
    path = make(tmp_path / "a", {"one": b"11111", "two": b"22222"})
    require_intact(read(path))
    damage(path)
    with pytest.raises(errors.DamagedArtifactError, match=text):
        load(path, trust=True)
    with pytest.raises(errors.DamagedArtifactError, match=text):
        trust(path)
    assert any(text in problem for problem in verify(path).problems)
    assert not verify(path).ok


@pytest.mark.parametrize("verb", REFUSE)
def test_no_plain_files(tmp_path, verb):
    secret = tmp_path / "secret"
    secret.write_bytes(b"weights")
    for make_it in (
        lambda p: p.symlink_to(secret),
        lambda p: p.symlink_to(p.parent),
        lambda p: os.mkfifo(p),
    ):
        for name in ("model.safetensors", MANIFEST, SIGNATURE):
            path = make(tmp_path / "a")
            (path / name).unlink()
            make_it(path / name)
            if verb in (inspect, verify) and name != MANIFEST:
                assert any("plain file" in problem for problem in verb(path).problems)
            else:
                with pytest.raises(errors.DamagedArtifactError, match="plain"):
                    verb(path)
            shutil.rmtree(path)


def test_unknown_format_and_framework(tmp_path):
    path = make(tmp_path / "a", format="pickle")
    with pytest.raises(errors.UnsupportedArtifactError, match="received 'pickle'"):
        load(path)
    assert "Unknown" in inspect(path).may
    path = make(tmp_path / "b", framework="os")
    with pytest.raises(errors.UnsupportedArtifactError, match="received 'os'"):
        load(path)
    with pytest.raises(errors.UnsupportedArtifactError, match="Expected an artifact for"):
        load(make(tmp_path / "c"), framework="tensorflow")
    with pytest.raises(errors.UnsupportedArtifactError, match="Expected an artifact for"):
        load(make(tmp_path / "d"), framework="onnxruntime")


@pytest.mark.parametrize(
    ("framework", "format", "package"),
    [
        ("torch", "torch.export", "torch"),
        ("tensorflow", "keras", "tensorflow"),
        ("torch", "safetensors", "safetensors.torch"),
    ],
)
def test_framework_not_installed(tmp_path, monkeypatch, framework, format, package):
    path = make(tmp_path / "a", {"model.pt2": b"x"}, format=format, framework=framework)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(errors.MissingPackageError, match="pip install"):
        load(path)
    assert inspect(path).signer.startswith("you")


def test_bytes_that_the_framework_refuses(tmp_path):
    for format in ("torchscript", "torch.export", "aotinductor", "onnx"):
        files = {"model.pt": b"junk", "model.pt2": b"junk", "model.onnx": b"junk"}
        path = make(tmp_path / format, files, format=format)
        with pytest.raises(errors.ArtifactLoadError):
            load(path)
    with pytest.raises(errors.ArtifactLoadError, match="does not load"):
        load(make(tmp_path / "header", {"model.safetensors": b"\xff" * 7 + b"\x7f{}"}))


def test_broken_signatures(tmp_path):
    path = make(tmp_path / "a", format="torchscript")
    good = (path / SIGNATURE).read_text()
    body = json.loads(good)
    wrong = [
        {**body, "hmac": "0" * 64},
        {**body, "hmac": "é"},
        {**body, "manifest_sha256": "0" * 64},
        {"key": "x"},
    ]
    texts = ["", "{", "[]", "[" * 100_000, *map(json.dumps, wrong)]
    for bad in (b"\xed\xa0\x80", *(text.encode() for text in texts)):
        (path / SIGNATURE).write_bytes(bad)
        with pytest.raises(errors.DamagedArtifactError):
            load(path)
        assert inspect(path).problems
    (path / SIGNATURE).write_text(json.dumps({**body, "key": "\x1b[31mred"}))
    with pytest.raises(errors.UntrustedArtifactError):
        load(path)
    assert "\x1b" not in str(inspect(path))


def test_manifest_changed_after_signing(tmp_path):
    path = make(tmp_path / "a")
    body = json.loads((path / MANIFEST).read_text())
    body["inputs"][0]["shape"] = [None, 5]
    (path / MANIFEST).write_text(json.dumps(body))
    with pytest.raises(errors.DamagedArtifactError, match="changed after it was signed"):
        load(path)


def test_forged_artifacts_are_unsigned(tmp_path):
    path = make(tmp_path / "a", {"model.pt": b"good"}, format="torchscript")
    (path / "model.pt").write_bytes(b"evil")
    forge(path)
    with pytest.raises(
        errors.UntrustedArtifactError, match=r"signed by nobody.*__setstate__.*trust"
    ):
        load(path)


@pytest.fixture
def unprivileged():
    """A folder that we may read and not write, and no root's powers while the test runs."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    root = os.geteuid() == 0

    def drop():
        if root:
            os.seteuid(65534)
        else:
            folder.chmod(0o555)

    yield folder, drop
    if root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_no_permission(unprivileged, monkeypatch):
    folder, drop = unprivileged
    monkeypatch.setenv("D2LHYBRID_DATA", str(folder / "data"))
    make(folder / "a")
    (folder / "data").chmod(0o755)
    if os.geteuid() == 0:
        os.chown(folder / "data" / "artifact.key", 65534, -1)
    for path in (folder / "a", *(folder / "a").iterdir()):
        path.chmod(0o755 if path.is_dir() else 0o644)
    make(folder / "hidden")
    (folder / "hidden" / "model.safetensors").chmod(0)
    make(folder / "closed")
    (folder / "closed").chmod(0)
    drop()
    if os.geteuid():
        assert inspect(folder / "a").problems == ()
        if os.stat(folder).st_uid == os.geteuid():
            (folder / "a").chmod(0o555)
        with pytest.raises(errors.ArtifactAccessError, match="copy the artifact"):
            trust(folder / "a")
        for path in (folder / "a", folder / "new"):
            with (
                pytest.raises(errors.ArtifactAccessError, match="still there"),
                replacing(path) as staging,
            ):
                (staging / "x").write_text("x")
        with pytest.raises(errors.ArtifactAccessError, match="permissions"):
            load(folder / "hidden")
        with pytest.raises(errors.ArtifactAccessError, match="permissions"):
            inspect(folder / "closed")
        monkeypatch.setenv("D2LHYBRID_DATA", str(folder / "nowhere"))
        with pytest.raises(errors.ArtifactAccessError, match="D2LHYBRID_DATA"):
            signature(b"")


def _key_file():
    return Path(os.environ["D2LHYBRID_DATA"], "artifact.key")


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")
def test_a_key_that_others_may_open(tmp_path, user):
    user("careless")
    path = make(tmp_path / "a")
    for mode in (0o604, 0o620, 0o777):
        _key_file().chmod(mode)
        for verb in (inspect, trust):
            with pytest.raises(
                errors.ArtifactAccessError, match=rf"mode {mode:o}\); run chmod 600 /"
            ):
                verb(path)
    _key_file().chmod(0o400)
    assert inspect(path).signer.startswith("you")


def test_a_key_that_is_no_plain_file(tmp_path, user):
    user("who loses the key")  # that of the others has signed what is shared
    path = make(tmp_path / "a")
    _key_file().rename(tmp_path / "key")
    for make_it in (
        lambda p: p.symlink_to(tmp_path / "key"),
        lambda p: os.mkfifo(p, 0o600),  # reading it would wait for a writer
    ):
        make_it(_key_file())
        with pytest.raises(errors.ArtifactAccessError, match="plain file"):
            inspect(path)
        _key_file().unlink()
    _key_file().touch(0o600)
    with pytest.raises(errors.ArtifactAccessError, match="received 0"):
        inspect(path)
    _key_file().unlink()
