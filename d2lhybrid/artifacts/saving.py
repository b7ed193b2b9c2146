"""``save``: write a model, prove that it reloads to the same outputs, then publish it."""

import contextlib
import datetime
import errno
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import record
from d2lhybrid.artifacts.files import block_digests, entries, flush
from d2lhybrid.artifacts.inspection import Inspection, inspect
from d2lhybrid.artifacts.manifest import ITEMSIZE, MANIFEST, SIGNATURE, Manifest, TensorSpec, parse
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import absolute
from d2lhybrid.artifacts.trust import signature
from d2lhybrid.errors import ArtifactAccessError, D2LHybridError, SaveError
from d2lhybrid.frameworks import of
from d2lhybrid.frameworks.formats import Format, Written, find, flatten
from d2lhybrid.frameworks.protocol import Tensors
from d2lhybrid.i18n import gettext as _
from d2lhybrid.same import difference
from d2lhybrid.tensor import Raw

MAX_EXAMPLE_BYTES = 16 << 20
# What the file system says when it is at fault; any other OSError comes from the model's own code.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def save(
    model: Any, path: str | os.PathLike[str], *inputs: Any, format: str | None = None
) -> Inspection:
    """Save a model as an artifact: a folder with the framework's files and a manifest.

    The model is saved compiled where the format can hold that, reloaded, and run on `inputs`
    again; only when the outputs agree does the artifact appear at `path`, in one step. What was
    there before stays until then, and stays for good if anything goes wrong.

    Args:
        model: A model or compiled function of PyTorch, TensorFlow or MXNet.
        path: Folder to make, or an artifact to replace.
        inputs: Example inputs, as the model takes them. Their first axis may vary later if the
            model and the format let it.
        format: One of the framework's formats; its current best if None.

    Returns:
        What ``inspect`` says of the new artifact.

    Raises:
        UnknownFrameworkError: Neither the model nor an input belongs to a known framework.
        SaveError: The framework cannot save this model so, or it does not reload to the same.
        ArtifactNotFoundError: `path` holds something that ``save`` did not write.
        ArtifactAccessError: Full disk, no permission, missing parent folder.
        UnsupportedArtifactError: The framework has no such format.
        CompilerMissingError: The format is compiled, and no compiler is here.
        ArtifactAccessError: There is no key to sign with, and none can be made.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> artifact.format
    'torch.export'
    """
    path = absolute(path)  # whatever the current folder is meanwhile
    framework = of(model, inputs)
    tensors = framework.tensors
    name = format or framework.default_format(model)
    chosen = find(framework.name, name)
    if not inputs and not chosen.weights_only:
        raise SaveError(_("Expected example inputs, received none; write save(model, path, x)."))
    signature(b"")  # find out before the work that there is no key to sign with
    with replacing(path) as folder:
        with _explaining(_("The framework did not run this model on the example"), folder):
            expected = run(tensors, model, inputs) if inputs else []
        with _explaining(_("The framework did not hand out the example"), folder):
            given = [tensors.to_raw(t) for t in inputs]
        _require_known([t.dtype for t in (*given, *expected)])
        with _explaining(_("The framework did not write this model as {format!r}"), folder, name):
            written = chosen.write(model, inputs, folder)
        small = sum(t.array.nbytes for t in (*given, *expected)) <= MAX_EXAMPLE_BYTES
        recorded = [
            record(folder, kind, found) if small else ()
            for kind, found in (("input", given), ("output", expected))
        ]
        with ThreadPoolExecutor(3) as beside:
            # Only the proof needs this thread, so the disk and the other cores work meanwhile.
            flushed = beside.submit(flush, folder)
            hashed, blocks = beside.submit(entries, folder), beside.submit(block_digests, folder)
            with _explaining(
                _("The framework did not reload what it wrote as {format!r}"), folder, name
            ):
                again = _prove(tensors, chosen, written, model, inputs, expected, folder)
        flushed.result()
        manifest = Manifest(
            format=name,
            framework=framework.name,
            versions=_versions(chosen.packages),
            inputs=_specs(written.inputs, given, [tensors.doubled(t) for t in inputs], again),
            outputs=_specs(written.outputs, expected, again, again),
            files=hashed.result(),
            example_inputs=recorded[0],
            example_outputs=recorded[1],
            options={**written.options, "block_sha256": blocks.result()},
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        )
        raw = manifest.to_bytes()
        parse(raw)  # what cannot be read again is not written
        (folder / MANIFEST).write_bytes(raw)
        (folder / SIGNATURE).write_bytes(signature(raw))
    return inspect(path)


