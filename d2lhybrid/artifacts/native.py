"""``run_native``: a short C or C++ program runs the model, and Python only hands over tensors.

The programs in ``d2lhybrid/native`` are compiled against the libraries inside the installed
wheels, and the binaries are kept in the user's cache folder (or in ``$D2LHYBRID_CACHE``).
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from d2lhybrid.artifacts.examples import check_inputs, read_raw, recall
from d2lhybrid.artifacts.loading import require_loadable
from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.store import Stored, steady
from d2lhybrid.compiler import find_compiler
from d2lhybrid.errors import (
    ArtifactAccessError,
    InputMismatchError,
    MissingPackageError,
    NativeRunError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks.formats import find
from d2lhybrid.i18n import general
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw

SOURCES = Path(__file__).parent.parent / "native"
PROGRAM = "run_model"


# A compiled package asks for libtorch when it is opened, and finds it only if the program has it
# already: so the linker must not drop it, although the program calls nothing in it.
_KEEP = "" if sys.platform == "darwin" else "-Wl,--no-as-needed "
# For each program: the package it links with; its flags, where {0} is that package's folder and {1}
# ONNX Runtime's library in it; and what it takes for the model.
_TORCH = (
    "-std=c++20 -I{0}/include -I{0}/include/torch/csrc/api/include "
    "-L{0}/lib -Wl,-rpath,{0}/lib " + _KEEP + "-ltorch -ltorch_cpu -lc10"
)
_TENSORFLOW = (
    "-I{0}/include -L{0} -Wl,-rpath,{0} -l:libtensorflow_cc.so.2 -l:libtensorflow_framework.so.2"
)
_PROGRAMS = {
    "torchscript.cpp": ("torch", _TORCH, "model.pt"),
    "aotinductor.cpp": ("torch", _TORCH, "model.pt2"),
    "savedmodel.c": ("tensorflow", _TENSORFLOW, "saved_model"),
    "mxnet.c": ("mxnet", "-I{0}/include -L{0} -Wl,-rpath,{0} -lmxnet", "model"),
    "onnx.c": ("onnxruntime", "'-DONNXRUNTIME=\"{1}\"' -ldl", "model.onnx"),
}


def run_native(
    path: str | os.PathLike[str],
    *inputs: Any,
    keep: str | os.PathLike[str] | None = None,
    trust: bool = False,
    timeout: float = 300.0,
) -> Any:
    """Run an artifact outside Python, on the CPU.

    Args:
        path: The artifact's folder.
        inputs: NumPy arrays, or what NumPy can read; none for the recorded example. For bfloat16,
            arrays of ``ml_dtypes`` or the bits as uint16.
        keep: A folder that gets the source, the compile line (``build.sh``), the program, the
            inputs and the command that runs it (``run.sh``).
        trust: As in ``load``.
        timeout: Seconds that the program may run.

    Returns:
        A NumPy array, or a tuple of them; bfloat16 comes back as float32.

    Raises:
        UnsupportedArtifactError: No program runs this format.
        CompilerMissingError: There is no compiler; says which package to install.
        NativeRunError: The program does not compile, fails, or takes longer than `timeout`.
        InputMismatchError: Number, dtype or shape of the inputs are wrong.
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
    return steady(path, lambda stored: _run(stored, inputs, keep, trust, timeout))


def _run(
    stored: Stored,
    inputs: Sequence[Any],
    keep: str | os.PathLike[str] | None,
    trust: bool,
    timeout: float,
) -> Any:
    manifest = stored.manifest
    source = find(manifest.framework, manifest.format).native
    if not source:
        raise UnsupportedArtifactError(
            _(
                "Expected a format that runs without Python, received {format!r}; "
                "save the model as mxnet, torchscript, aotinductor, onnx or savedmodel."
            ).format(format=manifest.format)
        )
    require_loadable(stored, trust)
    raws = _raws(manifest, inputs) if inputs else recall(stored.root, manifest.example_inputs)
    check_inputs(manifest.inputs, [(raw.dtype, raw.array.shape) for raw in raws])
    if source == "mxnet.c":
        _require_float32(manifest)
    if keep is not None:
        _require_outside(Path(keep), stored.root)
    program, line = _build(source)
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as temporary:
        command = [str(program), str(stored.root / _PROGRAMS[source][2])]
        command += _arguments(stored, raws, Path(temporary))
        if keep is not None:
            _keep(Path(keep), source, line, program, command, Path(temporary))
        printed = _execute(command, _("Could not run the program"), timeout)
        outputs = [
            _output(row, Path(temporary) / f"output-{i}.raw").values()
            for i, row in enumerate(printed.splitlines())
        ]
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _raws(manifest: Manifest, inputs: Sequence[Any]) -> list[Raw]:
    bits = [spec.dtype == "bfloat16" for spec in manifest.inputs] + [False] * len(inputs)
    return [_raw(x, as_bits) for x, as_bits in zip(inputs, bits, strict=False)]


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


