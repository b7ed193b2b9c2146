"""``run_native``: a short C or C++ program runs the model, and Python only passes tensors to it.

The programs in ``d2lhybrid/native`` are compiled against the libraries inside the installed
wheels, and the binaries are kept in the user's cache folder (or in ``$D2LHYBRID_CACHE``).
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
from platformdirs import user_cache_path

from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.manifest import Dtype
from d2lhybrid.artifacts.permissions import explain_unwritable
from d2lhybrid.artifacts.store import Stored, not_a_path, read
from d2lhybrid.backends.environment import environment
from d2lhybrid.backends.formats import NativeProgram
from d2lhybrid.backends.verb import verb
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import general, gettext as _, noop as N_, sentences
from d2lhybrid.core.progress import show_status
from d2lhybrid.core.subprocesses import run, status
from d2lhybrid.core.toolchain import find_compiler

SOURCES = Path(__file__).parent.parent / "native"
PROGRAM = "run_model"
BUILD_SECONDS = 600.0  # that compiling a program may take
LONGEST_OUTPUT = 2000  # letters of what a program prints that a message repeats


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
        UnwritableFolderError: `output_dir` holds other files, or the cache cannot be written to,
            which ``$D2LHYBRID_CACHE`` names.

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
                stored.root, stored.manifest.options, inputs, _cache()
            )
        build = _build(native)
        with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as data:
            arguments = [str(model), *_write_inputs(names, inputs, Path(data))]
            if output_dir is not None:
                _keep(Path(output_dir), build, arguments, Path(data))
            command = [str(build / PROGRAM), *arguments]
            printed = _execute(command, _("Could not run the program"), timeout)
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
    dtypes = get_args(Dtype)
    supported = native.dtypes or dtypes[: dtypes.index("string")]  # those of tensors.h
    for spec in (*manifest.inputs, *manifest.outputs):
        if spec.dtype not in supported:
            text = _(
                "Expected a model whose inputs and outputs are {dtypes}. Received: {spec}. Use "
                "{load} instead."
            )
            raise errors.UnsupportedArtifactError(
                text, dtypes=", ".join(supported), spec=spec, load="load(path)"
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
    inputs = [_input(value) for value in manifest.flatten_call(args, kwargs)]
    manifest.require([(host_array.dtype, host_array.array.shape) for host_array in inputs])
    return inputs


def _input(value: Any) -> HostArray:
    """What NumPy makes of an input; InputMismatchError if it cannot convert it."""
    try:
        array = np.asarray(value)
    except Exception as error:
        text = _("Expected NumPy arrays. Received: {kind}, which cannot be converted ({error}).")
        kind = f"{type(value).__module__}.{type(value).__name__}"
        reason = errors.brief(error).rstrip(".")
        raise errors.InputMismatchError(text, kind=kind, error=reason) from error
    # No model takes uint16, so these are the bits of bfloat16.
    return HostArray.of(array, "bfloat16" if array.dtype == np.uint16 else None)


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
        shown = printed[-LONGEST_OUTPUT:]
        fields = {"number": len(names), "error": errors.brief(error), "printed": shown}
        raise errors.NativeRunError(text, **fields) from error


def _output(dtype_and_sizes: str, file: Path) -> np.ndarray:
    """An output by what its line says behind its name, such as "float32 1 2"."""
    dtype, *sizes = dtype_and_sizes.split(" ")
    array = np.fromfile(file, "uint16" if dtype == "bfloat16" else dtype)
    return HostArray(dtype, array.reshape([int(size) for size in sizes])).values()


def _cache() -> Path:
    """The folder for what is compiled, which is made if there is none."""
    folder = Path(os.environ.get("D2LHYBRID_CACHE") or user_cache_path("d2lhybrid"))
    with explain_unwritable(folder, "D2LHYBRID_CACHE"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _build(native: NativeProgram) -> Path:
    """The folder of program, source and compile line, which is made unless the cache has it.

    Raises:
        MissingPackageError, CompilerMissingError, NativeRunError, UnwritableFolderError: As in
            ``run_native``.
    """
    module = find_spec(native.package)
    if module is None or module.origin is None:
        text = _(
            "Running this model needs the library in the package {package}; install it with: "
            "{command}"
        )
        command = f"pip install {native.package}"
        raise errors.MissingPackageError(text.format(package=native.package, command=command))
    package = Path(module.origin).parent
    compiler = find_compiler("C" if native.source.endswith(".c") else "C++")
    library = min(map(str, package.glob(native.library)), default="")
    flags = [part.format(package, library) for part in shlex.split(native.flags)]
    line = [*compiler, native.source, "-I.", "-O1", "-o", PROGRAM, *flags]
    sources = [SOURCES / native.source, SOURCES / "tensors.h"]
    build_of_package = str(os.stat(module.origin).st_mtime_ns)
    parts = [*line, build_of_package, *(path.read_text() for path in sources)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    cached = _cache() / "native" / key
    if cached.exists():
        return cached
    cached.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached.parent, ignore_cleanup_errors=True) as working:
        for source in sources:
            shutil.copy(source, working)
        _write_script(Path(working, "build.sh"), line)
        with show_status(N_("compiling {file}"), file=native.source):
            _execute(line, _("Could not compile the program"), BUILD_SECONDS, Path(working))
        with suppress(OSError):  # another process may have made it meanwhile
            os.rename(working, cached)
    return cached


def _execute(command: list[str], failure: str, timeout: float, folder: Path | None = None) -> str:
    """What a program prints.

    Raises:
        NativeRunError: It does not start, ends with an error, or takes longer than `timeout`.
    """
    options: Any = {"cwd": folder, "env": environment(TF_CPP_MIN_LOG_LEVEL="2")}
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        process = run(command, timeout, **options)
        process.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        printed = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        reason = str(error)
        if isinstance(error, subprocess.TimeoutExpired):
            reason = _("it took longer than {seconds} s.").format(seconds=general(timeout))
        elif isinstance(error, subprocess.CalledProcessError):
            reason = _("it ended with status {status}.").format(status=status(error.returncode))
        text = "{failure}: {error}\n{printed}"
        fields = {"failure": failure, "error": reason, "printed": printed[-LONGEST_OUTPUT:]}
        raise errors.NativeRunError(text, **fields) from error
    return process.stdout.decode(errors="replace")


def _keep(folder: Path, build: Path, arguments: list[str], data: Path) -> None:
    """Copy everything that a reader needs to build and run the program again without us.

    Args:
        folder: Where to.
        build: The folder of the program.
        arguments: What it is run with.
        data: The folder of the inputs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / PROGRAM).exists():
        text = _(
            "Expected an empty folder, or one of an earlier run, as {option}. Received: {path!r}, "
            "which holds other files. Choose another one."
        )
        raise errors.UnwritableFolderError(text, option="output_dir", path=str(folder))
    for source in (build, data):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    relative = [argument.replace(str(data), ".") for argument in arguments]
    _write_script(folder / "run.sh", [f"./{PROGRAM}", *relative])


def _write_script(path: Path, words: list[str]) -> None:
    path.write_text(f"#!/bin/sh\n{shlex.join(words)}\n")
    path.chmod(0o755)
