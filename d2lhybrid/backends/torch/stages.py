"""The stages of a graph: TorchDynamo records it, AOTAutograd lowers it, Inductor fuses it."""

import copy
import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.torch import inductor
from d2lhybrid.backends.torch.nodes import (
    branch_graph,
    draws_random_numbers,
    has_effect,
    is_inductor_operation,
    operation_name,
    origins,
    returns_input,
    short_name,
)
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.errors import CannotBuildError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.graphs.fates import FUSED, KEPT, REWRITTEN, decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage

VERSION = f"PyTorch {torch.__version__.partition('+')[0]}"
# Operations that only arrange elements; nodes with these are left out after the recorded stage.
_VIEWS = {
    *("permute", "t", "transpose", "view", "_unsafe_view", "reshape", "expand", "squeeze"),
    *("unsqueeze", "slice", "select", "as_strided", "alias", "detach", "getitem"),
    "sym_size",  # which reads a shape
}
_LAYOUT_OPS = _VIEWS | {"copy", "lift_fresh_copy"}
_LITERALS = {"full", "scalar_tensor"}  # which loops have in them as a number
# What a library's function computes, and what Inductor calls an operation of ATen.
_KINDS: dict[str, tuple[str, ...]] = {
    "addmm": ("mm", "add"),
    "baddbmm": ("bmm", "add"),
    "addmv": ("mv", "add"),
    "div": ("truediv",),
    "clone": ("copy",),
    "amax": ("max",),
    "amin": ("min",),
}
# Products of matrices, convolutions and attention, which are calls of libraries.
_CONTRACTION = re.compile(
    r"(^|_)(add)?b?mm(_|$)|^(mv|v?dot)$|convolution|conv_depthwise|conv(2d)?_pointwise"
    r"|linear_pointwise|mkl_linear|attention|encoder_layer|dnn_rnn"
)
# As TorchDynamo records them, without those that may be none, such as an einsum.
_RECORDED_CONTRACTION = re.compile(
    r"^(linear|i?matmul|__matmul__|(add|badd)?b?mm|(add)?mv|v?dot|conv(_transpose)?[123]d"
    r"|scaled_dot_product_attention)$"
)
_CONTROL_FLOW = frozenset({"cond", "while_loop", "map_impl", "scan", "associative_scan"})
# Operations of Inductor's loops that compute nothing.
_MOVING = {"load", "store", "store_reduction", "output", "constant", "index_expr", "to_dtype"}
_IN_PLACE = {"setitem", *(f"i{name}" for name in dir(operator) if f"i{name}" in operator.__all__)}

# What is known of a node besides its operation, its inputs and its attributes: fields of `Node`.
_Facts = Callable[[Any], dict[str, Any]]


def is_view(operation: str) -> bool:
    """Does an operation only arrange elements?"""
    return operation in _LAYOUT_OPS


def graphs_of(recorded: Sequence[Function]) -> tuple[Graph, ...]:
    """The graphs of a call, by what makes each; parts that share a program have one."""
    with without_logs():
        graphs = {make: make() for make in dict.fromkeys(recorded)}
    return tuple(graphs[make] for make in recorded)


