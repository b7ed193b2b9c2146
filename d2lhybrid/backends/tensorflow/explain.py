"""What TensorFlow makes of a model: a trace, what it refuses, where it calls Python."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.failures import quiet, require_runs
from d2lhybrid.backends.tensorflow import modules, private
from d2lhybrid.backends.tensorflow.modules import (
    compiled_in,
    eagerly,
    entry as entry_of,
    is_compiled_itself,
    put_back,
    require_numbers,
    unchanged,
    users_run_eagerly,
)
from d2lhybrid.backends.tensorflow.stages import (
    CONTRACTIONS,
    CONTROL_FLOW,
    is_copy,
    stages_by_grappler,
    stages_by_xla,
)
from d2lhybrid.backends.traces import kept_attributes, leaving_attributes
from d2lhybrid.core.arguments import Args, Kwargs, name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import last_user_frame
from d2lhybrid.graphs import hlo
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    MissingNames,
    Recording,
    nothing_compiled,
)
from d2lhybrid.graphs.graph import Graph

VERSION = f"TensorFlow {tf.__version__}"
_INTO_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace what a call compiles once for these inputs, apart from the user's own traces.

    That is a function, module or Keras model, or, if it runs in Python and calls what is compiled,
    each of the calls that it makes. A graph of TensorFlow is always whole, so there are no graph
    breaks.
    """
    missing = MissingNames()
    label, compiled = name(model), compiled_in(model)
    compilations = sum(
        function.experimental_get_tracing_count() if _is_polymorphic(function) else 1
        for function in compiled
    )
    if users_run_eagerly() and any(map(_is_polymorphic, compiled)):
        because = nothing_compiled(_("tf.config.run_functions_eagerly(True) was called"))
        return Explanation(VERSION, label, compilations, graph_count=0, notes=(because,))
    traces = _traced(model, args, kwargs, missing)
    notes = missing.notes("TensorFlow")
    report = Explanation(VERSION, label, compilations, graph_count=0, notes=notes)
    if isinstance(traces, Exception):
        refused = Finding.of(traces, private.rewritten_frames(traces))
        return replace(report, unsupported=(refused,))
    if any(trace.is_called for trace in traces):
        text = _("{model} itself isn't compiled: it runs in Python and calls compiled functions.")
        notes = (text.format(model=label), *notes)
    return replace(
        report,
        graph_count=len(traces),
        fallbacks=tuple(found for trace in traces for found in calls_into_python(trace.concrete)),
        notes=notes,
        recording=Recording(partial(_graphs, traces, missing)),
    )


@dataclass(frozen=True)
class _Trace:
    """A trace of a model, or of a compiled function that it calls; it doesn't keep the model.

    ``is_called``: it is of a function that the model calls. ``variables``: those that the trace
    reads and writes, which have to live until it has run. ``run``: call it. ``compiler_ir``: what
    gives its HLO if XLA compiles it.
    """

    name: str
    is_called: bool
    concrete: Any
    variables: tuple[Any, ...]
    run: Callable[[], object]
    compiler_ir: Callable[..., str] | None


def _is_polymorphic(function: Any) -> bool:
    """Is it a ``tf.function``, which has several traces, and no single trace?"""
    return hasattr(function, "experimental_get_tracing_count")


def name(model: Any) -> str:
    """Of a model, a ``tf.function`` or a trace."""
    if isinstance(model, tf.types.experimental.ConcreteFunction):
        return str(model.graph.name)
    return name_of(model.python_function if entry_of(model) is model else model)


def _traced(
    model: Any, args: Args, kwargs: Kwargs, missing: MissingNames
) -> list[_Trace] | Exception:
    """The traces that a call takes, in its order, or the first refusal.

    Raises:
        CallFailedError: the model cannot run without a graph either.
    """
    in_python = compiled_in(model) and not is_compiled_itself(model)
    calls = _compiled_calls(model, args, kwargs) if in_python else []
    traces: list[_Trace] = []
    copies: dict[int, Any] = {}
    for function, its_args, its_kwargs in calls or [(model, args, kwargs)]:
        trace = _trace_of(function, its_args, its_kwargs, copies, missing)
        if isinstance(trace, Exception):
            with eagerly():
                require_runs(name_of(model), model, args, kwargs)
            return trace
        # A call of a trace that was called before has the same graph.
        earlier = (one for one in traces if one.concrete is trace.concrete)
        traces.append(next(earlier, replace(trace, is_called=bool(calls))))
    return traces


