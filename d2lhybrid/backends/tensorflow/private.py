"""Every private name of TensorFlow and Keras that this folder uses.

Each is looked up when it is needed. Where TensorFlow may do without one, it is said beside it what
its function returns then; ``explain`` says it if none collects Grappler's graphs.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from importlib import import_module
from threading import get_ident
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.hooks import hooked, replaced

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"


def _context() -> Any:
    return import_module("tensorflow.python.eager.context")


def is_started() -> bool:
    """Has TensorFlow set up its devices? Asking for them would do it now. Yes if unknown."""
    try:
        return bool(_context().context()._initialized)
    except (AttributeError, ImportError):
        return True


def trained_weights(optimizer: Any) -> list[Any]:
    """The variables for which an optimizer of Keras was built; none if it wasn't, or if unknown."""
    return list(getattr(optimizer, "_trainable_variables", ()))


def rewritten_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The lines of the user's source, outermost first, if AutoGraph has rewritten it; else None."""
    frames = getattr(getattr(error, "ag_error_metadata", None), "translated_stack", None)
    return frames and [(frame.filename, frame.lineno) for frame in reversed(frames)]


@contextmanager
def graph_collection() -> Iterator[list[Any]]:
    """The graphs of the functions that run in the block, before and after Grappler, after it."""
    context = _context()
    # All three names are looked up first: without the last one, collecting would never end.
    begin, end = context.enable_graph_collection, context.disable_graph_collection
    export = context.export_run_metadata
    graphs: list[Any] = []
    begin()
    try:
        yield graphs
        graphs += export().function_graphs
    finally:
        end()


def autographed(function: Any) -> Any:
    """The function as AutoGraph rewrites its control flow."""
    autograph: Any = tf.__internal__.autograph
    return autograph.tf_convert(function, autograph.control_status_ctx())


def layers(model: Any) -> list[Any]:
    """The layers in a model of Keras, however deep; none of anything else."""
    return list(getattr(model, "_flatten_layers", tuple)())


def trace_callbacks() -> list[Callable[[Any], object]] | None:
    """What TensorFlow calls with each trace that it has made; None if there is no such list."""
    try:
        transform: Any = import_module(f"{_FUNCTIONS}.transform")
        callbacks: list[Callable[[Any], object]] = transform.CONCRETE_FUNCTION_CALLBACKS
        return callbacks
    except (AttributeError, ImportError):
        return None


def is_by_xla(trace: Any) -> bool:
    """Does XLA compile this trace?"""
    attributes = trace.function_def.attr  # which to look up by [] would change
    return "_XlaMustCompile" in attributes and bool(attributes["_XlaMustCompile"].b)


def compiler_ir(concrete: Any, specs: list[Any]) -> Callable[..., str]:
    """What gives the HLO of a trace that XLA compiles, for inputs of these types."""
    module: Any = import_module(f"{_FUNCTIONS}.compiler_ir")
    ir: Callable[..., str] = module.from_concrete_function(concrete, specs)
    return ir


def is_trace_of_user(trace: Any) -> bool:
    """Is it a trace by itself, no part of another, and none that TensorFlow makes for itself?

    One of tf.data is run without being called; ``predict`` makes some in each call.
    """
    is_of_data = "_tf_data_function" in trace.function_def.attr
    is_internal = is_of_data or trace.graph.name == "initialize_variables"
    return not tf.inside_function() and not is_internal


def apart() -> AbstractContextManager[None]:
    """Let this thread call, in the block, a copy of each ``tf.function``, with its own traces.

    Each function has one copy as long as the block runs. The copies have no traces to begin with.
    """
    owner: Any = import_module(f"{_FUNCTIONS}.polymorphic_function").Function
    thread = get_ident()
    copies: dict[int, tuple[Any, Any]] = {}  # by id, with the function, whose id stays its own then

    def calling_copies(original: Any) -> Any:
        @wraps(original)  # AutoGraph would rewrite a function of any other module
        def call(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            if get_ident() != thread:
                return original(function, *args, **kwargs)
            if id(function) not in copies:
                copies[id(function)] = function, function._clone(None)
            return original(copies[id(function)][1], *args, **kwargs)

        return call

    return replaced(owner, "__call__", calling_copies)


def noted_traces_called(note: Callable[[Any, list[Any]], object]) -> AbstractContextManager[None]:
    """Call `note` with each trace of the user's that this thread calls, and its tensors.

    TensorFlow calls them by one method. If it has another, none is seen.
    """

    def note_call(trace: Any, tensors: list[Any], *_captured: Any, **_by_name: Any) -> None:
        if is_trace_of_user(trace):
            note(trace, tensors)

    owner: Any = import_module(f"{_FUNCTIONS}.concrete_function").ConcreteFunction
    return hooked(owner, "_call_flat", note_call)