def graph_of(name: str, recorded: Any, inputs: Any) -> Graph:
    """The stages of a graph that TorchDynamo recorded; if Inductor cannot plan it, the first."""
    title = _("recorded by TorchDynamo")
    try:
        own = torch.fx.GraphModule(recorded, copy.deepcopy(recorded.graph))
        plan = inductor.plan(own, inputs)
        plan.aten.eliminate_dead_code()  # which Inductor does not run, though it leaves it there
        first = _stage(title, recorded.graph, lambda node: _facts_of_recorded(node, plan))
        aten = _stage(
            _("as ATen operations"), plan.aten, lambda node: _facts_of_aten(node, plan), _VIEWS
        )
        stages = (first, aten, _inductor_stage(aten, plan))
    except Exception as error:  # what Inductor does not take, or a private name that is gone
        text = _("This report lacks what Inductor makes of the graph: {reason}.")
        reason = str(error) if isinstance(error, CannotBuildError) else brief(error)
        first = _stage(title, recorded.graph, lambda _node: {})
        return Graph(VERSION, name, (first,), (text.format(reason=reason),))
    kinds = {part.kind for step in stages[-1].operations for part in step.parts}
    contractions = frozenset(filter(_CONTRACTION.search, kinds))
    decided = decide_fates(stages, _LAYOUT_OPS)
    that_run = [node for node in decided[0].operations if node.fate in (KEPT, FUSED, REWRITTEN)]
    in_loops = [node for node in that_run if _RECORDED_CONTRACTION.search(node.operation)]
    return Graph(
        VERSION,
        name,
        decided,
        contractions=contractions,
        layout=plan.layout,
        control_flow=_CONTROL_FLOW,
        contractions_in_loops=0 if contractions else len(in_loops),
        copy_steps=_copy_steps(*stages),
    )


def _copy_steps(recorded: Stage, aten: Stage, last: Stage) -> int:
    """How many steps only copy although no recorded operation is a copy: Inductor adds them.

    Such a step brings weights, say, into the layout that the next one reads.
    """
    copying = {
        node.name for node in recorded.operations if _LAYOUT_OPS.issuperset(node.lowered_ops)
    }
    asked_for = {node.name for node in aten.nodes if not copying.isdisjoint(node.origins)}
    return sum(
        {part.kind for part in step.parts} == {"copy"}
        and all(asked_for.isdisjoint(part.origins) for part in step.parts)
        for step in last.operations
    )


def _kinds(operation: str) -> tuple[str, ...]:
    """'add' of 'aten.add.Tensor'; of a library's function what it computes."""
    short = short_name(operation)
    return _KINDS.get(short, (short,))


# The graphs of torch.fx: the recorded one, and the one of ATen operations.


def _stage(title: str, graph: Any, facts: _Facts, hidden: Collection[str] = ()) -> Stage:
    """The stage of a graph of torch.fx, without the views among the operations in `hidden`.

    What uses such a view has the view's source as its input, and the view in its attributes.
    """
    nodes: list[Node] = []
    outputs: tuple[str, ...] = ()
    drawn: dict[str, str] = {}  # for a node, the one that is drawn in its place
    inlined: dict[str, str] = {}  # for a view or a branch, what attributes say of it

    def as_argument(node: Any) -> str:
        return inlined.get(node.name, "_")  # the names of inputs don't count

    for node in graph.nodes:
        inputs = tuple(drawn[n.name] for n in node.all_input_nodes if n.name in drawn)
        attributes = str(torch.fx.map_arg((node.args, node.kwargs), as_argument))
        if branch := branch_graph(node):
            inlined[node.name] = str(branch.graph)
        elif node.op == "output":
            outputs = inputs
        elif node.op == "placeholder":
            drawn[node.name] = node.name
            nodes.append(Node(node.name, inputs=inputs))
        elif node.op == "get_attr":
            drawn[node.name] = node.name
            nodes.append(Node(node.name, inputs=inputs, attributes=node.name))
        else:
            operation = operation_name(node)
            if inputs and _kinds(operation)[0] in hidden:
                drawn[node.name], inlined[node.name] = inputs[0], f"{operation}{attributes}"
            else:
                drawn[node.name] = node.name
                nodes.append(Node(node.name, operation, inputs, attributes, **facts(node)))
    return Stage(title, tuple(nodes), outputs)


