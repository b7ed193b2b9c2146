"""A graph of TensorFlow on its way: traced, and rewritten by Grappler or compiled by XLA."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from graphlib import TopologicalSorter
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import quiet, require_runs
from d2lhybrid.frameworks.fates import content, judged
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.hlo import read
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.frameworks.tensorflow.explain import require_xla, title, twin
from d2lhybrid.frameworks.tensorflow.variants import eagerly
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.stages import Node, Stage

_INPUTS = {"Placeholder", "_Arg", "_DeviceArg"}
_RESULTS = {"_Retval", "_DeviceRetval"}


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a function, module or Keras model once, apart from its own traces, and run the graph.

    Compiled by XLA where the function says ``jit_compile=True``, else rewritten by Grappler.
    """
    entry, function = twin(model)
    by_xla = getattr(entry, "_jit_compile", None) is True
    with quiet():
        try:
            concrete = function.get_concrete_function(*args, **kwargs)
            if by_xla:
                require_xla(function, args, kwargs, concrete.graph)
        except Exception:
            with eagerly():
                require_runs(name_of(model), lambda: model(*args, **kwargs))
            return ()
        traced = _traced(concrete)
        if by_xla:
            stages = [traced, *_compiled(function, traced, args, kwargs)]
        else:
            stages = [traced, _rewritten(concrete, traced, args, kwargs)]
    version = f"TensorFlow {tf.__version__}"
    return (Graph(version, title(model, entry), judged(stages, _fuses)),)


def _fuses(operation: str) -> bool:
    return operation.startswith("_Fused") or operation == "AddN"


def _traced(concrete: Any) -> Stage:
    outputs = [tensor.op.name for tensor in concrete.outputs]
    return _stage(_("traced"), concrete.graph.as_graph_def().node, outputs)


def _rewritten(concrete: Any, traced: Stage, args: Args, kwargs: Kwargs) -> Stage:
    """The graph that ran: TensorFlow keeps it where it is asked to collect its graphs."""
    with _collected() as collected:
        concrete(*args, **kwargs)
    names = {node.name for node in traced.nodes}
    ours = max(
        collected,
        key=lambda one: len(names & {node.name for node in one.pre_optimization_graph.node}),
    )
    nodes = ours.post_optimization_graph.node
    outputs = [_name(node.input[0]) for node in nodes if node.op in _RESULTS]
    return _stage(_("after Grappler"), nodes, outputs, names)


@contextmanager
def _collected() -> Iterator[list[Any]]:
    """The graphs of the functions that run inside, once the block has ended."""
    found: list[Any] = []
    context.enable_graph_collection()
    try:
        yield found
        found.extend(context.export_run_metadata().function_graphs)
    finally:
        context.disable_graph_collection()


def _compiled(function: Any, traced: Stage, args: Args, kwargs: Kwargs) -> tuple[Stage, Stage]:
    text = function.experimental_get_compiler_ir(*args, **kwargs)
    names = {node.name for node in traced.operations}
    given = read(_("as XLA gets it (HLO)"), text(stage="hlo"), names)
    return given, read(_("as XLA leaves it"), text(stage="optimized_hlo"), names, given)


def _stage(title: str, nodes: Iterable[Any], outputs: list[str], before: Any = None) -> Stage:
    """The nodes of a GraphDef; with the names of those before, which of them each computes."""
    by_name = {node.name: node for node in nodes if node.op not in _RESULTS}
    sources = {
        name: tuple(_name(source) for source in node.input if not source.startswith("^"))
        for name, node in by_name.items()
    }
    ahead = {  # a loop of the older kind runs in a circle, closed by NextIteration
        name: [s for s in found if s in by_name and by_name[s].op != "NextIteration"]
        for name, found in sources.items()
    }
    made = []
    for name in TopologicalSorter(ahead).static_order():
        node = by_name[name]
        constant = node.op == "Const"
        made.append(
            Node(
                name,
                "" if node.op in _INPUTS or constant else node.op,
                tuple(ahead[name]),
                _value(node) if constant else "" if node.op in _INPUTS else _attributes(node),
                frozenset() if before is None else _origins(name, before),
            )
        )
    return Stage(title, tuple(made), tuple(outputs))


def _origins(name: str, before: set[str]) -> frozenset[str]:
    """Grappler keeps a name, or puts what it did in front of it: ArithmeticOptimizer/..._add_1."""
    if name in before:
        return frozenset({name})
    found = [one for one in before if name.endswith(("_" + one, "/" + one))]
    return frozenset({max(found, key=len)} if found else ())


def _name(source: str) -> str:
    """'MatMul' of 'MatMul:product:0'."""
    return source.lstrip("^").partition(":")[0]


def _value(node: Any) -> str:
    return content(tf.make_ndarray(node.attr["value"].tensor))


def _attributes(node: Any) -> str:
    """All that distinguishes the operation, without where it was written down."""
    kept = {key: str(value) for key, value in node.attr.items() if not key.startswith("_")}
    outputs = [re.sub(r"^[^:]*", "", source) for source in node.input]
    return f"{sorted(kept.items())} {outputs}"
