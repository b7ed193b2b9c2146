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
import uuid
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from d2lhybrid.artifacts.examples import check_inputs, read_raw, recall, write_raw
from d2lhybrid.artifacts.loading import require_loadable
from d2lhybrid.artifacts.manifest import ITEMSIZE, Manifest
from d2lhybrid.artifacts.store import Stored, read
from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import (
    ArtifactAccessError,
    InputMismatchError,
    MissingPackageError,
    NativeRunError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks.formats import NativeProgram, find, others
from d2lhybrid.i18n import general, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw
from d2lhybrid.waiting import waiting

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
        args: What ``load(path)`` would be called with, of NumPy arrays or what NumPy can read; or
            the arrays alone, one by one; none for the recorded example. For bfloat16, arrays of
            ``ml_dtypes`` or the bits as uint16.
        keep: A folder that gets the source, the compile line (``build.sh``), the program, the
            inputs and the command that runs it (``run.sh``).
        trust: As in ``load``.
        timeout: Seconds that the program may run.
        kwargs: More of what ``load(path)`` would be called with.

    Returns:
        What the model returns, of NumPy arrays, with dictionaries for output classes; bfloat16
        comes back as float32.

    Raises:
        UnsupportedArtifactError: No program runs this format.
        CompilerMissingError: There is no compiler; says which package to install.
        NativeRunError: The program does not compile, fails, or takes longer than `timeout`.
        InputMismatchError: Structure, number, dtype or shape of the inputs are wrong.
        UntrustedArtifactError, DamagedArtifactError: As in ``load``.
        MissingPackageError: The package whose library the program needs is not installed.
        ArtifactAccessError: `keep` holds other files, or the cache cannot be written to.

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
    manifest = stored.manifest
    chosen = find(manifest.framework, manifest.format)
    native = chosen.native
    if native is None:
        raise _no_program(manifest)
    require_loadable(stored, trust)
    raws = _raws(stored, args, kwargs)
    _require_dtypes(manifest, native)
    check_inputs(manifest.inputs, [(raw.dtype, raw.array.shape) for raw in raws])
    model = chosen.native_model(stored.root, manifest.options, raws, _cache())
    program, line = _build(native)
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as temporary:
        command = [str(program), str(model), *_arguments(stored, raws, Path(temporary))]
        if keep is not None:
            _keep(Path(keep), native, line, program, command, Path(temporary))
        printed = _execute(command, _("Could not run the program"), timeout)
        outputs = [
            _output(row, Path(temporary) / f"output-{i}.raw").values()
            for i, row in enumerate(printed.splitlines())
        ]
    if manifest.returns is None:
        return outputs[0] if len(outputs) == 1 else tuple(outputs)
    if len(outputs) != len(manifest.outputs):
        raise NativeRunError(
            _("Expected {n} outputs of the program, received {received}.").format(
                n=len(manifest.outputs), received=len(outputs)
            )
        )
    return manifest.returns.filled(outputs)


def _no_program(manifest: Manifest) -> UnsupportedArtifactError:
    found = _("Expected a format that runs without Python, received {format!r}.")
    fitting = others(manifest.framework, manifest.format, lambda one: one.native is not None)
    advice = _("Save the model again in one of these: {formats}.").format(formats=fitting)
    return UnsupportedArtifactError(sentences(found.format(format=manifest.format), advice))


def _raws(stored: Stored, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Raw]:
    """The tensors in the arguments, which may also come one by one; of none, the example's."""
    manifest = stored.manifest
    if not args and not kwargs:
        return recall(stored.root, manifest.example_inputs)
    inputs, takes = list(args), manifest.takes
    alone = not kwargs and len(args) == len(manifest.inputs) and all(map(_is_array, args))
    if takes is not None and not (takes.flat and not kwargs) and not alone:
        inputs = takes.tensors_in((args, kwargs), "")
    bits = [spec.dtype == "bfloat16" for spec in manifest.inputs] + [False] * len(inputs)
    return [_raw(x, as_bits) for x, as_bits in zip(inputs, bits, strict=False)]


def _is_array(value: Any) -> bool:
    return hasattr(value, "__array__")


def _raw(value: Any, as_bits: bool) -> Raw:
    """What NumPy reads; a uint16 where the model takes a bfloat16 (`as_bits`) holds its bits."""
    try:
        array = np.asarray(value)
    except Exception as error:  # an object's own __array__ may raise anything
        raise InputMismatchError(
            _("Expected a NumPy array, received a {kind} ({error}); convert it.").format(
                kind=type(value).__name__, error=error
            )
        ) from error
    return Raw.of(array, "bfloat16" if as_bits and array.dtype == np.uint16 else None)


def _require_dtypes(manifest: Manifest, native: NativeProgram) -> None:
    """Raise UnsupportedArtifactError for what the program cannot take or hand out."""
    for spec in (*manifest.inputs, *manifest.outputs):
        known = spec.dtype in ITEMSIZE
        if not known or (native.dtypes and spec.dtype not in native.dtypes):
            raise UnsupportedArtifactError(
                _(
                    "Expected a model whose inputs and outputs are {dtypes}, received {spec}; use "
                    "load."
                ).format(dtypes=", ".join(native.dtypes or ITEMSIZE), spec=spec)
            )


def _arguments(stored: Stored, raws: Sequence[Raw], folder: Path) -> list[str]:
    """Write the inputs, and name them and the outputs the way the framework's library does."""
    manifest = stored.manifest
    names = [s.name for s in (*manifest.inputs, *manifest.outputs)]
    theirs = manifest.options.get("tensors")
    if isinstance(theirs, list) and len(theirs) == len(names):
        names = list(map(str, theirs))
    arguments = []
    for i, raw in enumerate(raws):
        file = folder / f"input-{i}.raw"
        write_raw(file, raw)
        shape = ",".join(map(str, raw.array.shape))
        arguments += ["input", names[i], raw.dtype, shape, str(file)]
    for i, name in enumerate(names[len(raws) :]):
        arguments += ["output", name, str(folder / f"output-{i}.raw")]
    return arguments


def _output(row: str, file: Path) -> Raw:
    try:
        _name, dtype, *shape = row.split(" ")
        return read_raw(file, dtype, [int(n) for n in shape])
    except (ValueError, TypeError, OSError) as error:
        raise NativeRunError(
            _("The program printed {line!r}, which names no output: {error}").format(
                line=row[:80], error=error
            )
        ) from error


def _cache() -> Path:
    named = os.environ.get("D2LHYBRID_CACHE")
    return Path(named) if named else user_cache_path("d2lhybrid")


def _build(native: NativeProgram) -> tuple[Path, list[str]]:
    """The program, compiled unless the cache has it; and the compile line."""
    found = find_spec(native.package)
    if found is None or not found.submodule_search_locations:
        raise MissingPackageError(
            _(
                "Running this model needs the library inside the package {package}; "
                "install it with: {command}"
            ).format(package=native.package, command=f"pip install {native.package}")
        )
    folder = Path(next(iter(found.submodule_search_locations)))
    library = next(iter(sorted(folder.glob(native.library))), "") if native.library else ""
    if native.library and not library:
        raise MissingPackageError(
            _("Expected {pattern} in {folder}, found none; install {package} again.").format(
                pattern=native.library, folder=folder, package=native.package
            )
        )
    compiler = find_compiler(native.language)
    flags = [part.format(folder, library) for part in shlex.split(native.flags)]
    line = [*compiler, native.source, "-I.", "-O1", "-o", PROGRAM, *flags]
    parts = [" ".join(line), _library_stamp(folder), _version(compiler)]
    parts += [(SOURCES / name).read_text() for name in (native.source, *native.headers)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    cache = _cache() / "native" / key
    if not (cache / PROGRAM).exists():
        _compile(native, line, cache)
    return cache / PROGRAM, line


def _compile(native: NativeProgram, line: list[str], cache: Path) -> None:
    working = cache.with_name(f"{cache.name}-{uuid.uuid4().hex[:8]}")
    try:
        working.mkdir(parents=True)
        for name in (native.source, *native.headers):
            shutil.copy(SOURCES / name, working)
        with waiting(lambda seconds: _telling(native.source, seconds)):
            _execute(line, _("Could not compile the program"), 600, working)
        try:
            working.rename(cache)
        except OSError:  # another process was faster
            if not (cache / PROGRAM).exists():
                raise
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _(
                "Could not build the program in {path!r}: {reason}; name a folder that you may "
                "write to in the environment variable D2LHYBRID_CACHE."
            ).format(path=str(cache.parent), reason=error.strerror),
        ) from error
    finally:
        shutil.rmtree(working, ignore_errors=True)


def _telling(source: str, seconds: int) -> str:
    return _("compiling {file}, {seconds} s").format(file=source, seconds=seconds)


def _library_stamp(folder: Path) -> str:
    """Changes whenever another build of the package is installed."""
    return str((folder / "__init__.py").stat().st_mtime_ns)


def _version(compiler: list[str]) -> str:
    failure = _("Could not ask the compiler for its version")
    return _execute([*compiler, "--version"], failure, 60)


def _execute(command: list[str], failure: str, timeout: float, folder: Path | None = None) -> str:
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=timeout,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise NativeRunError(
            _("{failure} ({ended}): {said}").format(
                failure=failure, ended=error.strerror, said=shlex.join(command)
            )
        ) from error
    except subprocess.TimeoutExpired:
        raise NativeRunError(
            _("{failure} within {seconds} s: {command}").format(
                failure=failure, seconds=general(timeout), command=shlex.join(command)
            )
        ) from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[-2000:]
        code = done.returncode
        ended = _("signal {n}").format(n=-code) if code < 0 else _("status {n}").format(n=code)
        text = _("{failure} ({ended}): {said}").format(failure=failure, ended=ended, said=said)
        raise NativeRunError(f"{text}\n  {shlex.join(command)}")
    return done.stdout.decode(errors="replace")


def _keep(
    folder: Path, native: NativeProgram, line: list[str], program: Path, command: list[str],
    data: Path,
) -> None:  # fmt: skip
    """Everything that a reader needs to build and run the program again without us."""
    moved = [part.replace(str(data), ".") for part in command[1:]]
    scripts = {"build.sh": line, "run.sh": [f"./{PROGRAM}", *moved]}
    copies = [SOURCES / name for name in (native.source, *native.headers)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / PROGRAM).exists():  # not of an earlier run
            raise ArtifactAccessError(
                _("Will not write into {path!r}, which holds other files.").format(path=str(folder))
            )
        for original in (*copies, program, *data.glob("input-*.raw")):
            shutil.copy(original, folder)
        for name, words in scripts.items():
            (folder / name).write_text(f"#!/bin/sh\n{shlex.join(words)}\n")
            (folder / name).chmod(0o755)
    except ArtifactAccessError:
        raise
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _("Could not write into {path!r}: {reason}.").format(
                path=str(folder), reason=error.strerror
            ),
        ) from error
