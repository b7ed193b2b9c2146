"""``save``: write a model, let another process verify that it runs, then publish it."""

import datetime
import os
import platform
import shutil
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, get_args

from d2lhybrid.artifacts.example_run import DynamicDims, fix_axes, run_example
from d2lhybrid.artifacts.examples import RecordedCall, tensor_specs, write_examples
from d2lhybrid.artifacts.formats import format_of
from d2lhybrid.artifacts.inspect import Inspection, inspect
from d2lhybrid.artifacts.integrity import MAX_TOTAL_BYTES, file_entries, files_in
from d2lhybrid.artifacts.manifest import MANIFEST, VERSION, Dtype, FileEntry, Manifest, is_path
from d2lhybrid.artifacts.proof import verify_in_subprocess
from d2lhybrid.artifacts.store import read, replacing
from d2lhybrid.artifacts.trusted import add_trusted
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.formats import ExampleCall, Format, Option
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import D2LHybridError, SaveError, brief
from d2lhybrid.core.i18n import count, gettext as _
from d2lhybrid.core.progress import status_line
from d2lhybrid.core.usage import not_a_model
from d2lhybrid.core.wording import name_of


def _misused(given: Mapping[str, Any]) -> str:
    """What is wrong with the first two arguments of ``save``; "" if nothing is."""
    model, path = given["model"], given["path"]
    if isinstance(model, (str, os.PathLike)) or not isinstance(path, (str, os.PathLike)):
        return _("The model comes first, then the path, then the model's arguments.")
    return not_a_model(model)


