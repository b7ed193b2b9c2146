"""``run_native``: a short C or C++ program runs the model, and Python only passes tensors to it."""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from d2lhybrid.artifacts import program
from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.manifest import TensorSpec
from d2lhybrid.artifacts.store import Stored, not_a_path, read
from d2lhybrid.backends.formats import NativeProgram
from d2lhybrid.backends.verb import verb
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _, sentences


def _misused(given: Mapping[str, Any]) -> str:
    """What is wrong with the path of ``run_native``, which may be in a call; "" if nothing is."""
    return not_a_path({"path": Call.of(given["path"]).function})


@verb("run_native('path', x)", check=_misused)
def run_native(
    path: str | os.PathLike[str] | Call,
    /,
    *args: Any,
    output_dir: str | os.PathLike[str] | None = None,
    trust: bool = False,
    timeout: float = 300.0,
) -> Any:
    """Run an artifact outside Python, on the CPU.

    Args:
        path: The artifact's folder; or ``call(path, ...)``, which also takes keyword arguments of
            the model.
        args: The arguments of ``load(path)``, as NumPy arrays; without any, the recorded example
            runs. For bfloat16, arrays of ``ml_dtypes`` or the bits as uint16.
        output_dir: A folder that gets the source, the compile line (``build.sh``), the program, the
            inputs and the command that runs it (``run.sh``).
        trust: As in ``load``.
        timeout: How many seconds the program may run.

    Returns:
        What ``load(path)`` returns, as NumPy arrays; bfloat16 comes back as float32.

    Raises:
        UnsupportedArtifactError: No program runs this format, or the model was saved on a GPU.
        CompilerMissingError: There is no compiler; the message says which package to install.
        NativeRunError: The program doesn't compile, fails, takes longer than `timeout`, or doesn't
            print its outputs.
        ArtifactLoadError: The framework refuses the model.
        InputMismatchError: The structure, number, dtype or shape of the inputs is wrong.
        UntrustedArtifactError, DamagedArtifactError: As in ``load``.
        MissingPackageError: The package whose library the program needs is not installed.
        ArgumentError: `path` is no path, or an option isn't what it should be.
        UnwritableFolderError: `output_dir` holds other files or cannot be written to, or the cache
            cannot, which ``$D2LHYBRID_CACHE`` names.

    >>> from d2lhybrid import import_mxnet, save
    >>> mx = import_mxnet()
    >>> net, x = mx.gluon.nn.Dense(2), mx.nd.ones((1, 3))
    >>> net.initialize()
    >>> net.hybridize()
    >>> artifact = save(net, "dense", x)
    >>> np.allclose(run_native("dense", x.asnumpy()), net(x).asnumpy())
    True
    """
    called = Call.of(path, args)
    stored = read(called.function)
    native = _native_program(stored)
    stored.require_intact()
    with stored.off_import_path(stored.require_allowed(trust)):
        inputs = _inputs(stored, called.args, called.kwargs)
        names = stored.manifest.options.get("tensors")
        if not isinstance(names, tuple):
            specs = (*stored.manifest.inputs, *stored.manifest.outputs)
            names = tuple(spec.name for spec in specs)
        with stored.explain_refusals():
            model = stored.format.native_model(
                stored.root, stored.manifest.options, inputs, program.cache()
            )
        built = program.build(native)
        with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as data:
            arguments = [str(model), *_write_inputs(names, inputs, Path(data))]
            if output_dir is not None:
                program.keep(Path(output_dir), built, arguments, Path(data))
            command = [str(built / program.PROGRAM), *arguments]
            printed = program.execute(command, _("Could not run the program"), timeout)
            outputs = _outputs(printed, names[len(inputs) :], Path(data))
        return stored.manifest.out_spec.unflatten(outputs)


