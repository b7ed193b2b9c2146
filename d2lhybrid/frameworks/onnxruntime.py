"""ONNX Runtime, which runs ONNX files in place of the framework that wrote them."""

from pathlib import Path
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import require

PACKAGE = "onnxruntime"


def open_session(path: Path, threads: int = 0) -> Any:
    """An inference session on the CPU, with its own number of threads where that is 0."""
    runtime = require(PACKAGE, "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def library_of(folder: Path) -> Path:
    """The library in the folder of the package, for a program in C.

    Raises:
        MissingPackageError: There is none.
    """
    for found in sorted(folder.glob("capi/libonnxruntime.*")):
        return found
    text = _("Expected {pattern} in {folder}, found none; install {package} again.")
    raise MissingPackageError(
        text.format(pattern="capi/libonnxruntime.*", folder=folder, package=PACKAGE)
    )