def _require_known(dtypes: Sequence[str]) -> None:
    """Raise SaveError for a dtype that no manifest may name."""
    for dtype in dtypes:
        if dtype not in ITEMSIZE:
            raise SaveError(
                _(
                    "Expected inputs and outputs of {dtypes}, received {received}; "
                    "convert it inside the model."
                ).format(dtypes=", ".join(ITEMSIZE), received=dtype)
            )


def _prove(
    tensors: Tensors,
    chosen: Format,
    written: Written,
    model: Any,
    inputs: tuple[Any, ...],
    expected: list[Raw],
    folder: Path,
) -> list[Raw]:
    """Compare the reloaded model with the one in memory.

    Returns its outputs on the batch taken twice, which show the axes that may vary; none if
    this artifact takes no other batch.
    """
    if chosen.weights_only:
        found = chosen.differing(model, folder)
    else:
        reloaded = chosen.read(folder, written.options, None)
        found = unlike(expected, run(tensors, reloaded, inputs))
    if found:
        raise SaveError(
            _(
                "What was saved does not compute what the model computes ({difference}); is the "
                "model random or does it keep state? Nothing was changed at the path."
            ).format(difference=found)
        )
    if chosen.weights_only:
        return []
    twice = tuple(map(tensors.doubled, inputs))
    try:
        wanted = run(tensors, model, twice)
        again = run(tensors, reloaded, twice)
    except Exception:  # any refusal means the same: the batch is fixed
        return []
    return [] if unlike(wanted, again) else again


def run(tensors: Tensors, model: Any, inputs: tuple[Any, ...]) -> list[Raw]:
    """The outputs of the model, flat and outside the framework."""
    return [tensors.to_raw(one) for one in flatten(tensors.infer(model, inputs, {}))]


def unlike(expected: Sequence[Raw], received: Sequence[Raw]) -> str:
    """In words, how two lists of tensors differ; empty if they are the same."""
    return difference(_numbered(received), _numbered(expected))


def _numbered(tensors: Sequence[Raw]) -> dict[str, Raw]:
    return {_("output {i}").format(i=i): one for i, one in enumerate(tensors)}


def _specs(
    names: tuple[str, ...], tensors: Sequence[Raw], twice: Sequence[Any], again: Sequence[Raw]
) -> tuple[TensorSpec, ...]:
    """Names, dtypes and shapes; the first axis is free where the doubled batch doubled it."""
    made = []
    for i, tensor in enumerate(tensors):
        shape: tuple[int | None, ...] = tensor.array.shape
        if again and shape:
            other = twice[i].array.shape if isinstance(twice[i], Raw) else tuple(twice[i].shape)
            shape = (None if other[0] != shape[0] else shape[0], *shape[1:])
        name = names[i] if i < len(names) else f"output_{i}"
        made.append(TensorSpec(name, tensor.dtype, shape))
    return tuple(made)


def _versions(packages: Sequence[str]) -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("d2lhybrid", "numpy", *packages):
        for name in (package, f"{package}-cpu", f"{package}_cpu"):
            with contextlib.suppress(PackageNotFoundError):
                found.setdefault(package, version(name))
    return found


@contextlib.contextmanager
def _explaining(failure: str, folder: Path, name: str = "") -> Iterator[None]:
    """Say which step failed, and whether a full disk is the reason."""
    try:
        yield
    except D2LHybridError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise
        if shutil.disk_usage(folder).free < 1 << 16:
            raise ArtifactAccessError(
                _("The disk of {path!r} is full; free space. Nothing was changed.").format(
                    path=str(folder.parent)
                )
            ) from error
        raise SaveError(
            _(
                "{failure}: {error}: {said}. Nothing was changed at the path; "
                "try another format, or change the model."
            ).format(failure=failure.format(format=name), error=type(error).__name__, said=error)
        ) from error
