"""``save``: write a model, prove in another process that it runs from there, then publish it."""

import contextlib
import datetime
import errno
import os
import platform
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.axes import Dynamic, free_groups, named_groups
from d2lhybrid.artifacts.examples import raw_of, record, size_of
from d2lhybrid.artifacts.files import entries, flush
from d2lhybrid.artifacts.inspection import Inspection, inspect
from d2lhybrid.artifacts.manifest import (
    DTYPES,
    MANIFEST,
    SIGNATURE,
    Manifest,
    parse,
)
from d2lhybrid.artifacts.program import brief
from d2lhybrid.artifacts.proving import advice, prove, prover_for, specs
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import absolute
from d2lhybrid.artifacts.trust import signature
from d2lhybrid.calls import of_arguments
from d2lhybrid.errors import ArtifactAccessError, D2LHybridError, SaveError
from d2lhybrid.frameworks import of
from d2lhybrid.frameworks.formats import Format, find
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.frameworks.samples import Sample, output_names
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences

MAX_EXAMPLE_BYTES = 16 << 20
# What the file system says when it is at fault; any other OSError comes from the model's own code.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *args: Any,
    format: str | None = None,
    dynamic: Dynamic | None = None,
    **kwargs: Any,
) -> Inspection:
    """Save a model as an artifact: a folder with the framework's files and a manifest.

    The model is saved compiled where the format can hold that. A process of its own loads the file
    and runs it; only when its outputs are those of the model does the artifact appear at `path`, in
    one step. What was there before stays until then, and stays for good if anything goes wrong.

    Args:
        model: A model or compiled function of PyTorch, TensorFlow or MXNet; or ``call(model,
            ...)`` with all its arguments, where one of them has the name of an option.
        path: Folder to make, or an artifact to replace.
        args: Example arguments, as the model takes them: tensors, and lists, tuples, dictionaries
            and dataclasses of them, None, numbers and strings. What is no tensor becomes part of
            the program.
        format: One of the framework's formats; its current best if None.
        dynamic: The axes that may vary later, for each input by name: ``{"ids": {0: "batch", 1:
            "length"}}``; axes of one name vary together. None finds out which may.
        kwargs: More example arguments.

    Returns:
        What ``inspect`` says of the new artifact.

    Raises:
        UnknownFrameworkError: Neither the model nor an input belongs to a known framework.
        SaveError: The framework cannot save this model so, or it does not reload to the same.
        ArtifactNotFoundError: `path` holds something that ``save`` did not write.
        ArtifactAccessError: Full disk, no permission, missing parent folder, no key to sign with.
        UnsupportedArtifactError: The framework has no such format.
        CompilerMissingError: The format is compiled, and no compiler is here.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> artifact.format
    'torch.export'
    """
    path = absolute(path)  # whatever the current folder is meanwhile
    model, args, kwargs = of_arguments(model, args, kwargs)
    framework = of(model, args, kwargs)
    chosen = find(framework.name, format or framework.default_format(model))
    if not args and not kwargs and not chosen.weights_only:
        raise SaveError(_("Expected example inputs, received none; write save(model, path, x)."))
    signature(b"")  # find out before the work that there is no key to sign with
    with (
        replacing(path) as folder,
        chosen.preserving(model),
        prover_for(framework, chosen) as prover,
    ):
        sample = _sample(framework, chosen, model, args, kwargs, dynamic, folder)
        with _explaining(
            _("{framework} did not write this model as {format!r}"), folder, framework, chosen
        ):
            written = chosen.write(sample, folder)
        given = [raw_of(sample.tensors, t) for t in sample.inputs]
        small = size_of([*given, *sample.expected]) <= MAX_EXAMPLE_BYTES
        recorded = [
            record(folder, kind, found) if small else ()
            for kind, found in (("input", given), ("output", sample.expected))
        ]
        with ThreadPoolExecutor(2) as beside:  # the proof leaves the disk and a core to others
            flushed, hashed = beside.submit(flush, folder), beside.submit(entries, folder)
            proved = prove(framework, chosen, sample, written, prover, folder)
        flushed.result()
        inputs, outputs = specs(sample, given, proved)
        manifest = Manifest(
            format=chosen.name,
            framework=framework.name,
            versions=_versions(framework, chosen),
            inputs=inputs,
            outputs=outputs,
            files=hashed.result(),
            takes=sample.takes,
            returns=sample.returns,
            example_inputs=recorded[0],
            example_outputs=recorded[1],
            options={**written.options, **({"imports": proved.imports} if proved.imports else {})},
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        raw = manifest.to_bytes()
        parse(raw)  # what cannot be read again is not written
        (folder / MANIFEST).write_bytes(raw)
        (folder / SIGNATURE).write_bytes(signature(raw))
    return inspect(path)


def _sample(
    framework: Framework, chosen: Format, model: Any, args: tuple[Any, ...],
    kwargs: dict[str, Any], dynamic: Dynamic | None, folder: Path,
) -> Sample:  # fmt: skip
    """The call taken apart, what it returns, and which axes the model itself lets vary."""
    sample = Sample.of(framework.tensors, model, args, kwargs, chosen.parameters(model))
    if not args and not kwargs:
        return sample
    with _explaining(
        _("{framework} did not run this model on the example"), folder, framework, chosen
    ):
        output = sample.run(sample.inputs)
        sample.returns, found = Structure.of(output, sample.tensors, "output")
        sample.expected = [raw_of(sample.tensors, leaf.value) for leaf in found]
        dtypes = [raw_of(sample.tensors, t).dtype for t in sample.inputs]
    sample.outputs = output_names(found)
    for dtype in (*dtypes, *(raw.dtype for raw in sample.expected)):
        if dtype not in DTYPES:
            raise SaveError(
                _(
                    "Expected inputs and outputs of {dtypes}, received {received}; "
                    "convert it inside the model."
                ).format(dtypes=", ".join(DTYPES), received=dtype)
            )
    if not sample.expected and not chosen.weights_only:
        raise SaveError(_("Expected a model that returns tensors, received none of them."))
    sample.strict = dynamic is not None
    if dynamic is not None:
        sample.groups = named_groups(sample, dynamic)
    elif not chosen.weights_only:
        sample.groups = free_groups(sample)
    return sample


def _versions(framework: Framework, chosen: Format) -> dict[str, str]:
    found = {"python": platform.python_version(), framework.name: framework.tensors.version()}
    for package in ("d2lhybrid", "numpy", *chosen.packages):
        with contextlib.suppress(PackageNotFoundError):
            found.setdefault(package, version(package))
    return found


@contextlib.contextmanager
def _explaining(failure: str, folder: Path, framework: Framework, chosen: Format) -> Iterator[None]:
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
        failed = failure.format(framework=framework.display, format=chosen.name)
        text = _("{failed}: {reason}.").format(failed=failed, reason=brief(error))
        raise SaveError(sentences(text, advice(framework, chosen))) from error
