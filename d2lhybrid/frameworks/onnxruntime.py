"""ONNX Runtime, which runs ONNX files in place of the framework that wrote them."""

from pathlib import Path
from typing import Any

from d2lhybrid.installing import require

PACKAGE = "onnxruntime"


def open_session(path: Path, threads: int = 0) -> Any:
    """An inference session on the CPU, with its own number of threads if 0; no custom operators."""
    runtime = require(PACKAGE, "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def numpy_callable(path: Path) -> Any:
    """A callable from NumPy arrays to NumPy arrays."""
    session = open_session(path)
    names = [i.name for i in session.get_inputs()]

    def run(*arrays: Any) -> Any:
        found = tuple(session.run(None, dict(zip(names, arrays, strict=True))))
        return found[0] if len(found) == 1 else found

    return run
