"""``save``: write a model, let another process verify that it runs from there, then publish it."""

import datetime
import errno
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast, get_args

import msgspec

from d2lhybrid.artifacts.load import Inspection, inspect
from d2lhybrid.artifacts.manifest import MANIFEST, VERSION, Dtype, Manifest, TensorSpec, parse
from d2lhybrid.artifacts.store import Recorded, add_trusted, entries, record, replacing
from d2lhybrid.core.arguments import name_of, reject_ambiguous_options, resolve_call
from d2lhybrid.core.compare_outputs import mismatch
from d2lhybrid.core.errors import D2LHybridError, SaveError, brief
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import general, gettext as _
from d2lhybrid.core.subprocesses import run_python, status
from d2lhybrid.experiment.sampler import wrap_call_errors
from d2lhybrid.frameworks import Verb, copy_outputs, environment, format_of, of, preserve_state
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.formats import Dynamic, ExampleCall, Format, Option, Options

DIFFERENT = 99  # the status of a process that has found other outputs
_PROOF = f"""
import sys, warnings
warnings.simplefilter("ignore")
from d2lhybrid.artifacts.load import verify
found = verify(sys.argv[1], trust=True)
print(*found.problems, found.reason, sep="; ", file=sys.stderr)
sys.exit({{"same": 0, "different": {DIFFERENT}}}.get(found.outputs, 1))
"""
PROOF_SECONDS = 600.0  # that it may take


_saving = threading.RLock()


def _renew_lock() -> None:
    """In a process that was forked: the thread that held the lock is not in it."""
    global _saving
    _saving = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _one_at_a_time(verb: Verb) -> Verb:
    """Let the threads of this process wait for each other.

    Saving puts a model into evaluation mode and traces it, and no framework traces in two threads.
    """

    @wraps(verb)
    def alone(*args: Any, **kwargs: Any) -> Any:
        with _saving:
            return verb(*args, **kwargs)

    return cast(Verb, alone)


