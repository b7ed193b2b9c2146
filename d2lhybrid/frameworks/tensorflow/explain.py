"""What TensorFlow makes of a model: a trace, what it refuses, what Grappler or XLA leaves."""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from graphlib import TopologicalSorter
from typing import Any

import tensorflow as tf

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.display.graph_svg import Node, Part, Stage
from d2lhybrid.frameworks.failures import from_error, last_user_frame, quiet, require_runs
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.modules import eagerly, put_back, require_numbers
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, Graph, Graphs, Missing
from d2lhybrid.graphs.fates import content, judged
from d2lhybrid.graphs.hlo import ARRANGING, kinds, read, whole_of

_VERSION = f"TensorFlow {tf.__version__}"
_INTO_PYTHON = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_INPUTS = {"Placeholder", "_Arg", "_DeviceArg"}
_RESULTS = {"_Retval", "_DeviceRetval"}
_NOTHING = _RESULTS | {"NoOp"}  # which runs nothing
_READS = {"ReadVariableOp", "VarHandleOp"}  # to read what is stored changes nothing
_ARRANGING = ARRANGING | {"ExpandDims", "Identity", "IdentityN", "ReadVariableOp"}
_ARRANGING |= {"Reshape", "Snapshot", "Squeeze", "StopGradient", "Transpose"}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Trace a function, module or Keras model once for these inputs, apart from its own traces.

    A graph of TensorFlow is always whole, so there are no graph breaks.
    """
    own = _Traced(model, args, kwargs)
    notes = own.missing.notes("TensorFlow")
    report = Explanation(_VERSION, own.name, own.compilations, graphs=0, notes=notes)
    if own.error:
        refused = from_error(own.error, private.rewritten_frames(own.error))
        return replace(report, unsupported=(refused,))
    fallbacks = tuple(_calls_into_python(own.concrete.graph))
    return replace(report, graphs=Graphs(1, lambda: _made(own, args, kwargs)), fallbacks=fallbacks)


class _Traced:
    """A model traced for its arguments, by a function with its options and none of its traces.

    `concrete` is the trace, or `error` what refused it.

    Raises:
        CallFailedError: the model cannot run without a graph either.
    """

    def __init__(self, model: Any, args: Args, kwargs: Kwargs) -> None:
        entry = model if hasattr(model, "get_concrete_function") else model.__call__
        self.missing = Missing()
        self.name = name_of(entry.python_function if entry is model else model)
        self.compilations, self.by_xla, self.function = 0, False, tf.function(model)
        if hasattr(entry, "experimental_get_tracing_count"):
            self.compilations = entry.experimental_get_tracing_count()
            self.by_xla = self.missing.ask(lambda: private.is_by_xla(entry), False)
            alike = tf.function(entry.python_function, jit_compile=self.by_xla or None)
            self.function = self.missing.ask(lambda: private.copied(entry), alike)
        self.concrete: Any = None
        self.error: Exception | None = None
        with quiet():
            try:
                self.concrete = self.function.get_concrete_function(*args, **kwargs)
                if self.by_xla:  # which says what it cannot have, and runs nothing
                    require_numbers(self.concrete.inputs)
                    self.function.experimental_get_compiler_ir(*args, **kwargs)(stage="hlo")
            except Exception as error:
                self.error = error
                with eagerly():
                    require_runs(name_of(model), lambda: model(*args, **kwargs))


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


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a function, module or Keras model once, apart from its own traces, and run the graph.

    Compiled by XLA where the function says ``jit_compile=True``, else rewritten by Grappler, which
    does so only when the graph runs. What that writes to variables is put back.
    """
    own = _Traced(model, args, kwargs)
    return () if own.error else _made(own, args, kwargs)


