"""Every private name of TensorFlow and Keras that this folder uses.

Each is looked up when it is needed. If TensorFlow has removed one, its function raises
AttributeError or ImportError, which ``explain`` and ``graph`` turn into a note, or returns what is
said beside it.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import tensorflow as tf


def _context() -> Any:
    return import_module("tensorflow.python.eager.context")


def is_started() -> bool:
    """Has TensorFlow set up its devices? Asking for them would do it now. Yes if unknown."""
    try:
        return bool(_context().context()._initialized)
    except (AttributeError, ImportError):
        return True


def is_by_xla(function: Any) -> bool:
    """Does XLA compile this ``tf.function``?"""
    return function._jit_compile is True


def copied(function: Any) -> Any:
    """A ``tf.function`` with the options of this one, and none of its traces."""
    return function._clone(None)


def rewritten_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The lines of the user's source, outermost first, if AutoGraph has rewritten it; else None."""
    frames = getattr(getattr(error, "ag_error_metadata", None), "translated_stack", None)
    return frames and [(frame.filename, frame.lineno) for frame in reversed(frames)]


def collected(run: Callable[[], object]) -> list[Any]:
    """The graphs of the functions that run in `run`, before and after Grappler."""
    context = _context()
    # All three names are looked up first: without the last one, collecting would never end.
    begin, end = context.enable_graph_collection, context.disable_graph_collection
    export = context.export_run_metadata
    begin()
    try:
        run()
        return list(export().function_graphs)
    finally:
        end()


def autographed(function: Any) -> Any:
    """The function as AutoGraph rewrites its control flow; as it is if TensorFlow can't do that."""
    autograph: Any = getattr(getattr(tf, "__internal__", None), "autograph", None)
    convert = getattr(autograph, "tf_convert", None)
    return convert(function, autograph.control_status_ctx()) if convert else function


def layers(model: Any) -> list[Any]:
    """The layers in a model of Keras, however deep; if Keras doesn't tell, those at its top."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten() if flatten else getattr(model, "layers", ()))
