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

from d2lhybrid import errors
from d2lhybrid.artifacts.examples import check_inputs, recall, tensors_of
from d2lhybrid.artifacts.loading import require_allowed
from d2lhybrid.artifacts.manifest import DTYPES, Manifest
from d2lhybrid.artifacts.store import Stored, read, require_intact
from d2lhybrid.frameworks.formats import Format, NativeProgram
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences
from d2lhybrid.installing import find_compiler
from d2lhybrid.quieting import waiting
from d2lhybrid.tensor import Raw

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
        FileExistsError: `keep` holds other files.
        OSError: The cache, which ``$D2LHYBRID_CACHE`` names, cannot be written to.

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
    native = _native_program(stored)
    require_intact(stored)
    require_allowed(stored, trust)
    raws = _raws(stored, args, kwargs)
    check_inputs(manifest.inputs, [(raw.dtype, raw.array.shape) for raw in raws])
    model = chosen.native_model(stored.root, manifest.options, raws, _cache())
    program, line = _build(native, chosen)
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as name:
        folder = Path(name)
        command = [str(program), str(model), *_arguments(manifest, raws, folder)]
        if keep is not None:
            _keep(Path(keep), native, line, command, folder)
        printed = _execute(command, _("Could not run the program"), timeout).splitlines()
        outputs = [_output(row, folder / f"output-{i}.raw") for i, row in enumerate(printed)]
    return manifest.returns.filled(outputs)


def _native_program(stored: Stored) -> NativeProgram:
    """What runs a model of this format and these dtypes.

    Raises:
        UnsupportedArtifactError: Nothing does.
    """
    manifest, native = stored.manifest, stored.format.native
    if native is None:
        text = _("Expected a format that runs without Python, received {format!r}.")
        advice = _("{framework} has no such format here: load the model in Python.")
        fields = {"format": manifest.format, "framework": stored.framework.display}
        raise errors.UnsupportedArtifactError(sentences(text, advice), **fields)
    known = native.dtypes or DTYPES[:-1]  # no texts
    for spec in (*manifest.inputs, *manifest.outputs):
        if spec.dtype not in known:
            text = _(
                "Expected a model whose inputs and outputs are {dtypes}, received {spec}; use load."
            )
            raise errors.UnsupportedArtifactError(text, dtypes=", ".join(known), spec=spec)
    return native


def _raws(stored: Stored, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Raw]:
    """The tensors in the arguments; of none, those of the recorded example."""
    manifest = stored.manifest
    if not args and not kwargs:
        return recall(stored.root, 0, "input", manifest.inputs)
    arrays = map(np.asarray, tensors_of(manifest, args, kwargs))
    # No model takes uint16, so these are the bits of bfloat16.
    return [Raw.of(one, "bfloat16" if one.dtype == np.uint16 else None) for one in arrays]


def _arguments(manifest: Manifest, inputs: Sequence[Raw], folder: Path) -> list[str]:
    """Inputs and outputs, called as the framework's library calls them; writes the inputs."""
    theirs = manifest.options.get("tensors")
    specs = [spec.name for spec in (*manifest.inputs, *manifest.outputs)]
    names = list(theirs) if isinstance(theirs, tuple) else specs
    arguments = []
    for i, (name, raw) in enumerate(zip(names, inputs, strict=False)):
        file = folder / f"input-{i}.raw"
        raw.array.astype(raw.array.dtype.newbyteorder("<")).tofile(file)
        shape = ",".join(map(str, raw.array.shape))
        arguments += ["input", name, raw.dtype, shape, str(file)]
    for i, name in enumerate(names[len(inputs) :]):
        arguments += ["output", name, str(folder / f"output-{i}.raw")]
    return arguments


def _output(row: str, file: Path) -> np.ndarray:
    """An output that the program has written, by what it printed of it."""
    _name, dtype, *shape = row.split(" ")
    stored = np.dtype("uint16" if dtype == "bfloat16" else dtype).newbyteorder("<")
    return Raw(dtype, np.fromfile(file, stored).reshape([int(n) for n in shape])).values()


def _cache() -> Path:
    named = os.environ.get("D2LHYBRID_CACHE")
    return Path(named) if named else user_cache_path("d2lhybrid")


def _build(native: NativeProgram, chosen: Format) -> tuple[Path, list[str]]:
    """The program, compiled unless the cache has it; and the compile line."""
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
    flags = shlex.split(chosen.native_flags(package))
    flags += [part.format(package) for part in shlex.split(native.flags)]
    line = [*compiler, native.source, "-I.", "-O1", "-o", PROGRAM, *flags]
    installed = os.stat(found.origin).st_mtime_ns  # another build of the package
    parts = [" ".join(line), str(installed), *(path.read_text() for path in _sources(native))]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    made = _cache() / "native" / key
    if not (made / PROGRAM).exists():
        _compile(native, line, made)
    return made / PROGRAM, line


def _sources(native: NativeProgram) -> list[Path]:
    return [SOURCES / native.source, SOURCES / "tensors.h"]


def _compile(native: NativeProgram, line: list[str], made: Path) -> None:
    working = made.with_name(uuid.uuid4().hex)
    said = _("compiling {file}, {seconds} s")
    try:
        working.mkdir(parents=True)
        for source in _sources(native):
            shutil.copy(source, working)
        with waiting(lambda seconds: said.format(file=native.source, seconds=seconds)):
            _execute(line, _("Could not compile the program"), 600, working)
        made.mkdir(exist_ok=True)
        (working / PROGRAM).replace(made / PROGRAM)
    finally:
        shutil.rmtree(working, ignore_errors=True)


def _execute(command: list[str], failure: str, timeout: float, folder: Path | None = None) -> str:
    """What a program prints.

    Raises:
        NativeRunError: It does not start, ends with an error, or takes longer than `timeout`.
    """
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=timeout,
            stdin=subprocess.DEVNULL, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        said = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()[-2000:]
        raise errors.NativeRunError(
            "{failure}: {error}\n{said}", failure=failure, error=error, said=said
        ) from error
    return done.stdout.decode(errors="replace")


def _keep(
    folder: Path, native: NativeProgram, line: list[str], command: list[str], data: Path
) -> None:
    """Everything that a reader needs to build and run the program again without us."""
    moved = [part.replace(str(data), ".") for part in command[1:]]
    scripts = {"build.sh": line, "run.sh": [f"./{PROGRAM}", *moved]}
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / PROGRAM).exists():  # not of an earlier run
        text = _("Will not write into {path!r}, which holds other files.")
        raise FileExistsError(text.format(path=str(folder)))
    for original in (*_sources(native), Path(command[0]), *data.iterdir()):
        shutil.copy(original, folder)
    for name, words in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{shlex.join(words)}\n")
        (folder / name).chmod(0o755)
