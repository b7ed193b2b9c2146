"""Every private name of TensorFlow and Keras that this room uses.

Each is looked up when it is asked for. Where one is gone, ``explain`` and ``graph`` turn the
AttributeError or ImportError into a note; what returns a default says so.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import tensorflow as tf


def _context() -> Any:
    return import_module("tensorflow.python.eager.context")


def is_started() -> bool:
    """Has TensorFlow set up its devices? Asking for them would do it now. Yes if it is unknown."""
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
    """The frames, outermost first, of the source that AutoGraph rewrote; None if it did not."""
    frames = getattr(getattr(error, "ag_error_metadata", None), "translated_stack", None)
    return frames and [(frame.filename, frame.lineno) for frame in reversed(frames)]


def collected(run: Callable[[], object]) -> list[Any]:
    """The graphs of the functions that run meanwhile, before and after Grappler."""
    begin, end = _context().enable_graph_collection, _context().disable_graph_collection
    export = _context().export_run_metadata
    begin()
    try:
        run()
        return list(export().function_graphs)
    finally:
        end()


def autographed(function: Any) -> Any:
    """The function with its Python control flow as AutoGraph rewrites it; as it is without that."""
    autograph: Any = getattr(getattr(tf, "__internal__", None), "autograph", None)
    convert = getattr(autograph, "tf_convert", None)
    return convert(function, autograph.control_status_ctx()) if convert else function


def layers(model: Any) -> list[Any]:
    """The layers in a model of Keras, however deep; where Keras does not tell, those it lists."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten() if flatten else getattr(model, "layers", ()))
