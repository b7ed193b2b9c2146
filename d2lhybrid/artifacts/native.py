"""``run_native``: a short C or C++ program runs the model, and Python only hands over tensors.

The programs in ``d2lhybrid/native`` are compiled against the libraries inside the installed
wheels, and the binaries are kept in the user's cache folder (or in ``$D2LHYBRID_CACHE``).
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
from platformdirs import user_cache_path

from d2lhybrid.artifacts.manifest import Dtype, Manifest
from d2lhybrid.artifacts.store import (
    own_folder,
    read,
    refusals,
    require_allowed,
    require_intact,
)
from d2lhybrid.core import errors
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _, noop as N_, sentences
from d2lhybrid.core.subprocesses import run
from d2lhybrid.core.toolchain import find_compiler
from d2lhybrid.display.progress import show_status
from d2lhybrid.frameworks import environment
from d2lhybrid.frameworks.formats import NativeProgram

SOURCES = Path(__file__).parent.parent / "native"
PROGRAM = "run_model"


def run_native(
    path: str | os.PathLike[str],
    *args: Any,
    keep: str | os.PathLike[str] | None = None,
    trust: bool = False,
    timeout: float = 300.0,
    **kwargs: Any,
) -> Any:
    """Run an artifact outside Python, on the CPU.

    Args:
        path: The artifact's folder.
        args: What ``load(path)`` would be called with, of NumPy arrays; none for the recorded
            example. For bfloat16, arrays of ``ml_dtypes`` or the bits as uint16.
        keep: A folder that gets the source, the compile line (``build.sh``), the program, the
            inputs and the command that runs it (``run.sh``).
        trust: As in ``load``.
        timeout: Seconds that the program may run.
        kwargs: More of what ``load(path)`` would be called with.

    Returns:
        What the model returns, of NumPy arrays, with dictionaries for output classes; bfloat16
        comes back as float32.

    Raises:
        UnsupportedArtifactError: No program runs this format, or a model saved on a GPU.
        CompilerMissingError: There is no compiler; says which package to install.
        NativeRunError: The program does not compile, fails, takes longer than `timeout`, or prints
            something else than its outputs.
        ArtifactLoadError: The framework refuses the model, or the artifact lacks a name.
        InputMismatchError: Structure, number, dtype or shape of the inputs are wrong.
        UntrustedArtifactError, DamagedArtifactError: As in ``load``.
        MissingPackageError: The package whose library the program needs is not installed.
        FileExistsError: `keep` holds other files.
        UnwritableFolderError: The cache, which ``$D2LHYBRID_CACHE`` names, cannot be written to.

    >>> from d2lhybrid import import_mxnet, save
    >>> mx = import_mxnet()
    >>> net, x = mx.gluon.nn.Dense(2), mx.nd.ones((1, 3))
    >>> net.initialize()
    >>> net.hybridize()
    >>> artifact = save(net, "dense", x)
    >>> np.allclose(run_native("dense", x.asnumpy()), net(x).asnumpy())
    True
    """
    stored = read(path)
    manifest, chosen = stored.manifest, stored.format
    native = chosen.native
    if native is None:
        text = _("Expected a format that runs without Python, received {format!r}.")
        advice = _("{framework} has no such format here: load the model in Python.")
        fields = {"format": manifest.format, "framework": stored.framework.display}
        raise errors.UnsupportedArtifactError(sentences(text, advice), **fields)
    dtypes = get_args(Dtype)
    known = native.dtypes or dtypes[: dtypes.index("string")]  # those of tensors.h
    for spec in (*manifest.inputs, *manifest.outputs):
        if spec.dtype not in known:
            text = _(
                "Expected a model whose inputs and outputs are {dtypes}, received {spec}; use load."
            )
            raise errors.UnsupportedArtifactError(text, dtypes=", ".join(known), spec=spec)
    require_intact(stored)
    require_allowed(stored, trust)
    if not args and not kwargs:
        inputs = stored.recall(0, "input")
    else:
        arrays = map(_array, manifest.in_spec.flatten_like((args, kwargs), ""))
        # No model takes uint16, so these are the bits of bfloat16.
        inputs = [
            HostArray.of(one, "bfloat16" if one.dtype == np.uint16 else None) for one in arrays
        ]
    for spec, raw in zip(manifest.inputs, inputs, strict=True):
        spec.require(raw.dtype, raw.array.shape)
    names = _names(manifest)
    with refusals(stored):
        model = chosen.native_model(stored.root, manifest.options, inputs, _compiled)
    made = _build(native)
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as name:
        folder = Path(name)
        arguments = [str(model), *_arguments(names, inputs, folder)]
        if keep is not None:
            _keep(Path(keep), made, arguments, folder)
        command = [str(made / PROGRAM), *arguments]
        printed = _execute(command, _("Could not run the program"), timeout)
        outputs = _outputs(printed, names[len(inputs) :], folder)
    return manifest.out_spec.unflatten(outputs)


def _array(value: Any) -> np.ndarray:
    """An input as NumPy's array; InputMismatchError if NumPy cannot convert it."""
    try:
        return np.asarray(value)
    except Exception as error:
        text = _("Expected NumPy arrays. Received: {kind}, which cannot be converted ({error}).")
        kind = f"{type(value).__module__}.{type(value).__name__}"
        raise errors.InputMismatchError(text, kind=kind, error=errors.brief(error)) from error


