"""The format that TensorFlow writes and reads."""

import gc
from dataclasses import replace
from pathlib import Path
from typing import Any

from d2lhybrid.backends.formats import ExampleCall, Format, NativeProgram, Option, Options
from d2lhybrid.core.i18n import noop as N_

SIGNATURE = "serving_default"


class SavedModel(Format):
    """A graph with one signature, whose names are those of the inputs and the outputs."""

    name = "savedmodel"
    risk = N_("It holds a graph whose operations can read and write files when it loads or runs.")
    takes_arrays = True
    native = NativeProgram(
        "savedmodel.c", "tensorflow",
        "-I{0}/include -L{0} -Wl,-rpath,{0} -l:libtensorflow_cc.so.2 "
        "-l:libtensorflow_framework.so.2",
        "saved_model",
    )  # fmt: skip

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        import tensorflow as tf

        traced = _traced(example)
        owner = tf.Module()  # what the function uses must hang on an owner, or it is not saved
        owner.variables_used = list(traced.variables)
        captured = {id(tensor) for tensor in traced.captured_inputs}
        resource = tf.saved_model.experimental.TrackableResource  # such as tables of words
        resources = [obj for obj in gc.get_objects() if issubclass(type(obj), resource)]
        owner.tables_used = [table for table in resources if id(table.resource_handle) in captured]
        inputs, outputs = example.input_names, example.output_names
        # A signature returns a flat dictionary.
        wrapped = tf.function(
            lambda *args: dict(zip(outputs, traced(*args), strict=True)),
            input_signature=_specs(example, inputs),
            autograph=False,
        ).get_concrete_function()
        target = folder / "saved_model"
        tf.saved_model.save(owner, str(target), signatures={SIGNATURE: wrapped})
        tensors = _tensors(target, inputs, outputs)
        return {"inputs": tuple(inputs), "outputs": tuple(outputs), "tensors": tensors}

    def read(self, folder: Path, options: Options) -> Any:
        import tensorflow as tf

        loaded = tf.saved_model.load(str(folder / "saved_model"))
        signature = loaded.signatures[SIGNATURE]
        inputs, outputs = options["inputs"], options["outputs"]

        def run(*tensors: Any) -> Any:
            result = signature(**dict(zip(inputs, tensors, strict=True)))
            return tuple(result[name] for name in outputs)

        run.loaded = loaded  # type: ignore[attr-defined]  # the signature does not own its variables
        return run

    def function(self, model: Any) -> Any:
        return getattr(model, "python_function", None) or getattr(model, "call", model)


def _traced(example: ExampleCall) -> Any:
    """A traced function of flat tensors that returns flat ones."""
    import tensorflow as tf

    from d2lhybrid.backends.state import kept_attributes
    from d2lhybrid.backends.tensorflow.modules import inference
    from d2lhybrid.backends.tensorflow.private import autographed

    model = example.model
    if not isinstance(model, tf.types.experimental.Callable):  # AutoGraph is for the user's code
        model = autographed(inference(model))
    function = tf.function(replace(example, model=model).flat, autograph=False)
    with kept_attributes(example.model):
        return function.get_concrete_function(*_specs(example, [None] * len(example.inputs)))


def _specs(example: ExampleCall, names: list[Any]) -> list[Any]:
    """The inputs as TensorFlow describes them, with what may vary left open."""
    import tensorflow as tf

    shapes = [
        [None if axis in axes else size for axis, size in enumerate(tensor.shape)]
        for tensor, axes in zip(example.inputs, example.dynamic_dims, strict=True)
    ]
    dtypes = [tensor.dtype for tensor in example.inputs]
    return list(map(tf.TensorSpec, shapes, dtypes, names))


def _tensors(target: Path, inputs: list[str], outputs: list[str]) -> tuple[str, ...]:
    """Names of the signature's tensors, in call order: the C API knows tensors by these names."""
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel as Message

    proto = Message.FromString((target / "saved_model.pb").read_bytes())
    signature = proto.meta_graphs[0].signature_def[SIGNATURE]
    sides = (signature.inputs, inputs), (signature.outputs, outputs)
    return tuple(side[name].name for side, names in sides for name in names)


FORMATS: dict[str, Format] = {SavedModel.name: SavedModel()}