def _facts_of_recorded(node: Any, plan: inductor.Plan) -> dict[str, Any]:
    """What a recorded node is lowered to, and whether it has an effect."""
    lowered_ops = plan.lowered_ops.get(node.name, [])
    kinds = tuple(kind for lowered in lowered_ops for kind in _kinds(lowered.operation))
    computed = tuple(kind for kind in kinds if kind not in _LAYOUT_OPS | {"convert_element_type"})
    operation = operation_name(node)
    if lowered_ops:
        lowers_to_effect = any(lowered.has_effect for lowered in lowered_ops)
    else:
        lowers_to_effect = draws_random_numbers(operation)
    writes = operation in _IN_PLACE or operation == operation.strip("_") + "_"  # such as add_
    nothing = ("alias",) if returns_input(node) else ()  # else the trace is lost
    return {
        "lowered_to": computed or kinds or nothing,
        "has_effect": lowers_to_effect or writes or has_effect(node),
    }


def _facts_of_aten(node: Any, plan: inductor.Plan) -> dict[str, Any]:
    """What a node of the ATen graph computes, and the recorded nodes that it comes from."""
    operation = operation_name(node)
    kinds, found = _kinds(operation), origins(node, plan.recorded_id)
    noted = {low.operation for name in found for low in plan.lowered_ops.get(name, ())}
    if len(kinds) > 1 and operation not in noted:  # a call for several, and only one is noted
        found = frozenset()
    return {"lowered_to": kinds, "has_effect": has_effect(node), "origins": found}


# What Inductor runs.


def _inductor_stage(aten: Stage, plan: inductor.Plan) -> Stage:
    """Inductor's loops and calls of libraries, as steps k1, k2, ..."""
    given = [node for node in aten.nodes if not node.operation]
    made_by = {node.name: node.name for node in given}  # for a buffer, the node that makes it
    called = {name for step in plan.steps for call in step.called for name in call.nodes}
    steps: list[Node] = []
    for step in plan.steps:
        sources = tuple(dict.fromkeys(made_by[name] for name in step.reads if name in made_by))
        if step.counts is None:  # a name for a part of a result
            if sources:
                made_by |= dict.fromkeys(step.writes, sources[0])
            continue
        name = f"k{len(steps) + 1}"
        made_by |= dict.fromkeys(step.writes, name)
        parts = [Part(kind, call.nodes) for call in step.called for kind in _kinds(call.operation)]
        if step.counts or not parts:
            in_loops = [node for node in step.noted if node.name not in called]
            parts += _parts_of_loops(in_loops, step.counts)
        operation = " ".join(part.kind for part in parts)
        inputs = tuple(source for source in sources if source != name)
        steps.append(Node(name, operation, inputs, parts=tuple(parts)))
    outputs = tuple(dict.fromkeys(made_by[name] for name in plan.outputs if name in made_by))
    return Stage(_("as loops and library calls of Inductor"), (*given, *steps), outputs)


def _parts_of_loops(noted: Sequence[Any], counts: Counter[str]) -> list[Part]:
    """The operations in loops: how often each, and the nodes of ATen that each may come from.

    The numbers have two sources. Of its own operations Inductor counts how often loops compute
    them. Of any other, its notes name the nodes, and each is computed once; but a contraction that
    no library computes is a product and a sum, which Inductor counts. Loops without any of these
    only write a constant, or bring elements into another order, which is a copy.
    """
    names: dict[str, set[str]] = {}  # for each kind of operation the nodes that Inductor notes
    for node in noted:
        for kind in _kinds(operation_name(node)):
            names.setdefault(kind, set()).add(node.name)
    computed = [kind for kind in names if kind not in _LAYOUT_OPS | _LITERALS]
    others = [kind for kind in computed if not is_inductor_operation(kind)]
    numbers = {kind: len(names[kind]) for kind in others if not _CONTRACTION.search(kind)}
    numbers |= {kind: count for kind, count in counts.items() if kind not in _MOVING}
    anywhere = {name for kind in computed for name in names[kind]}  # if no node is of the kind
    parts = [
        Part(kind, frozenset(names.get(kind, anywhere))) for kind in Counter(numbers).elements()
    ]
    moving = "full" if "full" in names else "copy"
    return parts or [Part(moving, frozenset(names.get(moving, ())))]
