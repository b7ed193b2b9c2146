"""``save``: write a model, prove in another process that it runs from there, then publish it."""

import contextlib
import datetime
import errno
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts import proof
from d2lhybrid.artifacts.axes import Dynamic, free_groups, named_groups
from d2lhybrid.artifacts.examples import raw_of, record, size_of
from d2lhybrid.artifacts.files import entries, flush
from d2lhybrid.artifacts.inspection import Inspection, inspect
from d2lhybrid.artifacts.manifest import (
    DTYPES,
    MANIFEST,
    SIGNATURE,
    Manifest,
    TensorSpec,
    parse,
)
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.artifacts.publishing import replacing
from d2lhybrid.artifacts.store import absolute
from d2lhybrid.artifacts.trust import signature
from d2lhybrid.calls import of_arguments
from d2lhybrid.errors import ArtifactAccessError, D2LHybridError, SaveError
from d2lhybrid.frameworks import of
from d2lhybrid.frameworks.formats import Format, Written, find, others
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.frameworks.samples import Sample, Structure, free_axes, held_by, output_names
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences
from d2lhybrid.tensor import Raw

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
    with replacing(path) as folder, chosen.preserving(model), _prover(framework, chosen) as prover:
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
            proved, imports = _prove(framework, chosen, sample, written, prover, folder)
        flushed.result()
        inputs, outputs = proved.specs(sample, given)
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
            options={**written.options, **({"imports": imports} if imports else {})},
            created=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        )
        raw = manifest.to_bytes()
        parse(raw)  # what cannot be read again is not written
        (folder / MANIFEST).write_bytes(raw)
        (folder / SIGNATURE).write_bytes(signature(raw))
    return inspect(path)


@contextlib.contextmanager
def _prover(framework: Framework, chosen: Format) -> Iterator[proof.Prover | None]:
    """The process for the proof; weights alone are compared without one."""
    if chosen.weights_only:
        yield None
    else:
        with proof.fresh(framework.name) as prover:
            yield prover


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


class _Proved:
    """What came back for the groups of axes that held, with the inputs that were given."""

    def __init__(self) -> None:
        self.groups: list[list[list[int]]] = []
        self.received: list[list[Raw]] = []

    def specs(
        self, sample: Sample, given: Sequence[Raw]
    ) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
        """Inputs and outputs; axes are free where a proof varied them."""
        free = free_axes(self.groups, len(given))
        inputs = [
            TensorSpec(
                name, raw.dtype, tuple(None if a in f else n for a, n in enumerate(raw.array.shape))
            )
            for name, raw, f in zip(sample.names, given, free, strict=True)
        ]
        outputs = []
        for i, (name, raw) in enumerate(zip(sample.outputs, sample.expected, strict=True)):
            others_ = [found[i].array.shape for found in self.received]
            shape = tuple(
                None if any(o[a] != n for o in others_) else n
                for a, n in enumerate(raw.array.shape)
            )
            outputs.append(TensorSpec(name, raw.dtype, shape))
        return tuple(inputs), tuple(outputs)


def _prove(
    framework: Framework, chosen: Format, sample: Sample, written: Written,
    prover: proof.Prover | None, folder: Path,
) -> tuple[_Proved, list[str]]:  # fmt: skip
    """Compare what another process computes from the file with the model in memory.

    Returns what was proved, and the modules that the other process had to import first.
    """
    proved = _Proved()
    if prover is None:
        found = chosen.differing(sample.model, folder)
        if found:
            raise _unequal(found)
        return proved, []
    trials, wanted = [[raw_of(sample.tensors, t) for t in sample.inputs]], [sample.expected]
    for group in written.groups:
        inputs = sample.doubled([group])
        expected = _outputs(sample, inputs)
        if expected is not None:
            trials.append([raw_of(sample.tensors, t) for t in inputs])
            wanted.append(expected)
            proved.groups.append(group)
    job = {
        "folder": str(folder),
        "framework": framework.name,
        "format": chosen.name,
        "options": written.options,
        "takes": asdict(sample.takes),
    }
    results, imports = _ask(framework, chosen, sample, prover, job, trials)
    first = results[0]
    if isinstance(first, str):
        text = _("What was saved loads in another process, but does not run there: {error}.")
        raise SaveError(sentences(text.format(error=first), _advice(framework, chosen)))
    found = unlike(sample.expected, first, sample.outputs)
    if found:
        raise _unequal(found)
    held, proved.groups = proved.groups, []
    for group, expected, received in zip(held, wanted[1:], results[1:], strict=True):
        if not isinstance(received, str) and not unlike(expected, received):
            proved.groups.append(group)
            proved.received.append(received)
        elif sample.strict:
            axes = {name: axes for name, axes in zip(sample.names, group, strict=True) if axes}
            text = _("The saved model does not let these axes vary: {axes}.")
            raise SaveError(sentences(text.format(axes=axes), _advice(framework, chosen)))
    return proved, imports


def _outputs(sample: Sample, inputs: Sequence[Any]) -> list[Raw] | None:
    """What the model returns for other sizes; None if it refuses, or returns other constants."""
    try:
        output = sample.run(inputs)
        returns, found = Structure.of(output, sample.tensors, "output")
        return (
            [raw_of(sample.tensors, leaf.value) for leaf in found]
            if returns == sample.returns
            else None
        )
    except Exception:  # any refusal means the same
        return None


def _unequal(found: str) -> SaveError:
    return SaveError(
        _(
            "What was saved does not compute what the model computes ({difference}); is the "
            "model random or does it keep state? Nothing was changed at the path."
        ).format(difference=found)
    )


def _ask(
    framework: Framework, chosen: Format, sample: Sample, prover: proof.Prover,
    job: dict[str, Any], trials: list[list[Raw]],
) -> tuple[list[list[Raw] | str], list[str]]:  # fmt: skip
    """The outputs from the other process; if it must be, with the model's own modules imported."""
    try:
        return prover.prove({**job, "imports": []}, trials), []
    except SaveError as error:
        first = error
    imports = _modules(framework, sample.model)
    if imports:
        with contextlib.suppress(SaveError):
            return prover.prove({**job, "imports": imports}, trials), imports
    text = _("A process that has the artifact alone cannot load it as {format!r}: {error}.")
    raise SaveError(
        sentences(
            text.format(format=chosen.name, error=first),
            _("What the model is made of must be importable there, so not from a notebook's cell."),
            _advice(framework, chosen),
        )
    ) from first


def _modules(framework: Framework, model: Any) -> list[str]:
    """The top-level modules, other than the framework's, that the model's classes come from."""
    kinds = [type(one) for one in held_by(model)]
    kinds += [type(part) for part in getattr(model, "modules", list)() or ()]
    kinds += [type(part) for part in getattr(model, "_flatten_layers", list)() or ()]
    found = {kind.__module__ for kind in kinds}
    top = {name.partition(".")[0] for name in found}
    known = {*sys.stdlib_module_names, "__main__", framework.module, "keras", "d2lhybrid", "numpy"}
    return sorted(top - known)


def _advice(framework: Framework, chosen: Format) -> str:
    found = others(framework.name, chosen.name)
    nothing = _("Nothing was changed at the path.")
    if not found:
        return nothing
    return sentences(nothing, _("Other formats for this model: {formats}.").format(formats=found))


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
        text = _("{failed}: {reason}.").format(failed=failed, reason=proof.brief(error))
        raise SaveError(sentences(text, _advice(framework, chosen))) from error
