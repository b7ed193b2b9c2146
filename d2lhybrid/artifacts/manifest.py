"""The manifest: what an artifact says about itself, read as if an enemy had written it.

The field-by-field description is in ``docs/artifact-format.md``.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
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
STRING = "string"

ITEMSIZE = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64"), 8),
}
DTYPES = (*ITEMSIZE, STRING)

_COMPONENT = re.compile(r"[\w+@=-]([\w .+@=-]*[\w+@=-])?")
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
    """Everything an artifact says about itself; `takes` and `returns` are None in version 1."""

    format: str
    framework: str
    versions: dict[str, str]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    files: tuple[FileEntry, ...]
    takes: Structure | None = None
    returns: Structure | None = None
    example_inputs: tuple[Example, ...] = ()
    example_outputs: tuple[Example, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    created: str = ""

    def to_bytes(self) -> bytes:
        """The manifest as it lies on disk."""
        body = {"d2lhybrid_artifact": VERSION, **asdict(self)}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()

    @property
    def imports(self) -> list[str]:
        """The modules that the framework must have imported before it can load the model."""
        listed = self.options.get("imports", [])
        return [str(name) for name in listed] if isinstance(listed, list) else []


def parse(raw: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        ArtifactNotFoundError: This is JSON, but not a manifest of ours.
        UnsupportedArtifactError: It has a newer version than this release reads.
        DamagedArtifactError: A path points outside, two paths clash, or anything else is wrong.
    """
    body = _body(raw)
    version = body.pop("d2lhybrid_artifact")
    if type(version) is int and version > VERSION:
        raise UnsupportedArtifactError(
            _(
                "This artifact has manifest version {version}, and this release reads up to "
                "{newest}; upgrade d2lhybrid, or save the model again with this release."
            ).format(version=version, newest=VERSION)
        )
    try:
        if type(version) is not int or version < 1:
            raise ValueError(_("version {n}").format(n=repr(version)[:40]))
        if version == 1:  # hashed large files by blocks as well, and knew no structures
            body |= {"takes": None, "returns": None}
        manifest: Manifest = read(Manifest, body)
        _check(manifest)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedArtifactError(
            _("{file} has missing or wrong fields ({reason}); get the artifact again.").format(
                file=MANIFEST, reason=_brief(error)
            )
        ) from error
    for entry in manifest.files:
        _check_inside(entry.path)
    check_clashes(entry.path for entry in manifest.files)
    return manifest


def _body(raw: bytes) -> dict[str, Any]:
    if len(raw) > MAX_BYTES:
        raise DamagedArtifactError(
            _(
                "Expected a manifest of at most {limit} bytes, received {size}; "
                "get the artifact again."
            ).format(limit=MAX_BYTES, size=len(raw))
        )
    try:
        body = json.loads(raw.decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError, MemoryError) as error:
        raise DamagedArtifactError(
            _("{file} is not the JSON that was saved ({reason}); get the artifact again.").format(
                file=MANIFEST, reason=_brief(error)
            )
        ) from error
    if not isinstance(body, dict) or "d2lhybrid_artifact" not in body:
        raise ArtifactNotFoundError(
            _("{file} lacks the key 'd2lhybrid_artifact': d2lhybrid.save did not write it.").format(
                file=MANIFEST
            )
        )
    return body


def check_clashes(paths: Iterable[str]) -> None:
    """Refuse paths that some file system takes for equal."""
    seen: dict[str, str] = {}
    for path in paths:
        other = seen.setdefault(unicodedata.normalize("NFKC", path).casefold(), path)
        if other is not path:
            raise DamagedArtifactError(
                _(
                    "{path!r} and {other!r} can mean one and the same file; "
                    "do not use this artifact."
                ).format(path=path, other=other)
            )


def _check_inside(path: str) -> None:
    if len(path) > 512 or not all(_COMPONENT.fullmatch(part) for part in path.split("/")):
        raise DamagedArtifactError(
            _(
                "Expected plain relative file names inside the artifact, received {received!r}; "
                "do not use this artifact."
            ).format(received=path)
        )


def _check(manifest: Manifest) -> None:
    """Raise ValueError unless what the fields say can be true."""
    tensors = (*manifest.inputs, *manifest.outputs)
    examples = (*manifest.example_inputs, *manifest.example_outputs)
    texts = [manifest.format, manifest.framework, manifest.created]
    texts += [*manifest.versions, *manifest.versions.values(), *(t.name for t in tensors)]
    _require(all(map(str.isprintable, texts)), _("printable text"))
    _require(len(manifest.files) <= MAX_FILES, _("a list of at most {n} items"), MAX_FILES)
    _require(
        max(len(tensors), len(examples)) <= MAX_TENSORS,
        _("a list of at most {n} items"),
        MAX_TENSORS,
    )
    sizes = {}
    for entry in manifest.files:
        _require(0 <= entry.size < 2**62, _("a count"))
        _require(bool(_SHA256.fullmatch(entry.sha256)), _("a SHA-256"))
        _require(entry.path.isprintable(), _("printable text"))
        sizes[entry.path] = entry.size
    every: tuple[TensorSpec | Example, ...] = (*tensors, *examples)
    for tensor in every:
        _require(tensor.dtype in DTYPES and len(tensor.shape) <= MAX_RANK, _("a dtype and a shape"))
        _require(all(n is None or 0 <= n < 2**62 for n in tensor.shape), _("a count"))
    for example in examples:
        needed = math.prod(example.shape) * ITEMSIZE.get(example.dtype, 0)
        held = sizes.get(example.path, -1)
        fits = held >= needed if example.dtype == STRING else held == needed
        _require(fits, _("a tensor with the size of its shape"))
    for structure, count in (
        (manifest.takes, manifest.inputs),
        (manifest.returns, manifest.outputs),
    ):
        if structure is not None:
            structure.require_sound(len(count))


def _require(holds: bool, expected: str, n: int = 0) -> None:
    if not holds:
        raise ValueError(_("expected {expected}").format(expected=expected.format(n=n)))


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(_("a key occurs twice"))
    return made


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"
