"""The program in C or C++ that runs a format: compiled once, and then kept in the user's cache.

The programs in ``d2lhybrid/native`` are compiled against the libraries inside the installed
wheels. The cache is in the user's cache folder, or in ``$D2LHYBRID_CACHE``.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from d2lhybrid.backends import variables_for_child
from d2lhybrid.backends.formats import NativeProgram
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import general, gettext as _, noop as N_
from d2lhybrid.core.permissions import explain_unwritable
from d2lhybrid.core.progress import show_status
from d2lhybrid.core.subprocesses import run, status
from d2lhybrid.core.toolchain import find_compiler

SOURCES = Path(__file__).parent.parent / "native"
PROGRAM = "run_model"
BUILD_SECONDS = 600.0  # that compiling a program may take
LONGEST_OUTPUT = 2000  # letters of what a program prints that a message repeats


def cache() -> Path:
    """The folder for what is compiled, which is made if there is none."""
    folder = Path(os.environ.get("D2LHYBRID_CACHE") or user_cache_path("d2lhybrid"))
    with explain_unwritable(folder, "D2LHYBRID_CACHE"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def build(native: NativeProgram) -> Path:
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
    cached = cache() / "native" / key
    if cached.exists():
        return cached
    with ExitStack() as stack:
        with explain_unwritable(cached.parent, "D2LHYBRID_CACHE"):
            cached.parent.mkdir(exist_ok=True)
            temporary = tempfile.TemporaryDirectory(dir=cached.parent, ignore_cleanup_errors=True)
            working = stack.enter_context(temporary)
            for source in sources:
                shutil.copy(source, working)
            _write_script(Path(working, "build.sh"), line)
        with show_status(N_("compiling {file}"), file=native.source):
            execute(line, _("Could not compile the program"), BUILD_SECONDS, Path(working))
        with suppress(OSError):  # another process may have made it meanwhile
            os.rename(working, cached)
    return cached


def execute(command: list[str], failure: str, timeout: float, folder: Path | None = None) -> str:
    """What a program prints.

    Raises:
        NativeRunError: It does not start, ends with an error, or takes longer than `timeout`.
    """
    options: Any = {"cwd": folder, "env": variables_for_child(TF_CPP_MIN_LOG_LEVEL="2")}
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


def keep(folder: Path, built: Path, arguments: list[str], data: Path) -> None:
    """Copy everything that a reader needs to build and run the program again without us.

    Args:
        folder: Where to.
        built: The folder of the program.
        arguments: What it is run with.
        data: The folder of the inputs.
    """
    with explain_unwritable(folder, "output_dir"):
        folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / PROGRAM).exists():
        text = _(
            "Expected an empty folder, or one of an earlier run, as {option}. Received: {path!r}, "
            "which holds other files. Choose another one."
        )
        raise errors.UnwritableFolderError(text, option="output_dir", path=str(folder))
    relative = [argument.replace(str(data), ".") for argument in arguments]
    with explain_unwritable(folder, "output_dir"):
        for source in (built, data):
            shutil.copytree(source, folder, dirs_exist_ok=True)
        _write_script(folder / "run.sh", [f"./{PROGRAM}", *relative])


def _write_script(path: Path, words: list[str]) -> None:
    path.write_text(f"#!/bin/sh\n{shlex.join(words)}\n")
    path.chmod(0o755)
