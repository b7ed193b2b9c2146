"""The manifest: what an artifact says about itself, read as if an enemy had written it.

The field-by-field description is in ``docs/artifact-format.md``.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from d2lhybrid.errors import (
    ArtifactNotFoundError,
    DamagedArtifactError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.i18n import gettext as _
from d2lhybrid.jsonrecord import read

MANIFEST = "d2lhybrid.json"
SIGNATURE = "d2lhybrid.sig"
VERSION = 2
MAX_BYTES = 1 << 20
MAX_FILES = 10_000
MAX_TENSORS = 1000
MAX_RANK = 32
MAX_COUNT = 1 << 62
STRING = "string"
LENGTH = 8  # bytes that say how long a text is

ITEMSIZE = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64"), 8),
}
DTYPES = (*ITEMSIZE, STRING)

_PART = r"[\w+@=-]([\w .+@=-]*[\w+@=-])?"
_PATH = re.compile(rf"{_PART}(/{_PART})*")
MAX_PATH = 512
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True)
class TensorSpec:
    """One input or output; ``None`` in `shape` is an axis that may vary."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]

    def __str__(self) -> str:
        axes = ", ".join(_("any") if n is None else str(n) for n in self.shape)
        return f"{self.name}: {self.dtype} ({axes})"


@dataclass(frozen=True)
class FileEntry:
    """One file: path inside the artifact with forward slashes, size in bytes, SHA-256 in hex."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Example:
    """One recorded tensor: the file with its raw bytes, and how to read them."""

    path: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Manifest:
    """Everything an artifact says about itself."""

    format: str
    framework: str
    versions: dict[str, str]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    files: tuple[FileEntry, ...]
    takes: Structure
    returns: Structure
    example_inputs: tuple[Example, ...]
    example_outputs: tuple[Example, ...]
    options: dict[str, Any]
    created: str

    def to_bytes(self) -> bytes:
        """The manifest as it lies on disk."""
        body = {"d2lhybrid_artifact": VERSION, **asdict(self)}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()


def parse(raw: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        ArtifactNotFoundError: This is JSON, but not a manifest of ours.
        UnsupportedArtifactError: It has another version than this release reads.
        DamagedArtifactError: A path points outside, two paths clash, or anything else is wrong.
    """
    try:
        if len(raw) > MAX_BYTES:
            raise ValueError(_("more than {n} bytes").format(n=MAX_BYTES))
        body = json.loads(raw.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        text = _("{file} is not the JSON that was saved ({reason}); get the artifact again.")
        raise DamagedArtifactError(text, file=MANIFEST, reason=_brief(error)) from error
    if not isinstance(body, dict) or "d2lhybrid_artifact" not in body:
        raise ArtifactNotFoundError(
            _("{file} lacks the key 'd2lhybrid_artifact': d2lhybrid.save did not write it."),
            file=MANIFEST,
        )
    version = body.pop("d2lhybrid_artifact")
    if type(version) is int and version != VERSION:
        text = _(
            "This artifact has manifest version {version}, and this release reads version "
            "{newest}; use the release that wrote it, or save the model again with this one."
        )
        raise UnsupportedArtifactError(text, version=version, newest=VERSION)
    try:
        _require(type(version) is int, _("a version"))
        manifest: Manifest = read(Manifest, body)
        _check(manifest)
    except (ValueError, TypeError, RecursionError) as error:
        text = _("{file} has missing or wrong fields ({reason}); get the artifact again.")
        raise DamagedArtifactError(text, file=MANIFEST, reason=_brief(error)) from error
    check_clashes(entry.path for entry in manifest.files)
    return manifest


def check_clashes(paths: Iterable[str]) -> None:
    """Refuse paths that some file system takes for equal."""
    seen: dict[str, str] = {}
    for path in paths:
        other = seen.setdefault(unicodedata.normalize("NFKC", path).casefold(), path)
        if other is not path:
            text = _(
                "{path!r} and {other!r} can mean one and the same file; do not use this artifact."
            )
            raise DamagedArtifactError(text, path=path, other=other)


def _check(manifest: Manifest) -> None:
    """Raise ValueError unless what the fields say can be true."""
    tensors = (*manifest.inputs, *manifest.outputs)
    examples = (*manifest.example_inputs, *manifest.example_outputs)
    texts = [manifest.format, manifest.framework, manifest.created]
    texts += [*manifest.versions, *manifest.versions.values(), *(t.name for t in tensors)]
    _require(all(map(str.isprintable, texts)), _("printable text"))
    for length, most in ((len(manifest.files), MAX_FILES), (len(tensors), MAX_TENSORS)):
        _require(length <= most, _("a list of at most {n} items").format(n=most))
    for entry in manifest.files:
        plain = len(entry.path) <= MAX_PATH and _PATH.fullmatch(entry.path)
        _require(bool(plain), _("plain relative file names"))
        _require(bool(_SHA256.fullmatch(entry.sha256)), _("a SHA-256"))
    every: tuple[TensorSpec | Example, ...] = (*tensors, *examples)
    for tensor in every:
        _require(tensor.dtype in DTYPES and len(tensor.shape) <= MAX_RANK, _("a dtype and a shape"))
    counts = [entry.size for entry in manifest.files]
    counts += [n for tensor in every for n in tensor.shape if n is not None]
    _require(all(0 <= n < MAX_COUNT for n in counts), _("a count"))
    sizes = {entry.path: entry.size for entry in manifest.files}
    for example in examples:
        needed = math.prod(example.shape) * ITEMSIZE.get(example.dtype, LENGTH)
        held = sizes.get(example.path, -1)
        fits = held >= needed if example.dtype == STRING else held == needed
        _require(fits, _("a tensor with the size of its shape"))
    for key in ("imports", "tensors"):
        names = manifest.options.get(key, [])
        _require(isinstance(names, list) and all(isinstance(n, str) for n in names), _("names"))
    manifest.takes.require_sound(len(manifest.inputs))
    manifest.returns.require_sound(len(manifest.outputs))


def _require(holds: bool, expected: str) -> None:
    if not holds:
        raise ValueError(_("expected {expected}").format(expected=expected))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(_("a key occurs twice"))
    return made


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"
