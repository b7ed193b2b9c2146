"""The manifest: what an artifact says about itself, read as if an enemy had written it.

The field-by-field description is in ``docs/artifact-format.md``.
"""

import json
import math
import re
import unicodedata
from dataclasses import asdict, dataclass, field
from typing import Any

from d2lhybrid.errors import (
    ArtifactNotFoundError,
    DamagedArtifactError,
    UnsupportedArtifactError,
)
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

MANIFEST = "d2lhybrid.json"
SIGNATURE = "d2lhybrid.sig"
VERSION = 1
MAX_BYTES = 1 << 20
MAX_FILES = 10_000
BLOCK = 16 << 20  # bytes that one entry of ``options["block_sha256"]`` stands for

ITEMSIZE = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float16", "bfloat16", "int16"), 2),
    **dict.fromkeys(("float32", "int32"), 4),
    **dict.fromkeys(("float64", "int64"), 8),
}

_COMPONENT = re.compile(r"[\w+@=-]([\w .+@=-]*[\w+@=-])?")


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
    """One recorded tensor: where its raw little-endian bytes are, and how to read them."""

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
    example_inputs: tuple[Example, ...] = ()
    example_outputs: tuple[Example, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    created: str = ""

    @property
    def blocks(self) -> dict[str, list[str]]:
        """SHA-256 of each block of the large files, by path."""
        return dict(self.options.get("block_sha256", {}))

    def to_bytes(self) -> bytes:
        """The manifest as it lies on disk."""
        body = {"d2lhybrid_artifact": VERSION, **asdict(self)}
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode()


def parse(raw: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        ArtifactNotFoundError: This is JSON, but not a manifest of ours.
        UnsupportedArtifactError: It has a newer version than this release reads.
        DamagedArtifactError: A path points outside, or two paths clash.
        DamagedArtifactError: Anything else is wrong with it.
    """
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
    version = body["d2lhybrid_artifact"]
    if type(version) is int and version > VERSION:
        raise UnsupportedArtifactError(
            _(
                "This artifact has manifest version {version}, and this release reads up to "
                "{newest}; upgrade d2lhybrid, or save the model again with this release."
            ).format(version=version, newest=VERSION)
        )
    try:
        _require(type(version) is int and version == VERSION, N_("version {n}"), version, VERSION)
        manifest = _build(body)
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedArtifactError(
            _("{file} has missing or wrong fields ({reason}); get the artifact again.").format(
                file=MANIFEST, reason=_brief(error)
            )
        ) from error
    for entry in manifest.files:
        _check_inside(entry.path)
    check_clashes([entry.path for entry in manifest.files])
    return manifest


def check_clashes(paths: list[str]) -> None:
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


def _build(body: dict[str, Any]) -> Manifest:
    files = tuple(
        FileEntry(_text(f["path"]), _count(f["size"]), _sha256(f["sha256"]))
        for f in _list(body["files"], MAX_FILES)
    )
    sizes = {entry.path: entry.size for entry in files}
    options = dict(body["options"])
    for path, digests in dict(options.get("block_sha256", {})).items():
        number = len(range(0, sizes[path], BLOCK))
        given = [_sha256(digest) for digest in _list(digests, number)]
        _require(len(given) == number, N_("{n} block hashes"), digests, number)
    shown, computed = (
        tuple(Example(_text(e["path"]), *_tensor(e)) for e in _list(body[key], 1000))
        for key in ("example_inputs", "example_outputs")
    )
    for e in shown + computed:
        size = math.prod(e.shape) * ITEMSIZE[e.dtype]
        _require(sizes.get(e.path) == size, N_("a tensor with the size of its shape"), e.path)
    inputs, outputs = (
        tuple(TensorSpec(_text(s["name"]), *_tensor(s, (None,))) for s in _list(body[key], 1000))
        for key in ("inputs", "outputs")
    )
    return Manifest(
        _text(body["format"]),
        _text(body["framework"]),
        {_text(k): _text(v) for k, v in dict(body["versions"]).items()},
        inputs,
        outputs,
        files,
        shown,
        computed,
        options,
        _text(body["created"]),
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError(_("a key occurs twice"))
    return made


def _tensor(value: dict[str, Any], free: tuple[None, ...] = ()) -> tuple[str, tuple[Any, ...]]:
    """Its dtype, and its shape; axes may be `free`."""
    shape = tuple(n if n in free else _count(n) for n in _list(value["shape"], 32))
    return _require(value["dtype"] in ITEMSIZE, N_("a dtype"), value["dtype"]), shape


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:120]}"


def _require(holds: bool, expected: str, received: Any, n: int = 0) -> Any:
    if not holds:
        text = _("expected {expected}, received {received!r}")
        raise ValueError(text.format(expected=_(expected).format(n=n), received=str(received)[:40]))
    return received


def _text(value: Any) -> str:
    return _require(isinstance(value, str) and value.isprintable(), N_("printable text"), value)


def _count(value: Any) -> int:
    return _require(type(value) is int and 0 <= value < 2**62, N_("a count"), value)


def _sha256(value: Any) -> str:
    return _require(bool(re.fullmatch("[0-9a-f]{64}", _text(value))), N_("a SHA-256"), value)


def _list(value: Any, limit: int) -> list[Any]:
    holds = isinstance(value, list) and len(value) <= limit
    return _require(holds, N_("a list of at most {n} items"), value, limit)