@_one_at_a_time
@preserve_state
@reject_ambiguous_options
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
    and runs it; only when its outputs are those of the model does the artifact appear at `path`.
    What was there before stays until then, and stays for good if anything goes wrong. The loaded
    model returns a list for a deque, and a dictionary for an object that is no tuple, mapping or
    dataclass.

    Args:
        model: A model or compiled function of PyTorch, TensorFlow, JAX or MXNet; or ``call(model,
            ...)`` with all its arguments, where one of them has the name of an option.
        path: Folder to make, or an artifact to replace.
        args: Example arguments, as the model takes them: tensors, and lists, tuples, dictionaries
            and dataclasses of them, None, numbers and strings. What is no tensor becomes part of
            the program.
        format: One of the framework's formats; its best if None.
        dynamic: The axes that may vary later, for each input by name: ``{"ids": {0: "batch", 1:
            "length"}}``; axes of one name vary together. If None, the first axis of each input
            that is there as long as that of the first input, where the model and the format allow
            it; of ``{}``, none. Dictionaries before other arguments, such as parameters, are
            no such inputs.
        kwargs: More example arguments.

    Returns:
        What ``inspect`` says of the new artifact.

    Raises:
        UnknownFrameworkError: Neither the model nor an input belongs to a known framework.
        CallFailedError: The model raised when it was called with the example.
        SaveError: The framework cannot save this model so, or it does not reload to the same; or
            it is in training mode, in which it computes something else than what would be saved.
        ArtifactNotFoundError: `path` holds something that ``save`` did not write, or there is no
            folder to make it in.
        ArgumentError: No folder can have the name of `path`, or no input has an axis that `dynamic`
            names.
        OSError: Full disk, no permission; what was there is there still.
        UnsupportedArtifactError: The framework has no such format.
        CompilerMissingError: The format is compiled, and no compiler is here.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> artifact.manifest.format
    'torch.export'
    """
    path = Path(os.path.abspath(path))  # whatever the current folder is meanwhile
    model, args, kwargs = resolve_call(model, args, kwargs)
    framework = of(model, args, kwargs)
    chosen = format_of(framework.name, format or next(iter(framework.formats), ""))
    if not args and not kwargs:
        raise SaveError(_("Expected example inputs, received none; write save(model, path, x)."))
    add_trusted()  # find out before the work that there is no list to put it on
    with replacing(path) as folder:
        sample = ExampleCall.of(framework, model, args, kwargs, chosen.function(model))
        for kind in {type(one).__name__ for one in sample.inputs} & chosen.parts.keys():
            text = _("Expected dense tensors, received a {kind}; save a function of its {parts}.")
            raise SaveError(text, kind=kind, parts=chosen.parts[kind])
        options = chosen.options(sample.inputs)
        with wrap_call_errors(name_of(model)):
            examples = _run(sample, dynamic, options)
        options |= _write(framework, chosen, sample, folder)
        examples = examples[: 1 + bool(sample.larger)]
        record(folder, examples)
        manifest = Manifest(
            d2lhybrid_artifact=VERSION,
            format=chosen.name,
            framework=framework.name,
            versions=_versions(framework, chosen),
            inputs=tuple(_specs(sample.names, [given for given, _found in examples])),
            outputs=tuple(_specs(sample.outputs, [found for _given, found in examples])),
            fixed=sample.fixed,
            in_spec=sample.in_spec,
            out_spec=sample.out_spec,
            files=tuple(entries(folder).values()),
            examples=len(examples),
            options=options,
            created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        )
        digest = _seal(manifest, folder)
        failure = verify_in_subprocess(folder)
        modules = _modules(framework, model) if failure else ()
        if modules:  # one of them may register what the file needs
            options["imports"] = modules
            digest = _seal(msgspec.structs.replace(manifest, options=options), folder)
            failure = verify_in_subprocess(folder)
        if failure:
            text = _("A process that has only the artifact cannot load it as {format!r}: {error}.")
            raise SaveError(text, format=chosen.name, error=failure)
        add_trusted(digest)
    return inspect(path)


def verify_in_subprocess(folder: Path) -> str:
    """Let a process that has the artifact alone verify it; why it does not load there, or nothing.

    What a file needs beside itself (an operator of a library, a module that the notebook imported)
    is not missed where it was written.

    Raises:
        SaveError: It computes something else there, or takes too long, which no import would mend.
    """
    variables = environment(TF_CPP_MIN_LOG_LEVEL="2")
    with tempfile.TemporaryFile() as file:  # no pipe, which a compiler could keep open behind it
        output: Any = {"stdout": file, "stderr": file}
        try:
            done = run_python([_PROOF, str(folder)], PROOF_SECONDS, env=variables, **output)
        except subprocess.TimeoutExpired as error:
            text = _("A process that has only the artifact did not verify it within {seconds} s.")
            raise SaveError(text, seconds=general(PROOF_SECONDS)) from error
        file.seek(0)
        said = " ".join(file.read().decode(errors="replace").strip().splitlines()[-1:])
    if done.returncode == DIFFERENT:
        text = _(
            "What was saved does not compute what the model computes ({difference}); is the model "
            "random, or does it keep state?"
        )
        raise SaveError(text, difference=said)
    if done.returncode == 0:
        return ""
    text = _("the process ended with status {status}: {said}")
    ended = status(done.returncode)
    return text.format(status=ended, said=said.rstrip(".") or _("it said nothing"))


def _run(sample: ExampleCall, dynamic: Dynamic | None, options: Options) -> list[Recorded]:
    """Inputs and outputs of the model for the example, and for larger inputs if it takes them."""
    sample.out_spec, sample.outputs, found = sample.run(sample.inputs)
    if not found:
        raise SaveError(_("Expected a model that returns tensors, received none of them."))
    to_host = sample.framework.to_host
    examples = [([*map(to_host, sample.inputs)], [*map(to_host, found)])]
    own = getattr(sample.model, "__self__", sample.model)
    if hasattr(own, "eval") and getattr(own, "training", True):  # modules of NNX have no flag
        now, saved = map(copy_outputs, (sample.flat(*sample.inputs), tuple(found)))
        difference = mismatch(now, saved)
        if difference is not None:
            text = _(
                "Expected a model without state in evaluation mode, because that's how it is "
                "saved. Received: one that computes something else ({difference}). Call {code}."
            )
            raise SaveError(text, difference=difference, code="model.eval()")
    sample.vary(dynamic, options)
    if sample.larger:
        try:
            out_spec, _names, found = sample.run(sample.larger)
            if out_spec != sample.out_spec:
                raise ValueError(_("the output has another structure"))
            examples.append(([*map(to_host, sample.larger)], [*map(to_host, found)]))
        except Exception as error:
            sample.fix(brief(error))
    return examples


def _write(
    framework: Framework, chosen: Format, sample: ExampleCall, folder: Path
) -> dict[str, Option]:
    """Let the format write the model, if it must be with fixed sizes; what its reader needs."""
    try:
        return chosen.write(sample, folder)
    except Exception as error:
        full = shutil.disk_usage(folder).free < 1 << 16
        if full or getattr(error, "errno", None) == errno.ENOSPC:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        if isinstance(error, D2LHybridError) and not isinstance(error, SaveError):
            raise
        reason = str(error) if isinstance(error, SaveError) else brief(error)
        if not sample.larger:
            text = _("{framework} did not write this model as {format!r}: {reason}")
            fields = {"framework": framework.display, "format": chosen.name, "reason": reason}
            raise SaveError(text, **fields) from error
        sample.fix(reason)
    return _write(framework, chosen, sample, folder)


def _specs(names: Sequence[str], examples: Sequence[Sequence[HostArray]]) -> Iterator[TensorSpec]:
    """Inputs or outputs; an axis may vary where the examples have other sizes."""
    for name, *raws in zip(names, *examples, strict=True):
        if raws[0].dtype not in get_args(Dtype):
            text = _(
                "Expected tensors of {dtypes}, received {name}: {dtype}. "
                "Wrap the model in a function that converts it."
            )
            raise SaveError(text, dtypes=", ".join(get_args(Dtype)), name=name, dtype=raws[0].dtype)
        shapes = zip(*(raw.array.shape for raw in raws), strict=True)
        free = tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in shapes)
        yield TensorSpec(name, raws[0].dtype, free)


def _versions(framework: Framework, chosen: Format) -> dict[str, str]:
    found = {"python": platform.python_version(), framework.name: framework.version()}
    for package in ("d2lhybrid", "numpy", *chosen.packages):
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _modules(framework: Framework, model: Any) -> tuple[str, ...]:
    """The modules, other than the framework's and Python's, that the model's classes come from."""
    model = getattr(model, "__self__", model)
    parts = [model, *model.modules()] if hasattr(model, "modules") else [model]
    known = {*sys.stdlib_module_names, framework.name, "d2lhybrid", "builtins", "__main__"}
    found = {type(part).__module__ for part in parts} | {getattr(model, "__module__", "builtins")}
    return tuple(sorted(name for name in found if name.partition(".")[0] not in known))


def _seal(manifest: Manifest, folder: Path) -> str:
    """Write the manifest, and return its hash.

    Raises:
        SaveError: JSON cannot hold what stands in it, such as infinity.
    """
    try:
        raw = manifest.to_bytes()
        parse(raw)
    except ValueError as error:
        text = _("Expected arguments and outputs that a manifest can hold: {reason}.")
        raise SaveError(text, reason=brief(error)) from error
    (folder / MANIFEST).write_bytes(raw)
    return hashlib.sha256(raw).hexdigest()
