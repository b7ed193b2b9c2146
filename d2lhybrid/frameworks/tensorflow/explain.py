"""What tf.function makes of a model: traces, calls back into Python, and what it refuses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from d2lhybrid.calls import name_of
from d2lhybrid.errors import CannotBuildError
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    from_error,
    last_user_frame,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.variants import eagerly, refused_by_xla

_INTO_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a function, module or Keras model once for these inputs, apart from its own traces.

    A graph of TensorFlow is always whole, so there are no graph breaks.
    """
    traced = trace(model, args, kwargs)
    error = traced.error
    return Explanation(
        framework=f"TensorFlow {tf.__version__}",
        model=traced.model,
        compilations=traced.compilations,
        graphs=int(error is None),
        fallbacks=tuple(_calls_into_python(traced.concrete.graph)) if traced.concrete else (),
        unsupported=(from_error(error, private.rewritten_frames(error)),) if error else (),
        notes=traced.notes,
    )


@dataclass
class Trace:
    """A trace of a model for its arguments; ``function`` makes such, with the model's options."""

    model: str
    function: Any
    compilations: int = 0  # of the model itself, before
    by_xla: bool = False
    notes: tuple[str, ...] = ()
    concrete: Any = None
    error: Exception | None = None


def trace(model: Any, args: Args, kwargs: Kwargs) -> Trace:
    """Trace a model once, apart from its own traces; ``error`` is what refused it.

    Raises:
        CallFailedError: it cannot run without a graph either.
    """
    entry = model if hasattr(model, "get_concrete_function") else model.__call__
    name = name_of(entry.python_function if entry is model else model)
    if hasattr(entry, "experimental_get_tracing_count"):
        by_xla, own = private.is_by_xla(entry), private.copied(entry)
        gone = [n for n, known in (("_jit_compile", by_xla), ("_clone", own)) if known is None]
        function = own or tf.function(entry.python_function, jit_compile=by_xla or None)
        notes = tuple(map(private.missing, gone))
        found = Trace(name, function, entry.experimental_get_tracing_count(), bool(by_xla), notes)
    else:
        found = Trace(name, tf.function(model))
    with quiet():
        try:
            found.concrete = found.function.get_concrete_function(*args, **kwargs)
            if found.by_xla:
                _require_xla(found, args, kwargs)
        except Exception as error:
            found.error = error
            with eagerly():
                require_runs(name_of(model), lambda: model(*args, **kwargs))
    return found


def _require_xla(traced: Trace, args: Args, kwargs: Kwargs) -> None:
    """Raise what XLA says of a function that it cannot have; it runs nothing."""
    reason = refused_by_xla(args, kwargs, traced.concrete.graph)
    if reason:
        raise CannotBuildError(reason)
    traced.function.experimental_get_compiler_ir(*args, **kwargs)(stage="hlo")


def _calls_into_python(graph: Any) -> Iterator[Finding]:
    """The operations that call back into Python, in the graph and in its branches."""
    for operation in graph.get_operations():
        if operation.type in _INTO_PYTHON:
            frames = [(f.filename, f.lineno) for f in operation.traceback or ()]
            yield Finding(operation.type, *last_user_frame(frames))
    for branch in graph.as_graph_def().library.function:
        for node in branch.node_def:
            if node.op in _INTO_PYTHON:
                yield Finding(f"{node.op} ({branch.signature.name})")
