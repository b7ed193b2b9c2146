"""What tf.function makes of a model: traces, calls back into Python, and what it refuses."""

import re
from collections.abc import Iterator
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
from d2lhybrid.frameworks.tensorflow.variants import eagerly, refused_by_xla
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed

_PYTHON_OPERATIONS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a function, module or Keras model once for these inputs, apart from its own traces.

    A graph of TensorFlow is always whole, so there are no graph breaks.
    """
    entry, function = twin(model)
    traced = hasattr(entry, "experimental_get_tracing_count")
    by_xla = getattr(entry, "_jit_compile", None) is True
    graphs = 0
    fallbacks: tuple[Finding, ...] = ()
    unsupported: tuple[Finding, ...] = ()
    with quiet():
        try:
            graph = function.get_concrete_function(*args, **kwargs).graph
            fallbacks = _calls_into_python(graph)
            if by_xla:
                require_xla(function, args, kwargs, graph)
            graphs = 1
        except Exception as error:
            with eagerly():
                require_runs(name_of(model), lambda: model(*args, **kwargs))
            unsupported = (from_error(error, _rewritten_frames(error)),)
    return Explanation(
        framework=f"TensorFlow {tf.__version__}",
        model=title(model, entry),
        compilations=entry.experimental_get_tracing_count() if traced else 0,
        graphs=graphs,
        fallbacks=fallbacks,
        unsupported=unsupported,
        notes=tuple(_xla_compilations(entry)) if by_xla else (),
    )


def twin(model: Any) -> tuple[Any, Any]:
    """What is called, and a function with its options, and none of its traces."""
    entry = model if hasattr(model, "get_concrete_function") else model.__call__
    traced = hasattr(entry, "experimental_get_tracing_count")
    return entry, entry._clone(None) if traced else tf.function(model)


def title(model: Any, entry: Any) -> str:
    """What to call a model, of which `entry` is what is called."""
    return name_of(entry.python_function if entry is model else model)


def require_xla(function: Any, args: Args, kwargs: Kwargs, graph: Any) -> None:
    """Raise what XLA says of a function that it cannot have; it runs nothing."""
    reason = refused_by_xla(args, kwargs, graph)
    if reason:
        raise CannotBuildError(reason)
    function.experimental_get_compiler_ir(*args, **kwargs)(stage="hlo")


def _xla_compilations(function: Any) -> Iterator[str]:
    """What counting traces does not tell: XLA compiles each anew for each shape that comes."""
    if not function.experimental_get_tracing_count():
        return
    signatures = function.pretty_printed_concrete_signatures(verbose=False).splitlines()
    given = [line.partition(" -> ")[0] for line in signatures]
    shapes = [", ".join(re.findall(r"shape=(\([^)]*\)|<unknown>)", line)) for line in given]
    free = [one for one in shapes if "None" in one or "unknown" in one]
    fixed = [one for one in shapes if one not in free]
    if fixed:
        text = _("XLA compiles once for each of the shapes {shapes}.")
        yield text.format(shapes=listed(fixed))
    if free:
        text = _(
            "XLA compiles once more for every new shape that fits {shapes}, without a new trace; "
            "TensorFlow does not count these compilations."
        )
        yield text.format(shapes=listed(free))


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
