"""Every private name of TensorFlow and Keras that this folder uses.

Each is looked up when it is needed. If TensorFlow has removed one, its function raises
AttributeError or ImportError, which ``explain`` and ``graph`` turn into a note, or returns what is
said beside it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from threading import RLock, get_ident
from typing import Any

import tensorflow as tf

_FUNCTIONS = "tensorflow.python.eager.polymorphic_function"
_replacing = RLock()


def _context() -> Any:
    return import_module("tensorflow.python.eager.context")


def is_started() -> bool:
    """Has TensorFlow set up its devices? Asking for them would do it now. Yes if unknown."""
    try:
        return bool(_context().context()._initialized)
    except (AttributeError, ImportError):
        return True


def is_by_xla(function: Any) -> bool:
    """Does XLA compile this ``tf.function``?"""
    return function._jit_compile is True


def copied(function: Any) -> Any:
    """A ``tf.function`` with the options of this one, and none of its traces."""
    return function._clone(None)


def optimized(optimizer: Any) -> list[Any]:
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


def collected(run: Callable[[], object]) -> list[Any]:
    """The graphs of the functions that run in `run`, before and after Grappler."""
    with graph_collection() as graphs:
        run()
    return graphs


def autographed(function: Any) -> Any:
    """The function as AutoGraph rewrites its control flow; as it is if TensorFlow can't do that."""
    autograph: Any = getattr(getattr(tf, "__internal__", None), "autograph", None)
    convert = getattr(autograph, "tf_convert", None)
    return convert(function, autograph.control_status_ctx()) if convert else function


def layers(model: Any) -> list[Any]:
    """The layers in a model of Keras, however deep; if Keras doesn't tell, those at its top."""
    flatten = getattr(model, "_flatten_layers", None)
    return list(flatten() if flatten else getattr(model, "layers", ()))


def trace_callbacks() -> list[Callable[[Any], object]] | None:
    """What TensorFlow calls with each trace that it has made; None if there is no such list."""
    try:
        transform: Any = import_module(f"{_FUNCTIONS}.transform")
        callbacks: list[Callable[[Any], object]] = transform.CONCRETE_FUNCTION_CALLBACKS
        return callbacks
    except (AttributeError, ImportError):
        return None


def compiler_ir(concrete: Any, inputs: list[Any]) -> Callable[..., str]:
    """What gives the HLO of a trace that XLA compiles, for inputs of these types."""
    specs = [tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in inputs]
    module: Any = import_module(f"{_FUNCTIONS}.compiler_ir")
    ir: Callable[..., str] = module.from_concrete_function(concrete, specs)
    return ir


def is_internal(trace: Any) -> bool:
    """Does TensorFlow make it for itself?"""
    return is_of_data(trace) or trace.graph.name == "initialize_variables"


def is_of_data(trace: Any) -> bool:
    """Is it of tf.data, which runs it without calling it? ``predict`` makes some in each call."""
    return "_tf_data_function" in trace.function_def.attr


@contextmanager
def compiled_calls() -> Iterator[list[tuple[Any, tuple[Any, ...], Mapping[str, Any]]]]:
    """The calls of compiled functions in the block, without those inside them: with arguments.

    TensorFlow calls each kind by one method, which this replaces meanwhile. If TensorFlow has
    another, none is seen.
    """
    calls: list[tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = []
    depth = 0

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def run(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if not depth:
                calls.append((function, args, kwargs))
            depth += 1
            try:
                return method(function, *args, **kwargs)
            finally:
                depth -= 1

        return run

    with (
        _replaced("polymorphic_function", "Function", "__call__", noted),
        _replaced("concrete_function", "ConcreteFunction", "__call__", noted),
    ):
        yield calls


@contextmanager
def apart() -> Iterator[None]:
    """Let this thread call, in the block, a copy of each ``tf.function``, with its own traces.

    Each function has one copy as long as the block runs. The copies have no traces to begin with.
    If TensorFlow calls functions by another method, or can't copy one, the function is called.
    """
    thread = get_ident()
    copies: dict[int, tuple[Any, Any]] = {}  # by id, with the function, whose id stays its own then

    def redirected(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)  # AutoGraph would rewrite a function of any other module
        def run(function: Any, /, *args: Any, **kwargs: Any) -> Any:
            if get_ident() != thread:
                return method(function, *args, **kwargs)
            if id(function) not in copies:
                copy = copied(function) if hasattr(function, "_clone") else function
                copies[id(function)] = function, copy
            return method(copies[id(function)][1], *args, **kwargs)

        return run

    with _replaced("polymorphic_function", "Function", "__call__", redirected):
        yield


@contextmanager
def noted_traces_called(note: Callable[[Any, list[Any]], object]) -> Iterator[None]:
    """Call `note` with each trace that is called in the block, and its tensors.

    TensorFlow calls them by one method, which this replaces meanwhile. If it has another, none is
    seen.
    """

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def run(function: Any, tensors: list[Any], *args: Any, **kwargs: Any) -> Any:
            note(function, tensors)
            return method(function, tensors, *args, **kwargs)

        return run

    with _replaced("concrete_function", "ConcreteFunction", "_call_flat", noted):
        yield


@contextmanager
def _replaced(
    module: str, kind: str, name: str, made_of: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Iterator[None]:
    """Another method of a class of TensorFlow in the block, made of the one that it has.

    One thread at a time, because the last to leave would put back the method of another.
    """
    try:
        owner = getattr(import_module(f"{_FUNCTIONS}.{module}"), kind)
        getattr(owner, name)
    except (AttributeError, ImportError):
        yield
        return
    with _replacing:
        method = getattr(owner, name)
        try:
            setattr(owner, name, made_of(method))
            yield
        finally:
            setattr(owner, name, method)
