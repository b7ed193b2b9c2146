"""The formats that TensorFlow writes and reads."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from d2lhybrid.errors import SaveError
from d2lhybrid.frameworks.formats import Format, NativeProgram, Options, Sign, Written
from d2lhybrid.frameworks.samples import Group, Sample, free_axes, held_by
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.quieting import silent
from d2lhybrid.structure import leaves

SIGNATURE = "serving_default"
# What Keras does that a NumPy newer than itself has come to warn of.
_silent = partial(silent, category=DeprecationWarning)
# Operations that reach outside the graph, but for saving and restoring.
_OPS = (
    rb"[\n\x12].(WriteFile|ReadFile|PyFunc|EagerPyFunc|PyFuncStateless|MatchingFiles)"
    rb"(?![A-Za-z0-9_])"
)


def default_format(model: Any) -> str:
    return "savedmodel"


class TensorFlowFormat(Format):
    """What both formats share."""

    converts = True

    def function(self, model: Any) -> Any:
        return getattr(model, "python_function", None) or getattr(model, "call", model)

    def restorer(self, part: Any) -> Callable[[], None] | None:
        """All variables: a counter of ``tf.Variable`` is as trainable as a weight."""
        import tensorflow as tf

        held = [part] if _is_variable(part) else getattr(part, "variables", None)
        if not isinstance(held, (list, tuple)):  # whatever else has an attribute of that name
            return None
        # Each shares its variable's memory until the variable is written to.
        kept = [(v, tf.convert_to_tensor(v)) for v in held if _is_variable(v)]

        def restore() -> None:
            for variable, value in kept:
                variable.assign(value)

        return restore


def _is_variable(value: Any) -> bool:
    """Is it a variable of TensorFlow or of Keras?"""
    return not isinstance(value, type) and hasattr(value, "assign") and hasattr(value, "numpy")


class SavedModel(TensorFlowFormat):
    """A graph with one signature, whose names are those of the inputs and the outputs."""

    name = "savedmodel"
    packages = ("tensorflow",)
    risk = N_("It holds a graph whose operations can read and write files when it loads or runs.")
    file = "saved_model"
    signs = (Sign(".pb", _OPS, N_("graph operation {name}")),)
    native = NativeProgram(
        "savedmodel.c", "tensorflow",
        "-I{0}/include -L{0} -Wl,-rpath,{0} -l:libtensorflow_cc.so.2 "
        "-l:libtensorflow_framework.so.2",
        "saved_model",
    )  # fmt: skip

    def write(self, sample: Sample, folder: Path) -> Written:
        import tensorflow as tf

        traced, groups = _concrete(sample)
        owner = tf.Module()  # what the function uses must hang on an owner, or it is not saved
        owner.variables_used = list(traced.variables)
        owner.held = [part for one in held_by(sample.model) for part in _trackable(one)]
        inputs, outputs = (_named(names) for names in (sample.names, sample.outputs))
        free = free_axes(groups, len(sample.inputs))
        specs = [_spec(t, f, n) for t, f, n in zip(sample.inputs, free, inputs, strict=True)]
        # A signature returns a flat dictionary.
        wrapped = tf.function(
            lambda *args: dict(zip(outputs, traced(*args), strict=True)),
            input_signature=specs,
            autograph=False,
        ).get_concrete_function()
        target = folder / self.file
        tf.saved_model.save(owner, str(target), signatures={SIGNATURE: wrapped})
        options = {"inputs": inputs, "outputs": outputs}
        return Written({**options, "tensors": _tensors(target, inputs, outputs)}, groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        import tensorflow as tf

        loaded = tf.saved_model.load(str(folder / self.file))
        signature = loaded.signatures[SIGNATURE]
        inputs, outputs = options["inputs"], options["outputs"]

        def run(*given: Any) -> Any:
            found = signature(**dict(zip(inputs, given, strict=True)))
            tensors = tuple(found[name] for name in outputs)
            return tensors[0] if len(tensors) == 1 else tensors

        run.loaded = loaded  # type: ignore[attr-defined]  # the signature does not own its variables
        return run


def _concrete(sample: Sample) -> tuple[Any, list[Group]]:
    """A traced function of flat tensors that returns flat ones, and which groups of axes vary."""
    import tensorflow as tf

    from d2lhybrid.frameworks.tensorflow.tensors import inference

    model = sample.model
    if hasattr(model, "structured_input_signature"):  # already traced, and kept as it is
        return _traced(sample)
    compiled = hasattr(model, "get_concrete_function")
    if not compiled:  # AutoGraph is for the user's code alone, not for ours around it
        autograph = tf.__internal__.autograph
        model = autograph.tf_convert(inference(model), autograph.control_status_ctx())
    xla = getattr(sample.model, "jit_compile", None) is True
    function = tf.function(replace(sample, model=model).flat, autograph=False, jit_compile=xla)

    def trace(groups: list[Group]) -> Any:
        free = free_axes(groups, len(sample.inputs))
        specs = [_spec(t, f, None) for t, f in zip(sample.inputs, free, strict=True)]
        return function.get_concrete_function(*specs)

    return sample.built(trace)


def _traced(sample: Sample) -> tuple[Any, list[Group]]:
    function = sample.model
    specs = [s for _p, s in leaves(function.structured_input_signature) if hasattr(s, "shape")]

    def run(*given: Any) -> tuple[Any, ...]:
        args, kwargs = sample.takes.filled(given)
        return tuple(t for _p, t in leaves(function(*args, **kwargs)) if t is not None)

    def fits(group: Group) -> bool:
        return len(specs) == len(group) and all(
            spec.shape[axis] is None
            for spec, axes in zip(specs, group, strict=True)
            for axis in axes
        )

    run.variables = function.variables  # type: ignore[attr-defined]
    return run, [group for group in sample.groups if fits(group)]


def _trackable(value: Any) -> list[Any]:
    """What can hang on a module, as variables, tables and layers do; of a model its layers."""
    import tensorflow as tf

    if isinstance(value, tf.keras.Model):  # it would trace itself, with its first argument alone
        layers = value._flatten_layers(include_self=False)
        return [layer for layer in layers if not isinstance(layer, tf.keras.Model)]
    compiled = hasattr(value, "get_concrete_function")
    return [value] if hasattr(value, "_trackable_children") and not compiled else []


def _spec(tensor: Any, free: set[int], name: str | None) -> Any:
    import tensorflow as tf

    shape = [None if axis in free else size for axis, size in enumerate(tensor.shape)]
    return tf.TensorSpec(shape, tensor.dtype, name)


def _named(names: list[str]) -> list[str]:
    """Names as TensorFlow takes them."""
    return [name if re.match("[A-Za-z]", name) else f"t{name}" for name in names]


def _tensors(target: Path, inputs: list[str], outputs: list[str]) -> list[str]:
    """Names of the signature's tensors, in call order: the C API knows tensors by these names."""
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as Message

    proto = Message()
    proto.ParseFromString((target / "saved_model.pb").read_bytes())
    signature = proto.meta_graphs[0].signature_def[SIGNATURE]
    return [
        *(signature.inputs[n].name for n in inputs),
        *(signature.outputs[n].name for n in outputs),
    ]


class KerasFile(TensorFlowFormat):
    """What Keras itself writes, with the layers' configuration."""

    name = "keras"
    packages = ("tensorflow", "keras")
    risk = N_("Its configuration names Python classes that loading calls.")
    file = "model.keras"
    archive = True
    structured = True
    signs = (Sign("config.json", b"Lambda", N_("a lambda")),)

    def may_hold(self, model: Any) -> bool:
        import tensorflow as tf

        return isinstance(model, tf.keras.Model)

    def write(self, sample: Sample, folder: Path) -> Written:

        if not self.may_hold(sample.model):
            raise SaveError(
                _("Expected a Keras model for the format 'keras', received a {kind}."),
                kind=type(sample.model).__name__,
            )
        with _silent():
            sample.model.save(folder / self.file)
        return Written({}, sample.groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        """The Keras model, read in safe mode: no lambdas, and custom classes only if registered."""
        import tensorflow as tf

        with _silent():
            return tf.keras.models.load_model(folder / self.file, safe_mode=True, compile=False)


FORMATS: dict[str, Format] = {one.name: one for one in (SavedModel(), KerasFile())}