def _names(manifest: Manifest) -> tuple[str, ...]:
    """What the framework's library calls the inputs and, behind them, the outputs.

    Raises:
        ArtifactLoadError: The manifest does not say it for each.
    """
    ours = tuple(spec.name for spec in (*manifest.inputs, *manifest.outputs))
    names = manifest.options.get("tensors", ours)
    # An argument cannot hold a NUL, and a newline would split the program's line of output.
    if isinstance(names, tuple) and len(names) == len(ours) and all(map(str.isprintable, names)):
        return names
    text = _("Expected a name for each of {number} tensors, received {names!r}; save it again.")
    raise errors.ArtifactLoadError(text, number=len(ours), names=names)


def _arguments(names: Sequence[str], inputs: Sequence[HostArray], folder: Path) -> list[str]:
    """Inputs and outputs by the names that the library knows; writes the inputs."""
    arguments = []
    for i, (name, raw) in enumerate(zip(names, inputs, strict=False)):
        file = folder / f"input-{i}.raw"
        raw.array.astype(raw.array.dtype.newbyteorder("<")).tofile(file)
        shape = ",".join(map(str, raw.array.shape))
        arguments += ["input", name, raw.dtype, shape, str(file)]
    for i, name in enumerate(names[len(inputs) :]):
        arguments += ["output", name, str(folder / f"output-{i}.raw")]
    return arguments


def _outputs(printed: str, names: Sequence[str], folder: Path) -> list[np.ndarray]:
    """The outputs that the program has written, by what it printed: a line for each.

    Raises:
        NativeRunError: It printed something else, or wrote other files.
    """
    rows = printed.split("\n")[:-1]
    try:
        if len(rows) != len(names):
            raise ValueError(_("lines: {n}").format(n=len(rows)))
        files = (folder / f"output-{i}.raw" for i in range(len(names)))
        return [_output(*one) for one in zip(rows, names, files, strict=True)]
    except Exception as error:
        text = _("Expected a line for each of {number} outputs ({error}). Printed: {printed}")
        fields = {"number": len(names), "error": errors.brief(error), "printed": printed[-2000:]}
        raise errors.NativeRunError(text, **fields) from error


def _output(row: str, name: str, file: Path) -> np.ndarray:
    """An output by its line: its name, in which there may be spaces, its dtype and its sizes."""
    if not row.startswith(f"{name} "):
        raise ValueError(row)
    dtype, *shape = row.removeprefix(f"{name} ").split(" ")
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")
    return HostArray(dtype, np.fromfile(file, stored).reshape([int(n) for n in shape])).values()


def _cache() -> Path:
    return Path(os.environ.get("D2LHYBRID_CACHE") or user_cache_path("d2lhybrid"))


def _compiled(key: str) -> Path:
    """The folder in the cache for what is compiled of a model."""
    folder = _cache() / "compiled" / key
    with own_folder(_cache(), "D2LHYBRID_CACHE"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _build(native: NativeProgram) -> Path:
    """The folder of program, source and compile line, which is made unless the cache has it."""
    found = find_spec(native.package)
    if found is None or found.origin is None:
        text = _(
            "Running this model needs the library inside the package {package}; "
            "install it with: {command}"
        )
        command = f"pip install {native.package}"
        raise errors.MissingPackageError(text.format(package=native.package, command=command))
    package = Path(found.origin).parent
    compiler = find_compiler("C" if native.source.endswith(".c") else "C++")
    library = min(map(str, package.glob(native.library)), default="")
    flags = [part.format(package, library) for part in shlex.split(native.flags)]
    line = [*compiler, native.source, "-I.", "-O1", "-o", PROGRAM, *flags]
    sources = [SOURCES / native.source, SOURCES / "tensors.h"]
    build = str(os.stat(found.origin).st_mtime_ns)  # of the package
    parts = [*line, build, *(path.read_text() for path in sources)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    made = _cache() / "native" / key
    if made.exists():
        return made
    with own_folder(_cache(), "D2LHYBRID_CACHE"):
        made.parent.mkdir(parents=True, exist_ok=True)
        working = tempfile.TemporaryDirectory(dir=made.parent, ignore_cleanup_errors=True)
        folder = Path(working.name)
        for source in sources:
            shutil.copy(source, folder)
        _write_script(folder / "build.sh", line)
    with working:
        with show_status(N_("compiling {file}"), file=native.source):
            _execute(line, _("Could not compile the program"), 600, folder)
        with suppress(OSError):  # where another process has made it meanwhile
            folder.rename(made)
    return made


def _execute(command: list[str], failure: str, timeout: float, folder: Path | None = None) -> str:
    """What a program prints.

    Raises:
        NativeRunError: It does not start, ends with an error, or takes longer than `timeout`.
    """
    options: Any = {"cwd": folder, "env": environment(TF_CPP_MIN_LOG_LEVEL="2")}
    options |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    try:
        done = run(command, timeout, **options)
        done.check_returncode()
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()[-2000:]
        text = "{failure}: {error}\n{said}"
        raise errors.NativeRunError(text, failure=failure, error=error, said=said) from error
    return done.stdout.decode(errors="replace")


def _keep(folder: Path, made: Path, arguments: list[str], data: Path) -> None:
    """Everything that a reader needs to build and run the program again without us."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / PROGRAM).exists():  # not of an earlier run
        text = _("Will not write into {path!r}, which holds other files.")
        raise FileExistsError(text.format(path=str(folder)))
    for whole in (made, data):
        shutil.copytree(whole, folder, dirs_exist_ok=True)
    moved = [part.replace(str(data), ".") for part in arguments]
    _write_script(folder / "run.sh", [f"./{PROGRAM}", *moved])


def _write_script(path: Path, words: list[str]) -> None:
    path.write_text(f"#!/bin/sh\n{shlex.join(words)}\n")
    path.chmod(0o755)
