"""What TensorFlow does not promise to keep. Where a name is gone, less is known; nothing raises.

Each name is looked up by ``getattr`` when it is needed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from d2lhybrid.i18n import gettext as _

try:
    from tensorflow.python.eager import context
except ImportError:
    context = None


def missing(name: str) -> str:
    """The note for what is shown without a private name."""
    text = _("This release of {framework} has no {name}, so less is known here.")
    return text.format(framework="TensorFlow", name=name)


def is_started() -> bool:
    """Has TensorFlow set up its devices? Asking them for anything else would do it now."""
    current = getattr(context, "context", lambda: None)()
    return bool(getattr(current, "_initialized", True))


def copied(function: Any) -> Any:
    """A ``tf.function`` with the options of this one, and none of its traces; None if unknown."""
    clone = getattr(function, "_clone", None)
    return clone and clone(None)


def is_by_xla(function: Any) -> bool | None:
    """Does XLA compile this ``tf.function``? None where TensorFlow does not tell."""
    asked = getattr(function, "_jit_compile", missing)
    return None if asked is missing else asked is True


def rewritten_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The frames, outermost first, of the source that AutoGraph rewrote; None if it did not."""
    metadata = getattr(error, "ag_error_metadata", None)
    frames = getattr(metadata, "translated_stack", None)
    return frames and [(frame.filename, frame.lineno) for frame in reversed(frames)]


@contextmanager
def collected() -> Iterator[list[Any]]:
    """The graphs of the functions that run inside, before and after Grappler, once it has ended."""
    found: list[Any] = []
    begin = getattr(context, "enable_graph_collection", None)
    export = getattr(context, "export_run_metadata", None)
    end = getattr(context, "disable_graph_collection", None)
    if begin is None or export is None or end is None:
        yield found
        return
    begin()
    try:
        yield found
        found.extend(export().function_graphs)
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
    return list(flatten(include_self=False) if flatten else getattr(model, "layers", ()))


def trackable(value: Any) -> list[Any]:
    """What can hang on a module, as variables, tables and layers do; of a model its layers."""
    if isinstance(value, tf.keras.Model):  # it would trace itself, with its first argument alone
        return [one for one in layers(value) if not isinstance(one, tf.keras.Model)]
    compiled = hasattr(value, "get_concrete_function")
    return [] if compiled or getattr(value, "_trackable_children", None) is None else [value]