def _made(own: _Traced, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    results = [tensor.op.name for tensor in own.concrete.outputs]
    traced = _stage(_("traced"), own.concrete.graph.as_graph_def().node, results)
    stateful = [one for one in own.concrete.graph.get_operations() if one.op_def.is_stateful]
    effects = {operation.name for operation in stateful if operation.type not in _READS}
    made = tuple(replace(node, effect=node.name in effects) for node in traced.nodes)
    with quiet():
        if own.by_xla:
            text = own.function.experimental_get_compiler_ir(*args, **kwargs)
            names = {node.name for node in traced.operations}
            handed = kinds(text(stage="hlo"), names)
            made = tuple(replace(node, kinds=handed.get(node.name)) for node in made)
            left = [read(_("as XLA leaves it"), text(stage="optimized_hlo"), names)]
        else:
            run = partial(own.concrete, *args, **kwargs)
            with put_back(own.concrete.variables):
                left = own.missing.ask(lambda: _rewritten(traced, run), [])
    notes = own.missing.notes("TensorFlow")
    stages = judged([replace(traced, nodes=made), *left], _ARRANGING)
    return (Graph(_VERSION, own.name, stages, notes),)


def _rewritten(traced: Stage, run: Callable[[], object]) -> list[Stage]:
    """The graph that ran, of those that TensorFlow collects meanwhile."""
    collected = private.collected(run)
    names = {node.name for node in traced.nodes}

    def shared(one: Any) -> int:
        return len(names & {node.name for node in one.pre_optimization_graph.node})

    nodes = max(collected, key=shared).post_optimization_graph.node
    outputs = [_name(node.input[0]) for node in nodes if node.op in _RESULTS]
    return [_stage(_("after Grappler"), nodes, outputs, names)]


def _stage(title: str, nodes: Any, outputs: list[str], before: Collection[str] = ()) -> Stage:
    """The nodes of a GraphDef; with the names of those before, which of them each computes."""
    by_name = {node.name: node for node in nodes if node.op not in _NOTHING}
    # A loop of the older kind runs in a circle, closed by NextIteration.
    known = {name for name, node in by_name.items() if node.op != "NextIteration"}
    inputs = {name: map(_name, node.input) for name, node in by_name.items()}
    sources = {name: tuple(filter(known.__contains__, names)) for name, names in inputs.items()}
    made = []
    for name in TopologicalSorter(sources).static_order():
        node = by_name[name]
        operation = "" if node.op == "Const" or node.op in _INPUTS else node.op
        origins = _origins(name, before)
        parts = tuple(_parts(node, origins))
        made.append(Node(name, operation, sources[name], _key(node), origins, parts))
    return Stage(title, tuple(made), tuple(outputs))


def _parts(node: Any, origins: frozenset[str]) -> Iterator[Part]:
    """What a fused operation, such as _FusedMatMul, computes; it has the name of the last."""
    if "fused_ops" in node.attr:
        *others, last = (word.decode() for word in node.attr["fused_ops"].list.s)
        for kind in (re.sub("^_.*Fused", "", node.op), *others):
            yield Part(kind)
        yield Part(last, origins)


def _origins(name: str, before: Collection[str]) -> frozenset[str]:
    """Grappler keeps a name, or puts what it did in front of it: ArithmeticOptimizer/..._add_1.

    What was lowered, such as a loop, has the name of the whole in front.
    """
    ends = (one for one in before if name.endswith(("_" + one, "/" + one)))
    found = whole_of(name, before) or [*ends]
    return frozenset({max(found, key=len)} if found else ())


def _name(source: str) -> str:
    """'MatMul' of 'MatMul:product:0', or of '^MatMul', which is only waited for."""
    return source.partition(":")[0].removeprefix("^")


def _key(node: Any) -> str:
    """All that distinguishes the operation, without where it was written down."""
    if node.op in _INPUTS:
        return ""
    if node.op == "Const":
        return content(tf.make_ndarray(node.attr["value"].tensor))
    kept = {key: str(value) for key, value in node.attr.items() if not key.startswith("_")}
    outputs = [re.sub(r"^[^:]*", "", source) for source in node.input]
    return f"{sorted(kept.items())} {outputs}"
