"""The formats that TensorFlow writes and reads, imported by the functions that need it."""

import contextlib
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Deferred, Format, Written, flatten, require
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

tf = Deferred(lambda: require("tensorflow", "tensorflow"))
parts = Deferred(lambda: import_module("d2lhybrid.frameworks.tensorflow.tensors"))
SAVED_MODEL, KERAS = "saved_model", "model.keras"
SIGNATURE = "serving_default"


def default_format(model: Any) -> str:
    return "savedmodel"


def _concrete(model: Any, inputs: tuple[Any, ...]) -> Any:
    """The function to save, traced with free first axes where it lets them."""
    if hasattr(model, "structured_input_signature"):
        return model  # already traced, and kept as it is
    compiled = model if hasattr(model, "get_concrete_function") else None
    function = compiled or tf.function(
        parts.inference(model), jit_compile=getattr(model, "jit_compile", None) is True
    )
    named = [f"input_{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))]
    fixed = [tf.TensorSpec(t.shape, t.dtype, n) for t, n in zip(inputs, named, strict=True)]
    free = [
        tf.TensorSpec([None, *s.shape[1:]], s.dtype, s.name) if s.shape.rank else s for s in fixed
    ]
    try:
        return function.get_concrete_function(*free)
    except Exception:  # the model may hold for this batch alone; if not, this raises why
        return function.get_concrete_function(*fixed)


def write_saved_model(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    traced = _concrete(model, inputs)
    owner = tf.Module()  # what the function uses must hang on an owner, or it is not saved
    owner.variables_used = list(traced.variables)
    owner.module = model if isinstance(model, tf.Module) else None
    # A signature returns a flat dictionary; numbered names keep the order of the outputs.
    wrapped = tf.function(
        lambda *args: {f"output_{i}": t for i, t in enumerate(flatten(traced(*args)))},
        input_signature=traced.structured_input_signature[0],
    ).get_concrete_function()
    target = folder / SAVED_MODEL
    tf.saved_model.save(owner, str(target), signatures={SIGNATURE: wrapped})
    return _signature(target)


def _signature(target: Path) -> Written:
    """Names of the signature's tensors, in call order: the C API knows tensors by these names."""
    proto = require("tensorflow.core.protobuf.saved_model_pb2", "tensorflow").SavedModel()
    proto.ParseFromString((target / "saved_model.pb").read_bytes())
    signature = proto.meta_graphs[0].signature_def[SIGNATURE]
    names = tuple(sorted(signature.inputs, key=_number))
    outputs = tuple(sorted(signature.outputs, key=_number))
    options = {
        "tensors": [signature.inputs[n].name for n in names]
        + [signature.outputs[n].name for n in outputs]
    }
    return Written(names, outputs, options)


def _number(name: str) -> int:
    digits = name.rpartition("_")[2]
    return int(digits) if digits.isdecimal() else 0


def read_saved_model(folder: Path, options: dict[str, Any], into: Any) -> Any:
    loaded = tf.saved_model.load(str(folder / SAVED_MODEL))
    signature = loaded.signatures[SIGNATURE]
    names = sorted(signature.structured_input_signature[1], key=_number)

    def run(*inputs: Any) -> Any:
        found = signature(**dict(zip(names, inputs, strict=True)))
        tensors = tuple(found[n] for n in sorted(found, key=_number))
        return tensors[0] if len(tensors) == 1 else tensors

    run.loaded = loaded  # type: ignore[attr-defined]  # the signature does not own its variables
    return run


def write_keras(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    if not isinstance(model, tf.keras.Model):
        raise SaveError(
            _(
                "Expected a Keras model for the format 'keras', received a {kind}; "
                "save it with format='savedmodel'."
            ).format(kind=type(model).__name__)
        )
    with _quiet():
        model.save(folder / KERAS)
    return Written(tuple(f"input_{i}" if len(inputs) > 1 else "x" for i in range(len(inputs))))


def read_keras(folder: Path, options: dict[str, Any], into: Any) -> Any:
    """The Keras model, read in safe mode: no lambdas, and custom classes only if registered."""
    with _quiet():
        return tf.keras.models.load_model(folder / KERAS, safe_mode=True, compile=False)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what Keras does that a NumPy newer than itself has come to warn of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


FORMATS = {
    "savedmodel": Format(
        write_saved_model,
        read_saved_model,
        ("tensorflow",),
        risk=N_(
            "It holds a graph whose operations can read and write files when it loads or runs."
        ),
        native="savedmodel.c",
    ),
    "keras": Format(
        write_keras,
        read_keras,
        ("tensorflow", "keras"),
        risk=N_("Its configuration names Python classes that loading calls."),
    ),
}