def _native_program(stored: Stored) -> NativeProgram:
    """The program that runs the artifact's format.

    Raises:
        UnsupportedArtifactError: There is none, or it has no such tensors.
    """
    manifest, native = stored.manifest, stored.format.native
    if native is None:
        text = _("Expected a format that runs without Python. Received: {format!r}.")
        advice = _("{framework} has no such format here: load the model in Python.")
        fields = {"format": manifest.format, "framework": stored.framework.display}
        raise errors.UnsupportedArtifactError(sentences(text, advice), **fields)
    for spec in (*manifest.inputs, *manifest.outputs):
        if spec.dtype not in native.dtypes:
            text = _(
                "Expected a model whose inputs and outputs are {dtypes}. Received: {spec}. Use "
                "{load} instead."
            )
            raise errors.UnsupportedArtifactError(
                text, dtypes=", ".join(native.dtypes), spec=spec, load="load(path)"
            )
    return native


def _inputs(stored: Stored, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[HostArray]:
    """The inputs in the arguments, or those of the recorded example if there are none.

    Raises:
        InputMismatchError: They are not what the model was saved with.
    """
    manifest = stored.manifest
    if not args and not kwargs:
        return load_examples(stored.root, 0, "input", manifest.inputs)
    values = manifest.flatten_call(args, kwargs)
    inputs = [_input(*each) for each in zip(values, manifest.inputs, strict=True)]
    manifest.require([(host_array.dtype, host_array.array.shape) for host_array in inputs])
    return inputs


def _input(value: Any, spec: TensorSpec) -> HostArray:
    """What NumPy makes of an input; InputMismatchError if it cannot convert it."""
    try:
        array = np.asarray(value)
    except Exception as error:
        text = _("Expected NumPy arrays. Received: {kind}, which cannot be converted ({error}).")
        kind = f"{type(value).__module__}.{type(value).__name__}"
        reason = errors.brief(error).rstrip(".")
        raise errors.InputMismatchError(text, kind=kind, error=reason) from error
    are_bits = spec.dtype == "bfloat16" and array.dtype == np.uint16
    return HostArray.of(array, "bfloat16" if are_bits else None)


def _write_inputs(names: Sequence[str], inputs: Sequence[HostArray], folder: Path) -> list[str]:
    """Write the inputs, and return the program's arguments for them and for the outputs.

    Args:
        names: What the framework's library calls the inputs and, behind them, the outputs.
        inputs: The inputs.
        folder: Where to write them.
    """
    arguments = []
    for i, (name, host_array) in enumerate(zip(names[: len(inputs)], inputs, strict=True)):
        file, sizes = folder / f"input-{i}.raw", ",".join(map(str, host_array.array.shape))
        host_array.array.tofile(file)
        arguments += ["input", name, host_array.dtype, sizes, str(file)]
    for i, name in enumerate(names[len(inputs) :]):
        arguments += ["output", name, str(folder / f"output-{i}.raw")]
    return arguments


def _outputs(printed: str, names: Sequence[str], folder: Path) -> list[np.ndarray]:
    """The outputs that the program has written, by what it printed: a line for each.

    Raises:
        NativeRunError: It printed something else, or wrote other files.
    """
    try:
        return [
            _output(line.removeprefix(f"{name} "), folder / f"output-{i}.raw")
            for i, (line, name) in enumerate(zip(printed.splitlines(), names, strict=True))
        ]
    except Exception as error:
        text = _("Expected a line for each of {number} outputs ({error}). Printed: {printed}")
        shown = printed[-program.LONGEST_OUTPUT :]
        fields = {"number": len(names), "error": errors.brief(error), "printed": shown}
        raise errors.NativeRunError(text, **fields) from error


def _output(dtype_and_sizes: str, file: Path) -> np.ndarray:
    """An output by what its line says behind its name, such as "float32 1 2"."""
    dtype, *sizes = dtype_and_sizes.split(" ")
    array = np.fromfile(file, "uint16" if dtype == "bfloat16" else dtype)
    return HostArray(dtype, array.reshape([int(size) for size in sizes])).values()