def _compiled_calls(model: Any, args: Args, kwargs: Kwargs) -> list[tuple[Any, Args, Kwargs]]:
    """The calls of compiled functions that a call of a model makes, of which it is none.

    They run as Python code meanwhile, so none of them is traced.
    """
    with unchanged(model, args, kwargs), quiet(), eagerly(), private.compiled_calls() as calls:
        require_runs(name_of(model), model, args, kwargs)
    return [(function, its_args, dict(its_kwargs)) for function, its_args, its_kwargs in calls]


def _trace_of(
    model: Any, args: Args, kwargs: Kwargs, copies: dict[int, Any], missing: MissingNames
) -> _Trace | Exception:
    """The trace of one call, by a function with the model's options and none of its traces.

    `copies` are these functions, by the id of the model. A trace that the user has taken by itself
    is its own. A function that it calls gets no trace by this either.
    """
    entry = entry_of(model)
    is_by_xla, compiler_ir = False, None
    if isinstance(entry, tf.types.experimental.Callable):
        is_by_xla = missing.ask(lambda: modules.is_by_xla(entry), False)
    with quiet(), private.apart(), kept_attributes(model):
        try:
            if isinstance(entry, tf.types.experimental.ConcreteFunction):
                concrete = entry
            else:
                if id(model) not in copies:
                    copies[id(model)] = _copied(model, is_by_xla, missing)
                concrete = copies[id(model)].get_concrete_function(*args, **kwargs)
            if is_by_xla:  # which says what it cannot have, and runs nothing
                require_numbers(concrete.inputs)
                if concrete is entry:
                    inputs = list(filter(tf.is_tensor, tf.nest.flatten((args, kwargs))))
                    get_ir = partial(private.compiler_ir, concrete, inputs)
                    compiler_ir = missing.ask(get_ir, None)
                else:
                    compiler_ir = copies[id(model)].experimental_get_compiler_ir(*args, **kwargs)
                if compiler_ir is not None:
                    compiler_ir(stage="hlo")
        except Exception as error:
            return error
    # Grappler rewrites a trace at its first run alone, and the user's may have run already. So it
    # runs in a new function, into which Grappler puts its operations.
    runs = tf.function(lambda *a, **k: concrete(*a, **k)) if concrete is entry else concrete
    run = partial(runs, *args, **kwargs)
    return _Trace(name(model), False, concrete, tuple(concrete.variables), run, compiler_ir)


def _copied(model: Any, is_by_xla: bool, missing: MissingNames) -> Any:
    """A function with the options of the one that a model is or is called by, and no traces."""
    entry = entry_of(model)
    if not _is_polymorphic(entry):
        return tf.function(leaving_attributes(model, model))
    alike = tf.function(entry.python_function, jit_compile=is_by_xla or None)
    return missing.ask(lambda: private.copied(entry), alike)


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


def _graphs(traces: list[_Trace], missing: MissingNames) -> tuple[Graph, ...]:
    """The graph of each trace; one that is called several times is compiled once."""
    by_trace = {id(trace): trace for trace in traces}
    graphs = {key: _graph(trace, missing) for key, trace in by_trace.items()}
    return tuple(graphs[id(trace)] for trace in traces)


def _graph(trace: _Trace, missing: MissingNames) -> Graph:
    collect = partial(private.collected, trace.run)
    with quiet(), put_back(trace.variables):
        return graph_of(trace.name, trace.concrete, trace.compiler_ir, collect, missing)


def graph_of(
    label: str,
    concrete: Any,
    compiler_ir: Callable[..., str] | None,
    collect: Callable[[], list[Any]],
    missing: MissingNames,
) -> Graph:
    """The graph of a trace: by XLA, whose HLO `compiler_ir` gives, or as ``stages_by_grappler``."""
    by_xla = compiler_ir is not None
    if compiler_ir is not None:
        stages = stages_by_xla(concrete, compiler_ir)
    else:
        stages = stages_by_grappler(concrete, collect, missing)
    return Graph(
        VERSION,
        label,
        stages,
        missing.notes("TensorFlow"),
        contractions=hlo.CONTRACTIONS if by_xla else CONTRACTIONS,
        control_flow=hlo.CONTROL_FLOW if by_xla else CONTROL_FLOW,
        copy_steps=sum(map(is_copy, stages[-1].operations)),
    )
