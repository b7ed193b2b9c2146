"""What TensorFlow makes of a model: its traces, what it refuses, where it calls Python."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.failures import require_runs, without_logs
from d2lhybrid.backends.state import kept_attributes, leaving_attributes
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.backends.tensorflow.compiler import CalledTrace, traces_called
from d2lhybrid.backends.tensorflow.modules import compiled_in, eagerly, unchanged
from d2lhybrid.backends.tensorflow.stages import VERSION, RecordedTrace, graphs_of
from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import last_user_frame
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    MissingNames,
    Recording,
    calls_what_is_compiled,
    nothing_compiled,
)

_INTO_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Make a call once, in which everything is compiled anew, apart from the user's own traces.

    A model that calls nothing compiled is compiled as a whole. One that runs in Python and calls
    what is compiled takes a graph for each of these calls. A graph of TensorFlow is always whole,
    so there are no graph breaks.
    """
    label, compiled = name(model), compiled_in(model)
    functions = [one for one in compiled if not _is_trace(one)]
    traces = len(compiled) - len(functions)  # each compiled once
    compilations = sum(function.experimental_get_tracing_count() for function in functions)
    report = Explanation(VERSION, label, traces + compilations, graph_count=0)
    if functions and tf.config.functions_run_eagerly():
        because = nothing_compiled(_("tf.config.run_functions_eagerly(True) was called"))
        return replace(report, notes=(because,))
    missing = MissingNames()
    try:
        with unchanged(model, args, kwargs), kept_attributes(model), without_logs():
            recorded = _recorded(model, args, kwargs, compiled, missing) if compiled else []
            is_in_python = bool(recorded) and not _is_compiled_itself(model)
            if not recorded:
                whole = tf.function(leaving_attributes(model, model))
                recorded = _recorded(whole, args, kwargs, compiled, missing)
    except Exception as error:
        with eagerly():
            require_runs(name_of(model), model, args, kwargs)
        refused = Finding.of(error, private.rewritten_frames(error))
        return replace(report, unsupported=(refused,), notes=missing.notes("TensorFlow"))
    notes = incomplete = missing.notes("TensorFlow")
    if not is_in_python:  # TensorFlow calls the trace of an object "function"
        recorded = [replace(one, name=label) for one in recorded]
    else:
        notes = (calls_what_is_compiled(label), *notes)
    return replace(
        report,
        graph_count=len(recorded),
        fallbacks=tuple(found for one in recorded for found in calls_into_python(one.call.trace)),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded, incomplete)),
    )


def _is_trace(compiled: Any) -> bool:
    return isinstance(compiled, tf.types.experimental.ConcreteFunction)


def _is_compiled_itself(model: Any) -> bool:
    """Is each call of it a call of something compiled, with the same arguments?"""
    compiled = tf.types.experimental.Callable
    return isinstance(model, compiled) or isinstance(model.__call__, compiled)


def name(model: Any) -> str:
    """Of a model, a ``tf.function`` or a trace."""
    if _is_trace(model):
        return str(model.graph.name)
    is_function = isinstance(model, tf.types.experimental.Callable)
    return name_of(model.python_function if is_function else model)


def _recorded(
    function: Any, args: Args, kwargs: Kwargs, compiled: Sequence[Any], missing: MissingNames
) -> list[RecordedTrace]:
    """The traces that a call calls, in its order; `compiled` is what the user has compiled."""
    with private.apart(), ExitStack() as stack:
        collection = private.graph_collection()
        rewritten = missing.ask(lambda: stack.enter_context(collection), [])
        calls = stack.enter_context(traces_called())
        function(*args, **kwargs)

    def recorded(call: CalledTrace) -> RecordedTrace:
        may_have_run = any(call.trace is trace for trace in compiled)
        graphs = () if may_have_run else rewritten
        return RecordedTrace(name(call.trace), call, graphs, private.is_by_xla(call.trace))

    return list(map(recorded, calls))


def calls_into_python(concrete: Any) -> Iterator[Finding]:
    """The operations of a trace that call back into Python, in its graph and in its branches."""
    for operation in concrete.graph.get_operations():
        if operation.type in _INTO_PYTHON:
            frames = [(frame.filename, frame.lineno) for frame in operation.traceback or ()]
            yield Finding(operation.type, *last_user_frame(frames))
    for branch in concrete.graph.as_graph_def().library.function:
        for node in branch.node_def:
            if node.op in _INTO_PYTHON:
                yield Finding(f"{node.op} ({branch.signature.name})")
