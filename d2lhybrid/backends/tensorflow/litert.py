"""A model that TensorFlow's converter writes for LiteRT, another runtime, which runs on the CPU."""

import os
from importlib import import_module
from itertools import filterfalse
from typing import Any

import numpy as np
import tensorflow as tf

from d2lhybrid.backends.checks import ONLY_ON_CPU, ONLY_TENSORS, unlike_example
from d2lhybrid.backends.tensorflow import device
from d2lhybrid.backends.variant import DeferredBuild
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import ArgumentError, CannotBuildError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.output import quiet
from d2lhybrid.core.toolchain import why_not_installed


def why_missing() -> str:
    """Why LiteRT can't be used, with what installs it; empty if it can."""
    return why_not_installed(("ai_edge_litert",), "litert")


def threads() -> int:
    """As many threads as TensorFlow uses for an operation; LiteRT alone would use one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return device.thread_count() or cores or 1


def build(trace: Function, args: Args, kwargs: Kwargs) -> DeferredBuild:
    """What LiteRT makes of ``trace()``, called as the model is; it returns arrays of NumPy."""

    def convert() -> tuple[bytes, Any]:
        if any(device.is_accelerated(tensor) for tensor in tf.nest.flatten((args, kwargs))):
            raise CannotBuildError(_(ONLY_ON_CPU))
        traced = trace()
        # Of a model of Keras in its place, the converter leaves out the weights (TensorFlow 2.21).
        converter = tf.lite.TFLiteConverter.from_concrete_functions([traced], traced)
        return _converted(converter), traced.structured_outputs

    def load(converted: tuple[bytes, Any]) -> Function:
        content, structure = converted
        package: Any = import_module("ai_edge_litert.interpreter")
        with quiet():
            interpreter = package.Interpreter(model_content=content, num_threads=threads())
            interpreter.allocate_tensors()
        return _Model(interpreter, args, kwargs, structure)

    return DeferredBuild(convert, load)


def _converted(converter: Any) -> bytes:
    """The file that LiteRT runs; what the converter prints of an error is in the exception."""
    failure: Exception | None = None
    with quiet():
        try:
            content: bytes = converter.convert()
        except Exception as error:
            failure = error
    if failure is None:
        return content
    text = _("its converter doesn't accept this model: {reason}")
    raise CannotBuildError(text.format(reason=brief(failure))) from failure


class _Model:
    """An interpreter, called as the model is."""

    def __init__(self, interpreter: Any, args: Args, kwargs: Kwargs, structure: Any) -> None:
        """`args` and `kwargs` are those that it was converted for."""
        self._interpreter, self._structure = interpreter, structure
        self._args, self._kwargs = args, kwargs
        self._constants = [*filterfalse(is_input, _flat(args, kwargs))]
        self._inputs = [given["index"] for given in interpreter.get_input_details()]
        self._outputs = [result["index"] for result in interpreter.get_output_details()]
        if len(self._outputs) != len(tf.nest.flatten(structure)):
            raise CannotBuildError(_(ONLY_TENSORS))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        has_same_names = kwargs.keys() == self._kwargs.keys()
        leaves = _flat(args, kwargs) if has_same_names else []
        if not has_same_names or [*filterfalse(is_input, leaves)] != self._constants:
            example = self._args, self._kwargs
            raise ArgumentError(unlike_example(example, (args, kwargs)))
        for index, tensor in zip(self._inputs, filter(is_input, leaves), strict=True):
            self._interpreter.set_tensor(index, tensor)
        self._interpreter.invoke()
        arrays = [self._interpreter.get_tensor(index) for index in self._outputs]
        return tf.nest.pack_sequence_as(self._structure, arrays)


def _flat(args: Args, kwargs: Kwargs) -> list[Any]:
    """The leaves of the arguments, sorted by name as the inputs of a trace are."""
    leaves: list[Any] = tf.nest.flatten((args, kwargs))
    return leaves


def is_input(leaf: Any) -> bool:
    """Is it an input of the traced program? Python's own numbers are constants in it."""
    return device.is_tensor(leaf) or isinstance(leaf, np.ndarray)