def _require_float32(manifest: Manifest) -> None:
    """MXNet's predict API hands out the bytes of any output as if they were of float32."""
    for spec in manifest.outputs:
        if spec.dtype != "float32":
            raise UnsupportedArtifactError(
                _("Expected a model whose outputs are float32, received {spec}; use load.").format(
                    spec=spec
                )
            )


def _require_outside(folder: Path, root: Path) -> None:
    """Raise ArtifactAccessError if what is kept would be a foreign file in the artifact."""
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root)):
        raise ArtifactAccessError(
            _("Will not write into the artifact {path!r}; choose another folder.").format(
                path=str(root)
            )
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
        file.write_bytes(raw.array.tobytes())
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


def _build(source: str) -> tuple[Path, list[str]]:
    """The program for a source file, compiled unless the cache has it; and the compile line."""
    package, template, _model = _PROGRAMS[source]
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingPackageError(
            _(
                "Running this model needs the library inside the package {package}; "
                "install it with: {command}"
            ).format(package=package, command=f"pip install {package}")
        )
    folder = Path(next(iter(found.submodule_search_locations)))
    compiler = find_compiler("C++" if source.endswith("cpp") else "C")
    library = next(iter(sorted(folder.glob("capi/libonnxruntime.*"))), "")
    flags = [part.format(folder, library) for part in shlex.split(template)]
    line = [*compiler, source, "-I.", "-O1", "-o", PROGRAM, *flags]
    parts = [" ".join(line), _library_stamp(folder), _version(compiler)]
    parts += [(SOURCES / name).read_text() for name in _sources(source)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    named = os.environ.get("D2LHYBRID_CACHE")
    cache = (Path(named) if named else user_cache_path("d2lhybrid")) / "native" / key
    if not (cache / PROGRAM).exists():
        _compile(source, line, cache)
    return cache / PROGRAM, line


def _compile(source: str, line: list[str], cache: Path) -> None:
    working = cache.with_name(f"{cache.name}-{uuid.uuid4().hex[:8]}")
    try:
        working.mkdir(parents=True)
        for name in _sources(source):
            shutil.copy(SOURCES / name, working)
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


def _sources(source: str) -> list[str]:
    return [source, "tensors.h", *(["torch_tensors.h"] if source.endswith("cpp") else [])]


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
    folder: Path, source: str, line: list[str], program: Path, command: list[str], data: Path
) -> None:
    """Everything that a reader needs to build and run the program again without us."""
    moved = [part.replace(str(data), ".") for part in command[1:]]
    scripts = {"build.sh": line, "run.sh": [f"./{PROGRAM}", *moved]}
    copies = [SOURCES / name for name in _sources(source)] + [program, *data.glob("input-*.raw")]
    mine = {*scripts, *(p.name for p in copies)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        strange = _strange(folder, mine)
        if strange:
            raise ArtifactAccessError(
                _(
                    "Will not write into {path!r}, which holds {name!r}; choose an empty folder."
                ).format(path=str(folder), name=strange[0])
            )
        for original in copies:
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


def _strange(folder: Path, mine: set[str]) -> list[str]:
    """Names that no earlier run left in a folder; all of them if there is no program of ours."""
    there = list(folder.iterdir())
    kept_before = any(p.name == PROGRAM for p in there)
    return sorted(
        p.name
        for p in there
        if not kept_before
        or p.is_symlink()  # what is written to it would land elsewhere
        or not (p.name in mine or p.name.startswith(("input-", "output-")))
    )
