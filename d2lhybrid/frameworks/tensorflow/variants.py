"""The ways to run a model that TensorFlow offers."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Lazy,
    Variant,
    chain,
    require_options,
)
from d2lhybrid.frameworks.tensorflow.layers import parts
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.quieting import silent
from d2lhybrid.structure import leaves

_RUN = "y = fast(x)"
_CONCRETE = "fast = tf.function(net{}).get_concrete_function(tf.TensorSpec(x.shape, x.dtype))\n"
# XLA computes with numbers alone; handed strings twice, it ends the process.
_NUMBERS = N_("XLA computes with numbers alone, and this model has {dtype}")


def variants(
    net: Function, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here."""
    require_options("tf.function", options, ("dynamic",))
    free = options.get("dynamic")
    eager = _eager(net)

    def function(xla: bool) -> Any:
        def forward(*given: Any, **named: Any) -> Any:  # a new one, with no trace of another's
            return net(*given, **named)

        return tf.function(forward, jit_compile=xla or None, reduce_retracing=free)

    def concrete(xla: bool) -> Function:
        given, named = _specs((args, kwargs), free=bool(free))
        return function(xla).get_concrete_function(*given, **named)

    def by_xla(build: Callable[[bool], Function]) -> Function | str:
        reason = refused_by_xla(args, kwargs)

        def checked() -> Function:
            reason = refused_by_xla(args, kwargs, concrete(False).graph)  # type: ignore[attr-defined]
            if reason:
                raise CannotBuildError(reason)
            return build(True)

        return reason or Lazy(checked)

    given = ", reduce_retracing=True" if free else ""
    xla = ", jit_compile=True"
    by_name = f"fast = tf.function(net{xla}{given})\n{_RUN}"
    found = {
        "eager": Variant(eager, "y = net(x)"),
        "tf.function": Variant(
            Lazy(lambda: function(False)), f"fast = tf.function(net{given})\n{_RUN}"
        ),
        "tf.function XLA": Variant(by_xla(function), by_name),
        "concrete function": Variant(Lazy(lambda: concrete(False)), _CONCRETE.format("") + _RUN),
        "concrete function XLA": Variant(by_xla(concrete), _CONCRETE.format(xla) + _RUN),
    }
    if isinstance(eager, str):  # a graph without Python code is called as it is
        found = {"concrete function": Variant(net, "y = net(x)"), "eager": Variant(eager)}
    return found | (_expert(net, args, kwargs, concrete) if everything else {})


def _eager(net: Any) -> Function | str:
    """The model without a graph, also where it or a part of it is a tf.function."""
    if hasattr(net, "structured_input_signature"):
        return N_("a concrete function keeps no Python code: hand over what it was made from")
    if not any(map(_holds_function, _parts(net))):
        return net

    def eager(*args: Any, **kwargs: Any) -> Any:
        with eagerly():
            return net(*args, **kwargs)

    return eager


def _parts(net: Any) -> Iterator[Any]:
    """The model and the modules or layers in it."""
    yield net
    yield from getattr(net, "submodules", ())
    for layer in getattr(net, "layers", ()):
        yield from _parts(layer)


def _holds_function(part: Any) -> bool:
    known = tf.types.experimental.PolymorphicFunction
    kinds = [vars(kind) for kind in type(part).__mro__ if not kind.__module__.startswith("keras.")]
    held = [value for attributes in kinds for value in attributes.values()]
    return any(isinstance(value, known) for value in (part, *held, *vars(part).values()))


@contextmanager
def eagerly() -> Iterator[None]:
    """Run every tf.function as Python code."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


def refused_by_xla(args: Args, kwargs: Kwargs, graph: Any = None) -> str:
    """Why XLA cannot have this model: what is no number in its arguments or in its graph."""
    dtypes = [leaf.dtype for _path, leaf in leaves((args, kwargs)) if tf.is_tensor(leaf)]
    if graph is not None:
        operations = graph.get_operations()
        dtypes += [t.dtype for operation in operations for t in operation.outputs]
        inner = graph.as_graph_def().library.function
        nodes = [node for branch in inner for node in branch.node_def]
        dtypes += [tf.as_dtype(a.type) for node in nodes for a in node.attr.values() if a.type]
    strings = any(dtype.base_dtype == tf.string for dtype in dtypes)
    return _(_NUMBERS).format(dtype="tf.string") if strings else ""


def _specs(values: Any, free: bool) -> Any:
    def spec(value: Any) -> Any:
        if not tf.is_tensor(value) or not hasattr(value, "shape"):
            return value
        if not isinstance(value, tf.Tensor | tf.Variable):
            return tf.type_spec_from_value(value)
        shape = [None] * value.shape.rank if free else value.shape
        return tf.TensorSpec(shape, value.dtype)

    return tf.nest.map_structure(spec, values)


def _expert(
    net: Any, args: Args, kwargs: Kwargs, concrete: Callable[[bool], Function]
) -> dict[str, Variant]:
    if getattr(net, "built", True) is False:
        net(*args, **kwargs)  # weights whose shapes were left open get them now
    layers = chain(parts(net))
    found = {"eager functions": Variant(N_("it is written for a chain of dense layers"))}
    if layers:
        names: dict[str, Any] = {"raw": tf.raw_ops}
        lines, body = ["raw = tf.raw_ops"], "x"
        for number, layer in enumerate(layers):
            names[f"w{number}"] = tf.constant(layer.weight)
            names[f"b{number}"] = tf.constant(layer.bias)
            product = f"raw.MatMul(a={body}, b=w{number})"
            body = f"raw.BiasAdd(value={product}, bias=b{number})"
            if layer.activation:
                operation, argument = _RAW[layer.activation]
                body = f"raw.{operation}({argument}={body})"
            lines.append(f"y = {body}")
            body = "y"
        source = "\n    ".join(lines[1:])
        exec(f"def functions(x):\n    {source}\n    return y", names)
        found["eager functions"] = Variant(names["functions"], "\n".join(lines))
    return found | {"tf.lite": _lite(net, args, kwargs, concrete)}


_RAW = {"relu": ("Relu", "features"), "sigmoid": ("Sigmoid", "x"), "tanh": ("Tanh", "x")}
_LITE = """traced = tf.function(net).get_concrete_function(tf.TensorSpec(x.shape, x.dtype))
program = tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert()
lite = tf.lite.Interpreter(model_content=program)
lite.allocate_tensors()
lite.set_tensor(lite.get_input_details()[0]["index"], x.numpy())
lite.invoke()
y = lite.get_tensor(lite.get_output_details()[0]["index"])"""


def _lite(net: Any, args: Args, kwargs: Kwargs, concrete: Callable[[bool], Function]) -> Variant:
    """TensorFlow Lite; its interpreter goes to a package of its own, and then takes its name."""
    if len(args) != 1 or kwargs or not tf.is_tensor(args[0]):
        return Variant(N_("it is written for a model with one input"), _LITE)
    if not hasattr(tf.lite, "Interpreter"):
        return Variant(N_("this version of TensorFlow has no tf.lite.Interpreter"), _LITE)

    def build() -> bytes:
        traced = concrete(False)
        if len(tf.nest.flatten(traced.structured_outputs)) != 1:  # type: ignore[attr-defined]
            raise CannotBuildError(_("tf.lite is written here for a model with one output"))
        # Given the model as well, it leaves the variables out of the program (TensorFlow 2.21): the
        # outputs are NaN. Without, it says through absl that it is told to give the model.
        with silent(logs=logging.WARNING):
            return bytes(tf.lite.TFLiteConverter.from_concrete_functions([traced]).convert())

    def load(program: bytes) -> Function:
        threads = tf.config.threading.get_intra_op_parallelism_threads() or None
        lite = tf.lite.Interpreter(model_content=program, num_threads=threads)
        lite.allocate_tensors()
        (given,), (found,) = lite.get_input_details(), lite.get_output_details()
        index, result = given["index"], found["index"]
        set_tensor, invoke, get_tensor = lite.set_tensor, lite.invoke, lite.get_tensor

        def run(x: Any) -> np.ndarray:
            set_tensor(index, x.numpy())
            invoke()
            return get_tensor(result)

        return run

    return Variant(Lazy(build, load), _LITE)