@verb("save(net, 'path', x)", check=_misused)
def save(
    model: Any,
    path: str | os.PathLike[str],
    /,
    *args: Any,
    format: str | None = None,
    dynamic: DynamicDims | None = None,
    progress: bool | None = None,
) -> Inspection:
    """Save a model as an artifact: a folder with the framework's files and a manifest.

    The model is saved compiled if the format allows it. A separate process loads the file and runs
    it; the artifact appears at `path` only if its outputs equal the model's. Until then, and if
    anything goes wrong, an older artifact stays there. The loaded model returns tensors in lists,
    tuples and dictionaries, in place of any other classes: what the model returns as
    ``output.logits`` is ``output["logits"]``.

    Args:
        model: A model or compiled function of PyTorch, TensorFlow, JAX or MXNet; or ``call(model,
            ...)``, which also takes keyword arguments of the model.
        path: The folder to create, or an artifact to replace.
        args: Example arguments, as the model takes them: tensors, and lists, tuples, dictionaries
            and dataclasses of them, None, numbers and strings. Anything but a tensor becomes part
            of the program.
        format: One of the framework's formats; its best if None.
        dynamic: The axes that can vary later, for each input by name: ``{"ids": {0: "batch", 1:
            "length"}}``; axes of the same name vary together. An input has the name of its
            parameter in the model's ``forward``, ``call`` or function. Inside a container, its key
            or position follows: ``batch_ids`` for ``batch["ids"]``, ``pair_0`` for ``pair[0]``. An
            input without a parameter's name gets its position: ``input_0``.
            ``save(...).manifest.inputs``, which ``inspect`` shows, has all names.
            If None, the first axis of each input can vary if it is as long as that of the first
            input, and if the model and the format allow it; dictionaries before other arguments,
            such as parameters, have no such axis. With ``{}``, no axis can vary.
        progress: say what is being done; None does so in a notebook and in a
            terminal.

    Returns:
        What ``inspect`` returns for the new artifact.

    Raises:
        UnknownFrameworkError: Neither the model nor an input belongs to a known framework.
        CallFailedError: The model raised when it was called with the example.
        SaveError: The framework cannot save this model, perhaps because the disk is full, or the
            reloaded model isn't the same; or the model is in training mode, in which it doesn't
            compute what would be saved.
        ArtifactNotFoundError: `path` holds something that ``save`` did not write, or the folder
            around it doesn't exist.
        ArgumentError: Model, path and inputs come in another order; no input has an axis that
            `dynamic` names; or there is no such option.
        UnwritableFolderError: No folder of that name can be made there.
        OSError: The system cannot write the files, as on a full disk.
        UnsupportedArtifactError: The framework has no such format.
        CompilerMissingError: The format needs a compiler, and none was found.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> artifact.manifest.format
    'torch.export'
    """
    path = Path(os.path.abspath(path))  # whatever the current folder is meanwhile
    called = Call.of(model, args)
    model, args, kwargs = called.function, called.args, called.kwargs
    if not args and not kwargs:
        raise SaveError(
            _("Expected example inputs, but there are none. Write {code}."),
            code="save(net, 'path', x)",
        )
    framework = framework_of(model, args, kwargs)
    chosen = format_of(framework, format or next(iter(framework.formats), ""))
    with replacing(path) as folder, status_line(progress) as say:
        say(_("exporting as {format}").format(format=chosen.name))
        with wrap_call_errors(name_of(model), args, kwargs):
            example, calls = run_example(framework, chosen, called, dynamic)
        _require_dtypes(example, calls[0], chosen)
        options = chosen.options(example.inputs)
        options |= _write(framework, chosen, example, folder)
        if not example.larger_inputs:  # the format allowed no axis to vary
            calls = calls[:1]
        write_examples(folder, calls)
        manifest = Manifest(
            d2lhybrid_artifact=VERSION,
            format=chosen.name,
            framework=framework.name,
            versions=_versions(framework, chosen),
            inputs=tensor_specs(example.input_names, [inputs for inputs, _outputs in calls]),
            outputs=tensor_specs(example.output_names, [outputs for _inputs, outputs in calls]),
            fixed=example.fixed_because,
            in_spec=example.in_spec,
            out_spec=example.out_spec,
            files=_files(folder),
            examples=len(calls),
            options=options,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        (folder / MANIFEST).write_bytes(manifest.to_bytes())
        say(_("checking in a fresh process"))
        if failure := verify_in_subprocess(folder):
            text = _(
                "A fresh process that has only the artifact cannot load it as {format!r}: {error}."
            )
            raise SaveError(text, format=chosen.name, error=failure)
        add_trusted(read(folder).digest)
    return inspect(path)


def _require_dtypes(example: ExampleCall, recorded: RecordedCall, chosen: Format) -> None:
    """Raise SaveError for a dtype that a manifest or the format does not know."""
    names, (inputs, outputs) = [*example.input_names, *example.output_names], recorded
    known = [dtype for dtype in get_args(Dtype) if dtype not in chosen.unsupported]
    for name, tensor in zip(names, [*inputs, *outputs], strict=True):
        if tensor.dtype not in known:
            text = _(
                "Expected tensors of {dtypes} for {format!r}. Received: {name}, which is {dtype}. "
                "Save a function that converts it inside."
            )
            fields = {"format": chosen.name, "name": name, "dtype": tensor.dtype}
            raise SaveError(text, dtypes=", ".join(known), **fields)


def _write(
    framework: Framework, chosen: Format, example: ExampleCall, folder: Path
) -> dict[str, Option]:
    """Let the format write the model; if axes must not vary there, once more with fixed sizes.

    Returns what its reader needs.
    """
    try:
        return chosen.write(example, folder)
    except Exception as error:
        if isinstance(error, D2LHybridError) and not isinstance(error, SaveError):
            raise
        reason = str(error) if isinstance(error, SaveError) else brief(error)
        if not example.larger_inputs:
            text = _("{framework} could not save this model as {format!r}: {reason}")
            fields = {"framework": framework.display, "format": chosen.name, "reason": reason}
            raise SaveError(text, **fields) from error
        fix_axes(example, reason)
        shutil.rmtree(folder)  # what it wrote before it failed
        folder.mkdir()
    return _write(framework, chosen, example, folder)


def _files(folder: Path) -> tuple[FileEntry, ...]:
    """What the manifest says of the files.

    Raises:
        SaveError: A manifest cannot hold a name, or they are larger than an artifact may be.
    """
    sizes = {name: status.st_size for name, status in files_in(folder)}
    for name in sizes:
        if not is_path(name):
            text = _(
                "Expected files whose names consist of letters, digits, inner spaces and "
                "{characters}. Received: {name!r}, which the model brings along. Rename it, and "
                "build the model again."
            )
            raise SaveError(text, characters="_ . - + @ =", name=name)
    total = sum(sizes.values())
    if total > MAX_TOTAL_BYTES:
        text = _("Expected files of {most} bytes at most. Received: {size}. Save a smaller model.")
        raise SaveError(text, most=count(MAX_TOTAL_BYTES), size=count(total))
    return file_entries(folder)


def _versions(framework: Framework, chosen: Format) -> dict[str, str]:
    versions = {"python": platform.python_version(), framework.name: framework.version()}
    for package in ("d2lhybrid", "numpy", *chosen.packages):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions
