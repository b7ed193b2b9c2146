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

from d2lhybrid.artifacts import proof
from d2lhybrid.artifacts.axes import Dynamic, free_groups, named_groups
from d2lhybrid.artifacts.examples import raw_of, record, size_of
from d2lhybrid.artifacts.files import entries, flush
from d2lhybrid.artifacts.inspection import Inspection, inspect
from d2lhybrid.artifacts.manifest import DTYPES, MANIFEST, SIGNATURE, Example, Manifest, parse
from d2lhybrid.artifacts.proving import prove, specs
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import absolute
from d2lhybrid.artifacts.trust import signature
from d2lhybrid.calls import of_arguments
from d2lhybrid.errors import D2LHybridError, SaveError, brief
from d2lhybrid.frameworks import format_of, of
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.frameworks.samples import Sample, names_of
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences
from d2lhybrid.tensor import Raw

MAX_EXAMPLE_BYTES = 16 << 20
# What the file system says when it is at fault; any other OSError comes from somebody's code.
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
        model: A model or compiled function of PyTorch, TensorFlow, JAX or MXNet; or ``call(model,
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
    chosen = format_of(framework.name, format or framework.default_format(model))
    if not args and not kwargs and not chosen.weights_only:
        raise SaveError(_("Expected example inputs, received none; write save(model, path, x)."))
    signature(b"")  # find out before the work that there is no key to sign with
    proving = contextlib.nullcontext() if chosen.weights_only else proof.fresh(framework.name)
    with replacing(path) as folder, chosen.preserving(model), proving as prover:
        sample = Sample.of(framework.tensors, model, args, kwargs, chosen.function(model))
        if args or kwargs:
            _run(framework, chosen, sample)
            sample.strict = dynamic is not None
            if dynamic is not None:
                sample.groups = named_groups(sample, dynamic)
            elif not chosen.weights_only:
                sample.groups = free_groups(sample)
        with _advising(framework, chosen, model):
            with _writing(framework, chosen, folder):
                written = chosen.write(sample, folder)
            given = [raw_of(sample.tensors, t) for t in sample.inputs]
            examples = _examples(folder, {"input": given, "output": sample.expected})
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
            example_inputs=examples[0],
            example_outputs=examples[1],
            options={**written.options, **({"imports": proved.imports} if proved.imports else {})},
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        raw = manifest.to_bytes()
        parse(raw)  # what cannot be read again is not written
        (folder / MANIFEST).write_bytes(raw)
        (folder / SIGNATURE).write_bytes(signature(raw))
    return inspect(path)


def _run(framework: Framework, chosen: Format, sample: Sample) -> None:
    """What the model returns for the example, in the sample."""
    try:
        output = sample.run(sample.inputs)
    except Exception as error:
        text = _("{framework} did not run this model on the example: {reason}.")
        said = text.format(framework=framework.display, reason=brief(error))
        raise SaveError(sentences(said, _("Nothing was changed at the path."))) from error
    sample.returns, found = Structure.of(output, sample.tensors, "output")
    sample.outputs = names_of(found)
    sample.expected = [raw_of(sample.tensors, t) for _path, t in found]
    given = [raw_of(sample.tensors, t) for t in sample.inputs]
    for raw in (*given, *sample.expected):
        if raw.dtype not in DTYPES:
            text = _(
                "Expected inputs and outputs of {dtypes}, received {received}; "
                "convert it inside the model."
            )
            raise SaveError(text, dtypes=", ".join(DTYPES), received=raw.dtype)
    if not sample.expected and not chosen.weights_only:
        raise SaveError(_("Expected a model that returns tensors, received none of them."))


def _examples(folder: Path, tensors: dict[str, list[Raw]]) -> list[tuple[Example, ...]]:
    """Recorded inputs and outputs, unless they are big."""
    if size_of([raw for raws in tensors.values() for raw in raws]) > MAX_EXAMPLE_BYTES:
        return [() for _name in tensors]
    (folder / "example").mkdir()
    return [record(folder, f"example/{name}", raws) for name, raws in tensors.items()]


def _versions(framework: Framework, chosen: Format) -> dict[str, str]:
    found = {"python": platform.python_version(), framework.name: framework.tensors.version()}
    for package in ("d2lhybrid", "numpy", *chosen.packages):
        with contextlib.suppress(PackageNotFoundError):
            found.setdefault(package, version(package))
    return found


@contextlib.contextmanager
def _writing(framework: Framework, chosen: Format, folder: Path) -> Iterator[None]:
    """Say that a framework does not write a model, unless it is the disk that does not."""
    try:
        yield
    except D2LHybridError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise
        if shutil.disk_usage(folder).free < 1 << 16:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        text = _("{framework} did not write this model as {format!r}: {reason}.")
        raise SaveError(
            text, framework=framework.display, format=chosen.name, reason=brief(error)
        ) from error


@contextlib.contextmanager
def _advising(framework: Framework, chosen: Format, model: Any) -> Iterator[None]:
    """Say what to try instead of a format that cannot hold a model."""
    try:
        yield
    except SaveError as error:
        others = [
            name
            for name, one in framework.formats.items()
            if not one.weights_only
            and name not in (chosen.name, *error.refusing)
            and one.may_hold(model)
        ]
        text = _("Formats that may hold this model: {formats}.").format(formats=", ".join(others))
        said = sentences(str(error), _("Nothing was changed at the path."), text if others else "")
        raise SaveError(said) from error
