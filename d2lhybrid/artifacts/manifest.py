"""The manifest: what an artifact says about itself, read as if an attacker had written it.

The field-by-field description is in ``docs/artifact-format.md``.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from d2lhybrid.backends.formats import Option
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.treespec import TreeSpec
from d2lhybrid.core.wording import described

MANIFEST = "d2lhybrid.json"
VERSION: Literal[1] = 1
MAX_BYTES = 1 << 20  # of a manifest, which bounds everything in it
Dtype = Literal[
    "bool", "int8", "uint8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "string", "uint16", "uint32", "uint64",
]  # fmt: skip

_PART = r"[\w+@=-]([\w .+@=-]*[\w+@=-])?"  # of a path; none begins or ends with a dot
_PATH = rf"^{_PART}(/{_PART})*\Z"
RelativePath = Annotated[str, Meta(pattern=_PATH)]
Size = Annotated[int, Meta(ge=0, lt=1 << 62)]


def is_path(name: str) -> bool:
    """Can a manifest hold the name of a file, which is inside the artifact's folder then?"""
    return re.match(_PATH, name) is not None


class _Plain(Struct, frozen=True, forbid_unknown_fields=True):
    """Immutable, and with its own fields alone."""


class TensorSpec(_Plain, frozen=True):
    """One input or output; ``None`` in `shape` is an axis that may vary."""

    name: str
    dtype: Dtype
    shape: tuple[Size | None, ...]

    def __str__(self) -> str:
        # Translators: a size that may vary, in a shape such as (any, 3)
        axes = ", ".join(_("any") if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype} ({axes})"

    def fits(self, dtype: str, shape: Sequence[int]) -> bool:
        """Is a tensor like this?"""
        if dtype != self.dtype or len(shape) != len(self.shape):
            return False
        sizes = zip(self.shape, shape, strict=True)
        return all(expected in (None, received) for expected, received in sizes)

    def require(self, dtype: str, shape: Sequence[int]) -> None:
        """Raise InputMismatchError unless a tensor is like this."""
        if not self.fits(dtype, shape):
            text = _("Expected {spec}. Received: {received}. Convert it to {dtype}.")
            if dtype == self.dtype:
                text = _(
                    "Expected {spec}. Received: {received}. Give it that shape, or save the model "
                    "again with an example of the new one."
                )
            received = f"{dtype} ({', '.join(map(str, shape))})"
            raise errors.InputMismatchError(text, spec=self, received=received, dtype=self.dtype)


class FileEntry(_Plain, frozen=True):
    """One file: path inside the artifact with forward slashes, size in bytes, SHA-256 in hex."""

    path: RelativePath
    size: Size
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]


class Manifest(_Plain, frozen=True):
    """Everything an artifact says about itself.

    Attributes:
        fixed: Why no axis may vary, in the words of the framework; empty where some may.
        examples: How many recorded calls there are: the tensors of ``write_examples``.
        sha256: Of the manifest with this field empty.
    """

    d2lhybrid_artifact: Literal[1]
    format: str
    framework: str
    versions: dict[str, str]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    fixed: str
    in_spec: TreeSpec
    out_spec: TreeSpec
    files: tuple[FileEntry, ...]
    examples: Annotated[int, Meta(ge=1, le=2)]
    options: dict[str, Option]
    created: str
    sha256: str = ""

    def flatten_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The tensors in the arguments of a call, in the order of `inputs`.

        Raises:
            InputMismatchError: The model was saved with other arguments.
        """
        positional, by_keyword = self.in_spec.parts
        if len(args) != len(positional.parts) or kwargs.keys() != {*by_keyword.keys}:
            text = _(
                "Expected the arguments {expected}. Received: {received}. Pass them as the model "
                "was saved: by position or by name."
            )
            named = zip(by_keyword.keys, by_keyword.parts, strict=True)
            expected = [*map(str, positional.parts), *(f"{name}={part}" for name, part in named)]
            fields = {"expected": f"({', '.join(expected)})"}
            fields["received"] = f"({described(args, kwargs)})"
            raise errors.InputMismatchError(text, **fields)
        tensors: list[Any] = []
        for number, (part, value) in enumerate(zip(positional.parts, args, strict=True), 1):
            tensors += part.flatten_like(value, _("argument {number}").format(number=number))
        for name, part in zip(by_keyword.keys, by_keyword.parts, strict=True):
            tensors += part.flatten_like(kwargs[str(name)], str(name))
        return tensors

    def require(self, tensors: Sequence[tuple[str, Sequence[int]]]) -> None:
        """Raise InputMismatchError unless dtypes and shapes are like those of the inputs.

        Axes of one name in ``options["sizes"]`` have to be equally long: a compiled program looks
        at one of them.
        """
        for spec, (dtype, shape) in zip(self.inputs, tensors, strict=True):
            spec.require(dtype, shape)
        named, known = self.options.get("sizes"), dict[str, tuple[int, str]]()
        sizes = named if isinstance(named, tuple) else ()
        for spec, names, (_dtype, shape) in zip(self.inputs, sizes, tensors, strict=False):
            for axis, (name, size) in enumerate(zip(names.split(","), shape, strict=False)):
                expected, other = known.setdefault(name, (size, spec.name))
                if size != expected:
                    text = _(
                        "Expected {name} to be {expected} long in axis {axis}, as {other} is. "
                        "Received: {received}. These axes vary together."
                    )
                    fields = {"name": spec.name, "axis": axis, "other": other}
                    raise errors.InputMismatchError(
                        text, expected=expected, received=size, **fields
                    )

    def to_bytes(self) -> bytes:
        """The manifest as it lies on disk, with its own hash."""
        body = msgspec.structs.replace(self, sha256="")
        digest = hashlib.sha256(msgspec.json.encode(body)).hexdigest()
        whole = msgspec.json.encode(msgspec.structs.replace(body, sha256=digest))
        return msgspec.json.format(whole, indent=1) + b"\n"


def parse(raw: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        DamagedArtifactError: It is not byte for byte what ``to_bytes`` gives, or cannot be true, or
            it has another version than this release reads.
    """
    try:
        manifest = msgspec.json.decode(raw, type=Manifest)
        _require_consistent(manifest)
        if len(raw) > MAX_BYTES or manifest.to_bytes() != raw:
            raise ValueError(_("expected the bytes that were saved"))
    except (ValueError, TypeError, RecursionError) as error:
        text = _("{file} is not the JSON that was saved ({reason}); get the artifact again.")
        reason = errors.brief(error)
        raise errors.DamagedArtifactError(text, file=MANIFEST, reason=reason) from error
    return manifest


def _require_consistent(manifest: Manifest) -> None:
    """Raise ValueError unless the fields can be true together, and no text harms a terminal."""
    manifest.in_spec.validate()
    manifest.out_spec.validate()
    tensors = (*manifest.inputs, *manifest.outputs)
    texts = [manifest.format, manifest.framework, manifest.created, manifest.fixed]
    texts += [*manifest.versions, *manifest.versions.values()]
    texts += [tensor.name for tensor in tensors]
    are_printable = all(map(str.isprintable, texts))
    is_call = [part.kind for part in manifest.in_spec.parts] == ["tuple", "dict"]
    has_inputs = manifest.in_spec.count_tensors() == len(manifest.inputs)
    has_outputs = manifest.out_spec.count_tensors() == len(manifest.outputs)
    if not (are_printable and is_call and has_inputs and has_outputs):
        raise ValueError(_("expected the bytes that were saved"))
