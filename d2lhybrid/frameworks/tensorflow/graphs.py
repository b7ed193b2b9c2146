"""A graph of TensorFlow on its way: traced, and rewritten by Grappler or compiled by XLA."""

import re
from collections.abc import Collection, Iterable
from graphlib import TopologicalSorter
from typing import Any

import tensorflow as tf

from d2lhybrid.frameworks.explanation import quiet
from d2lhybrid.frameworks.fates import content, judged
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.hlo import read
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.frameworks.tensorflow import private
from d2lhybrid.frameworks.tensorflow.explain import trace
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.picture import Node, Stage

_INPUTS = {"Placeholder", "_Arg", "_DeviceArg"}
_RESULTS = {"_Retval", "_DeviceRetval"}


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Trace a function, module or Keras model once, apart from its own traces, and run the graph.

    Compiled by XLA where the function says ``jit_compile=True``, else rewritten by Grappler.
    """
    found = trace(model, args, kwargs)
    if found.error:
        return ()
    concrete, notes = found.concrete, found.notes
    results = [tensor.op.name for tensor in concrete.outputs]
    traced = _stage(_("traced"), concrete.graph.as_graph_def().node, results)
    stages = [traced]
    with quiet():
        if found.by_xla:
            text = found.function.experimental_get_compiler_ir(*args, **kwargs)
            names = {node.name for node in traced.operations}
            given = read(_("as XLA gets it (HLO)"), text(stage="hlo"), names)
            last = read(_("as XLA leaves it"), text(stage="optimized_hlo"), names, given)
            stages += [given, last]
        else:
            with private.collected() as collected:
                concrete(*args, **kwargs)
            stages += _rewritten(traced, collected)
    if len(stages) == 1:
        notes = (*notes, private.missing("graph_collection"))
    version = f"TensorFlow {tf.__version__}"
    return (Graph(version, found.model, judged(stages, _fuses), notes),)


def _fuses(operation: str) -> bool:
    return operation.startswith("_Fused") or operation == "AddN"


def _rewritten(traced: Stage, collected: Collection[Any]) -> list[Stage]:
    """The graph that ran, of those that TensorFlow has collected."""
    if not collected:
        return []
    names = {node.name for node in traced.nodes}
    ours = max(
        collected,
        key=lambda one: len(names & {node.name for node in one.pre_optimization_graph.node}),
    )
    nodes = ours.post_optimization_graph.node
    outputs = [_name(node.input[0]) for node in nodes if node.op in _RESULTS]
    return [_stage(_("after Grappler"), nodes, outputs, names)]


def _stage(
    title: str, nodes: Iterable[Any], outputs: list[str], before: Collection[str] = ()
) -> Stage:
    """The nodes of a GraphDef; with the names of those before, which of them each computes."""
    by_name = {node.name: node for node in nodes if node.op not in _RESULTS}
    sources = {  # a loop of the older kind runs in a circle, closed by NextIteration
        name: [
            source
            for source in (_name(one) for one in node.input if not one.startswith("^"))
            if source in by_name and by_name[source].op != "NextIteration"
        ]
        for name, node in by_name.items()
    }
    made = []
    for name in TopologicalSorter(sources).static_order():
        node = by_name[name]
        operation = "" if node.op == "Const" or node.op in _INPUTS else node.op
        made.append(Node(name, operation, tuple(sources[name]), _key(node), _origins(name, before)))
    return Stage(title, tuple(made), tuple(outputs))


def _origins(name: str, before: Collection[str]) -> frozenset[str]:
    """Grappler keeps a name, or puts what it did in front of it: ArithmeticOptimizer/..._add_1."""
    if name in before:
        return frozenset({name})
    found = [one for one in before if name.endswith(("_" + one, "/" + one))]
    return frozenset({max(found, key=len)} if found else ())


def _name(source: str) -> str:
    """'MatMul' of 'MatMul:product:0'."""
    return source.partition(":")[0]


def _key(node: Any) -> str:
    """All that distinguishes the operation, without where it was written down."""
    if node.op in _INPUTS:
        return ""
    if node.op == "Const":
        return content(tf.make_ndarray(node.attr["value"].tensor))
    kept = {key: str(value) for key, value in node.attr.items() if not key.startswith("_")}
    outputs = [re.sub(r"^[^:]*", "", source) for source in node.input]
    return f"{sorted(kept.items())} {outputs}"
