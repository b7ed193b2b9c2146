"""What TensorFlow makes of a model: a trace, what it refuses, where it calls Python."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.core.arguments import name_of
from d2lhybrid.frameworks.failures import from_error, last_user_frame, quiet, require_runs
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.modules import eagerly, put_back, require_numbers
from d2lhybrid.frameworks.tensorflow.stages import stages_by_grappler, stages_by_xla
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, MissingNames, Recording
from d2lhybrid.graphs.graph import Graph

_VERSION = f"TensorFlow {tf.__version__}"
_INTO_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a function, module or Keras model once for these inputs, apart from its own traces.

    A graph of TensorFlow is always whole, so there are no graph breaks.
    """
    missing = MissingNames()
    entry = _entry(model)
    name, compilations = _name(model), 0
    if hasattr(entry, "experimental_get_tracing_count"):
        compilations = entry.experimental_get_tracing_count()
    trace = _traced(model, args, kwargs, missing)
    notes = missing.notes("TensorFlow")
    report = Explanation(_VERSION, name, compilations, graph_count=0, notes=notes)
    if isinstance(trace, Exception):
        refused = from_error(trace, private.rewritten_frames(trace))
        return replace(report, unsupported=(refused,))
    return replace(
        report,
        graph_count=1,
        fallbacks=tuple(_calls_into_python(trace.concrete.graph)),
        recording=Recording(partial(_graphs, name, trace, missing)),
    )


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a function, module or Keras model once, apart from its own traces, and run the graph.

    Compiled by XLA where the function says ``jit_compile=True``, else rewritten by Grappler, which
    does so only when the graph runs. What that writes to variables is put back.
    """
    missing = MissingNames()
    trace = _traced(model, args, kwargs, missing)
    return () if isinstance(trace, Exception) else _graphs(_name(model), trace, missing)


@dataclass(frozen=True)
class _Trace:
    """A trace of a model, which doesn't keep the model.

    ``variables``: those that the trace reads and writes, which have to live until it has run.
    ``run``: call it. ``compiler_ir``: what gives its HLO if XLA compiles it.
    """

    concrete: Any
    variables: tuple[Any, ...]
    run: Callable[[], object]
    compiler_ir: Callable[..., str] | None


def _entry(model: Any) -> Any:
    """The ``tf.function`` that a model is or is called by, or its method without one."""
    return model if hasattr(model, "get_concrete_function") else model.__call__


def _name(model: Any) -> str:
    is_function = _entry(model) is model
    return name_of(model.python_function if is_function else model)


def _traced(model: Any, args: Args, kwargs: Kwargs, missing: MissingNames) -> _Trace | Exception:
    """The trace of a model, by a function with its options and none of its traces, or a refusal.

    Raises:
        CallFailedError: the model cannot run without a graph either.
    """
    entry = _entry(model)
    is_by_xla, function, compiler_ir = False, tf.function(model), None
    if hasattr(entry, "experimental_get_tracing_count"):
        is_by_xla = missing.ask(lambda: private.is_by_xla(entry), False)
        alike = tf.function(entry.python_function, jit_compile=is_by_xla or None)
        function = missing.ask(lambda: private.copied(entry), alike)
    with quiet():
        try:
            concrete = function.get_concrete_function(*args, **kwargs)
            if is_by_xla:  # which says what it cannot have, and runs nothing
                require_numbers(concrete.inputs)
                compiler_ir = function.experimental_get_compiler_ir(*args, **kwargs)
                compiler_ir(stage="hlo")
        except Exception as error:
            with eagerly():
                require_runs(name_of(model), lambda: model(*args, **kwargs))
            return error
    run = partial(concrete, *args, **kwargs)
    return _Trace(concrete, tuple(concrete.variables), run, compiler_ir)


def _calls_into_python(graph: Any) -> Iterator[Finding]:
    """The operations that call back into Python, in the graph and in its branches."""
    for operation in graph.get_operations():
        if operation.type in _INTO_PYTHON:
            frames = [(frame.filename, frame.lineno) for frame in operation.traceback or ()]
            yield Finding(operation.type, *last_user_frame(frames))
    for branch in graph.as_graph_def().library.function:
        for node in branch.node_def:
            if node.op in _INTO_PYTHON:
                yield Finding(f"{node.op} ({branch.signature.name})")


def _graphs(name: str, trace: _Trace, missing: MissingNames) -> tuple[Graph, ...]:
    with quiet():
        if trace.compiler_ir:
            stages = stages_by_xla(trace.concrete, trace.compiler_ir)
        else:
            with put_back(trace.variables):
                stages = stages_by_grappler(trace.concrete, trace.run, missing)
    return (Graph(_VERSION, name, stages, missing.notes("TensorFlow")),)
