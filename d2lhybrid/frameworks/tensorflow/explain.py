"""What tf.function makes of a model: traces, calls back into Python, and what it refuses."""

from typing import Any

import tensorflow as tf

from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    from_error,
    last_user_frame,
    name_of,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.tensorflow.variants import eagerly
from d2lhybrid.i18n import gettext as _

_PYTHON_OPERATIONS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Explanation:
    """Trace a function, module or Keras model once for these inputs, apart from its own traces.

    A graph of TensorFlow is always whole, so there are no graph breaks.
    """
    entry = _entry(model)
    traced = hasattr(entry, "experimental_get_tracing_count")
    function, name = traced_anew(model)
    graphs = 0
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    with quiet():
        try:
            fallbacks = _calls_into_python(function.get_concrete_function(*args, **kwargs).graph)
            graphs = 1
        except Exception as error:
            with eagerly():
                require_runs(name_of(model), lambda: model(*args, **kwargs))
            unsupported = (from_error(error, _rewritten_frames(error)),)
    return Explanation(
        framework=f"TensorFlow {tf.__version__}",
        model=name,
        compilations=entry.experimental_get_tracing_count() if traced else 0,
        graphs=graphs,
        fallbacks=fallbacks,
        unsupported=unsupported,
        notes=_notes(entry, model),
    )


def traced_anew(model: Any, **options: Any) -> tuple[Any, str]:
    """The same function without the traces that it has, and the name of what it was made from."""
    entry = _entry(model)
    traced = hasattr(entry, "experimental_get_tracing_count")
    function = tf.function(
        entry.python_function if traced else model,
        input_signature=entry.input_signature if traced else None,
        **options,
    )
    return function, name_of(entry.python_function if entry is model else model)


def _entry(model: Any) -> Any:
    return model if hasattr(model, "get_concrete_function") else model.__call__


def _notes(entry: Any, model: Any) -> tuple[str, ...]:
    """What counting traces does not tell: XLA compiles anew for each shape, also within a trace."""
    by_xla = any(getattr(one, "_jit_compile", None) for one in (entry, model))
    if not by_xla and getattr(model, "jit_compile", None) is not True:
        return ()
    return (
        _(
            "XLA compiles once more for every new shape of the arguments, also where the function "
            "was traced only once, for any shape."
        ),
    )


def _rewritten_frames(error: Exception) -> list[tuple[str, int]] | None:
    """Return the frames of the source that AutoGraph rewrote, if it did, outermost first."""
    metadata = getattr(error, "ag_error_metadata", None)
    return metadata and [(f.filename, f.lineno) for f in reversed(metadata.translated_stack)]


def _calls_into_python(graph: Any) -> tuple[Finding, ...]:
    """Find the operations that call back into Python, in the graph and in its branches."""
    found = []
    for operation in graph.get_operations():
        if operation.type in _PYTHON_OPERATIONS:
            frames = [(f.filename, f.lineno) for f in operation.traceback or ()]
            found.append(Finding(operation.type, *last_user_frame(frames)))
    for branch in graph.as_graph_def().library.function:
        name = branch.signature.name
        inner = [node.op for node in branch.node_def if node.op in _PYTHON_OPERATIONS]
        found += [Finding(f"{operation} ({name})") for operation in inner]
    return tuple(found)
