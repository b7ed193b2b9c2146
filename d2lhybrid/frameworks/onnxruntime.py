"""ONNX Runtime, which runs ONNX files in place of the framework that wrote them."""

from pathlib import Path
from typing import Any

from d2lhybrid.installing import require

PACKAGE = "onnxruntime"
LIBRARY = "capi/libonnxruntime.*"  # in the folder of the package, for a program in C


def open_session(path: Path, threads: int = 0) -> Any:
    """An inference session on the CPU, with its own number of threads where that is 0."""
    runtime = require(PACKAGE, "onnx")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
