"""The ways to run a model that TensorFlow offers."""

from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.call_code import passed, positional, variable
from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.state import leaving_attributes
from d2lhybrid.backends.tensorflow import litert
from d2lhybrid.backends.tensorflow.modules import MODULES, eager, require_numbers
from d2lhybrid.backends.variant import DeferredBuild, Variant, VariantsByName
from d2lhybrid.core.arguments import BY_POSITION, Args, Function, Kwargs, parameters_of
from d2lhybrid.core.i18n import noop as N_

# The code of each way by hand, with the arguments, and other options of tf.function.
_FUNCTION = "fast = tf.function(net{options})\ny = fast({passed})"
_CONCRETE = "fast = tf.function(net{options}).get_concrete_function({specs})\ny = fast({passed})"
_LITERT = """from ai_edge_litert.interpreter import Interpreter

trace = tf.function(net).get_concrete_function({specs})
converter = tf.lite.TFLiteConverter.from_concrete_functions([trace], trace)
fast = Interpreter(model_content=converter.convert(), num_threads={threads})
fast.allocate_tensors()
for given, tensor in zip(fast.get_input_details(), {tensors}):
    fast.set_tensor(given["index"], tensor)
fast.invoke()
y, *others = [fast.get_tensor(result["index"]) for result in fast.get_output_details()]"""


def variants(
    net: Any, args: Args, kwargs: Kwargs, include_expert: bool, compiler_options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here."""
    require_options("tf.function", compiler_options, ())
    written = _written(net, args, kwargs)
    direct = "y = net({passed})".format(**written)
    if hasattr(net, "structured_input_signature"):
        reason = N_("a concrete function keeps no Python code: pass what it was made from")
        return {"concrete function": Variant(net, direct), "eager": Variant(reason)}

    def function(by_xla: bool = False) -> Any:
        # A new one each time, because tf.function would take a known one's old trace.
        made = tf.function(leaving_attributes(net, net), jit_compile=by_xla or None)
        if by_xla:
            trace = made.get_concrete_function(*args, **kwargs)  # which a first call finds
            require_numbers(trace.inputs)
        return made

    def concrete(by_xla: bool = False) -> Any:
        return function(by_xla).get_concrete_function(*args, **kwargs)

    def way(build: Function, code: str, by_xla: bool = False) -> Variant:
        options = ", jit_compile=True" if by_xla else ""
        run = DeferredBuild(partial(build, by_xla))
        return Variant(run, code.format(options=options, **written))

    by_name = {
        "eager": Variant(eager(net), direct),
        "tf.function": way(function, _FUNCTION),
        "tf.function XLA": way(function, _FUNCTION, by_xla=True),
        "concrete function": way(concrete, _CONCRETE),
        "concrete function XLA": way(concrete, _CONCRETE, by_xla=True),
    }
    missing = litert.why_missing()
    if not missing or isinstance(net, MODULES):  # of a function only where it is installed
        run = missing or litert.build(concrete, args, kwargs)
        code = _LITERT.format(threads=litert.threads(), **written) if written["tensors"] else ""
        by_name["litert"] = Variant(run, code, role="runtime")
    return by_name


def _written(net: Any, args: Args, kwargs: Kwargs) -> dict[str, str]:
    """The arguments of a call as code; in `specs` as a trace takes them.

    The `tensors` are in the order of its inputs: as the model takes them by position, and then
    sorted by name.
    """
    names = positional(net, args, kwargs)
    by_position = [p.name for p in parameters_of(net) if p.kind in BY_POSITION]
    in_trace = [name for name in by_position if name in kwargs]
    in_trace += sorted(kwargs.keys() - in_trace)
    by_name = {name: variable(name) for name in in_trace}
    given_by_name = [kwargs[name] for name in in_trace]
    values = dict(zip([*names, *by_name.values()], [*args, *given_by_name], strict=True))
    tensors = [name for name, value in values.items() if litert.is_input(value)]
    specs = {name: f"tf.TensorSpec({name}.shape, {name}.dtype)" for name in tensors}
    inputs = f"[{', '.join(tensors)}]"
    leaves = {name: [*map(litert.is_input, tf.nest.flatten(values[name]))] for name in values}
    holding = [name for name in values if any(leaves[name])]
    if holding != tensors:  # some are inside of a list or a dict, perhaps beside something else
        is_flat = all(all(leaves[name]) for name in holding)
        inputs = f"tf.nest.flatten([{', '.join(holding)}]), strict=True" if is_flat else ""
    given = [specs.get(name, name) for name in names]
    given += [f"{name}={specs.get(value, value)}" for name, value in by_name.items()]
    return {
        "passed": passed(names, kwargs),
        "tensors": inputs,
        "specs": ", ".join(given),
    }
