"""The stages of a graph of TensorFlow: as it is traced, and what Grappler or XLA leaves."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any

import tensorflow as tf

from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.tensorflow import private
from d2lhybrid.backends.tensorflow.compiler import CalledTrace
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.graphs import hlo
from d2lhybrid.graphs.fates import decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage, describe_constant

VERSION = f"TensorFlow {tf.__version__}"
_INPUTS = {"Placeholder", "_Arg", "_DeviceArg"}
_RESULTS = {"_Retval", "_DeviceRetval"}
_NO_WORK = _RESULTS | {"NoOp"}
_LOWERED_TO = {"Range": ("iota",)}  # which XLA makes of the constant that it gets for it
_READS = {"ReadVariableOp", "VarHandleOp"}  # to read what is stored changes nothing
_LAYOUT_OPS = hlo.LAYOUT_OPS | {"ExpandDims", "Identity", "IdentityN", "ReadVariableOp"}
_LAYOUT_OPS |= {"Reshape", "Snapshot", "Squeeze", "StopGradient", "Transpose"}
# Products of matrices, convolutions and attention, alone or as the first part of a fused operation.
_PRODUCTS = {"MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum"}
_PRODUCTS |= {"SparseMatMul", "SparseTensorDenseMatMul", "QuantizedMatMul"}
_CONVOLUTIONS = {"Conv", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "QuantizedConv2D"}
_GRADIENTS = {
    f"{convolution}Backprop{of}{version}"
    for convolution in ("Conv2D", "Conv3D", "DepthwiseConv2dNative")
    for of in ("Input", "Filter")
    for version in ("", "V2")
}
_CONTRACTIONS = frozenset(
    f"{library}{operation}"
    for library in ("", "_Mkl", "_MklNative")  # the latter two are oneDNN's
    for operation in _PRODUCTS | _CONVOLUTIONS | _GRADIENTS
)
# Operations that run others: calls of functions, loops and branches, which Grappler rewrites to
# switches if it can.
CONTROL_FLOW = frozenset({"PartitionedCall", "StatefulPartitionedCall", "Switch"})
CONTROL_FLOW |= {
    f"{state}{kind}" for state in ("", "Stateless") for kind in ("While", "If", "Case")
}


@dataclass(frozen=True)
class RecordedTrace:
    """A trace that a call has called, and what is known of what a compiler made of it."""

    name: str
    call: CalledTrace
    # The graphs that Grappler made in this call. It rewrites a trace once: empty for one that may
    # have run before.
    rewritten: Sequence[Any] = ()
    by_xla: bool = False  # does XLA compile it, and may it do so once more to show what it makes?


def graphs_of(recorded: Sequence[RecordedTrace], notes: tuple[str, ...] = ()) -> tuple[Graph, ...]:
    """The graph of each trace that was called; one that was called several times is read once."""
    by_trace = {id(one.call.trace): one for one in recorded}
    with without_logs():
        graphs = {key: _graph_of(one, notes) for key, one in by_trace.items()}
    return tuple(graphs[id(one.call.trace)] for one in recorded)


def _graph_of(recorded: RecordedTrace, notes: tuple[str, ...]) -> Graph:
    """The graph of a trace: by XLA, if it compiles the trace, or by Grappler."""
    trace, by_xla = recorded.call.trace, recorded.by_xla
    traced = _traced_stage(trace)
    if by_xla:
        stages = _stages_by_xla(traced, private.compiler_ir(trace, recorded.call.specs))
    else:
        left = [_rewritten(traced, recorded.rewritten)] if recorded.rewritten else []
        stages = decide_fates([traced, *left], _LAYOUT_OPS)
    return Graph(
        VERSION,
        recorded.name,
        stages,
        notes,
        contractions=hlo.CONTRACTIONS if by_xla else _CONTRACTIONS,
        control_flow=hlo.CONTROL_FLOW if by_xla else CONTROL_FLOW,
        copy_steps=sum(map(_is_copy, stages[-1].operations)),
    )


def _stages_by_xla(traced: Stage, compiler_ir: Callable[..., str]) -> tuple[Stage, ...]:
    """The stages of a trace that XLA compiles; `compiler_ir` gives its HLO."""
    names = {node.name for node in traced.operations}
    layout = {node.name for node in traced.operations if node.operation in _LAYOUT_OPS}
    lowered_ops = hlo.lowered_ops(compiler_ir(stage="hlo"), names, layout)
    nodes = tuple(
        replace(node, lowered_to=lowered_ops.get(node.name, _LOWERED_TO.get(node.operation)))
        for node in traced.nodes
    )
    left = hlo.read_stage(_("as XLA leaves it"), compiler_ir(stage="optimized_hlo"), names)
    return decide_fates([replace(traced, nodes=nodes), left], _LAYOUT_OPS)


def _traced_stage(concrete: Any) -> Stage:
    """The trace, in which each operation that has a state has an effect, except reads."""
    results = [tensor.op.name for tensor in concrete.outputs]
    stage = _stage(_("traced"), concrete.graph.as_graph_def().node, results)
    operations = concrete.graph.get_operations()
    effects = {op.name for op in operations if op.op_def.is_stateful and op.type not in _READS}
    nodes = tuple(replace(node, has_effect=node.name in effects) for node in stage.nodes)
    return replace(stage, nodes=nodes)


def _rewritten(traced: Stage, collected: Sequence[Any]) -> Stage:
    """The graph that ran: of those that TensorFlow has collected, the most like the trace."""
    names = {node.name for node in traced.nodes}

    def likeness(of_one: Any) -> tuple[int, int]:
        nodes = of_one.pre_optimization_graph.node
        return len(names & {node.name for node in nodes}), -len(nodes)

    nodes = max(collected, key=likeness).post_optimization_graph.node
    outputs = [_node_name(node.input[0]) for node in nodes if node.op in _RESULTS]
    return _stage(_("after Grappler"), nodes, outputs, names)


def _is_copy(step: Node) -> bool:
    """Does this step only copy, or transpose because Grappler prefers another layout?"""
    return step.operation == "copy" or "LayoutOptimizer" in step.name


def _stage(title: str, nodes: Any, outputs: list[str], before: Collection[str] = ()) -> Stage:
    """The nodes of a GraphDef; with the names of those before, which of them each computes."""
    by_name = {node.name: node for node in nodes if node.op not in _NO_WORK}
    # A loop of the older kind runs in a circle, closed by NextIteration.
    sources = {name for name, node in by_name.items() if node.op != "NextIteration"}
    inputs = {
        name: tuple(source for source in map(_node_name, node.input) if source in sources)
        for name, node in by_name.items()
    }
    sorted_nodes = []
    for name in TopologicalSorter(inputs).static_order():
        node = by_name[name]
        is_given = node.op == "Const" or node.op in _INPUTS
        origins = _origins(name, before)
        sorted_nodes.append(
            Node(
                name,
                "" if is_given else node.op,
                inputs[name],
                _attributes(node),
                origins,
                tuple(_parts(node, origins)),
            )
        )
    return Stage(title, tuple(sorted_nodes), tuple(outputs))


def _parts(node: Any, origins: frozenset[str]) -> Iterator[Part]:
    """What a fused operation, such as _FusedMatMul, computes; it has the name of the last."""
    if "fused_ops" in node.attr:
        *others, last = (kind.decode() for kind in node.attr["fused_ops"].list.s)
        for kind in (re.sub("^_.*Fused", "", node.op), *others):
            yield Part(kind)
        yield Part(last, origins)


def _origins(name: str, before: Collection[str]) -> frozenset[str]:
    """The node of the stage before that a name comes from.

    Grappler keeps a name, or puts what it did in front of it: ArithmeticOptimizer/..._add_1. What
    was lowered, such as a loop, has the name of the whole in front.
    """
    candidates = hlo.longest_scope(name, before)
    if not candidates:
        candidates = [origin for origin in before if name.endswith(("_" + origin, "/" + origin))]
    return frozenset({max(candidates, key=len)} if candidates else ())


def _node_name(source: str) -> str:
    """'MatMul' of 'MatMul:product:0', or of '^MatMul', which is only waited for."""
    return source.partition(":")[0].removeprefix("^")


def _attributes(node: Any) -> str:
    """All that distinguishes the operation, without where it was written down."""
    if node.op in _INPUTS:
        return ""
    if node.op == "Const":
        return describe_constant(tf.make_ndarray(node.attr["value"].tensor))
    public = {name: str(value) for name, value in node.attr.items() if not name.startswith("_")}
    outputs = [re.sub(r"^[^:]*", "", source) for source in node.input]  # of its inputs
    return f"{sorted(public.items())} {outputs}"
