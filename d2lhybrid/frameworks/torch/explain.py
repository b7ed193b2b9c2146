"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations.

Of a graph, what it becomes: TorchDynamo records it, AOTAutograd lowers it, Inductor fuses it.
"""

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch

from d2lhybrid.calls import name_of
from d2lhybrid.errors import brief
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Graph,
    Missing,
    from_error,
    nothing_compiled,
)
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.frameworks.tensors import Args, Kwargs
from d2lhybrid.frameworks.torch import private
from d2lhybrid.frameworks.torch.programs import eager, run_with
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.picture import Node, Stage

_VERSION = f"PyTorch {torch.__version__.partition('+')[0]}"
# What only says how elements are arranged; these nodes are left out after the recorded stage.
_VIEWS = {"permute", "t", "transpose", "view", "_unsafe_view", "reshape", "expand", "squeeze"}
_VIEWS |= {"unsqueeze", "slice", "select", "as_strided", "alias", "detach", "getitem"}
_FUSING = ("aten.addmm", "aten.baddbmm", "aten.addmv", "mkldnn.")


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays."""
    missing, graphs, name = Missing(), [], name_of(eager(model))
    compilations = missing.ask(lambda: private.compilations(model), 0)
    breaks_before, before = missing.ask(private.findings, ((), ()))
    error = run_with(lambda *graph: graphs.append(graph), model, args, kwargs)
    found, failures = missing.ask(private.findings, ((), ()))
    breaks = tuple(found[len(breaks_before) :])
    failed = [pair for pair in failures if pair not in before]
    if not failed and not graphs:  # of what it gave up before, TorchDynamo says no more
        places = [(code.co_filename, code.co_firstlineno) for code in private.codes_of(model)]
        failed = [pair for pair in failures if (pair[0].file, pair[0].line) in places][-1:]
    notes = missing.notes(_VERSION)
    if not graphs and not error:
        known = [*breaks, *(one for one, _record in failed)]
        notes = (nothing_compiled(_why(known[-1].reason if known else "")), *notes)
    lines = (replace(one, reason=one.reason.splitlines()[0]) for one, _record in failed)
    fallbacks = () if error else tuple(lines)
    refused = (from_error(error, private.users_frames(error)),) if error else ()
    return Explanation(_VERSION, name, compilations, len(graphs), breaks, fallbacks, refused, notes)


def _why(said: str) -> str:
    """Why a call took no graph, by what TorchDynamo said of the last function it gave up."""
    reason = said.partition("\n")[0]
    if "loop" in said:
        text = _(
            "a graph ends inside a loop ({reason}), and TorchDynamo then leaves the whole function "
            "to Python"
        )
        return text.format(reason=reason)
    return reason or _("TorchDynamo found no operation on tensors in this call")


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Run a module or function once under TorchDynamo; nothing is compiled, no compiler needed.

    What was compiled before stays. A graph that Inductor cannot plan has its recorded stage only.
    """
    name, found = name_of(eager(model)), []
    run_with(lambda *graph: found.append(_graph(name, *graph)), model, args, kwargs)
    return tuple(found)


def _graph(name: str, recorded: Any, inputs: Any) -> Graph:
    first = _stage(_("recorded by TorchDynamo"), recorded.graph)
    try:
        plan = torch.fx.GraphModule(recorded, copy.deepcopy(recorded.graph))
        lowered, kernels = private.planned(plan, inputs)
        lowered.eliminate_dead_code()  # which Inductor does not run, though it leaves it there
        aten = _adopted(first, _stage(_("as ATen operations"), lowered, _VIEWS))
        stages = (first, aten, _kernels(aten, kernels))
    except Exception as error:  # what Inductor does not take, or a private name that is gone
        text = _("What Inductor makes of this graph is not known: {reason}.")
        return Graph(_VERSION, name, judged((first,)), (text.format(reason=brief(error)),))
    return Graph(_VERSION, name, judged(stages, lambda kind: kind.startswith(_FUSING), _is_literal))


def _adopted(recorded: Stage, aten: Stage) -> Stage:
    """The ATen stage with origins for what a rewriting of Inductor has put in, which names none.

    In front of an operation that both stages know, it stands for what is known in the first only.
    """
    operations = {node.name: node for node in recorded.operations}
    known = {origin for node in aten.nodes for origin in node.origins}
    origins = {node.name: set(node.origins) for node in aten.nodes}
    unknown = {node.name for node in aten.operations if not node.origins}
    for node in reversed(aten.nodes):
        mine = [operations[origin] for origin in origins[node.name] if origin in operations]
        lost = {source for one in mine for source in one.inputs if source in operations} - known
        for source in unknown.intersection(node.inputs):
            origins[source] |= lost
    nodes = (replace(node, origins=frozenset(origins[node.name])) for node in aten.nodes)
    return replace(aten, nodes=tuple(nodes))


def _kernels(aten: Stage, kernels: Sequence[frozenset[str]]) -> Stage:
    """The kernels as nodes; one gets what another computes where an operation in it asks for it."""
    inputs = tuple(node for node in aten.nodes if not node.operation)
    made_by = {node.name: node.name for node in inputs}
    made_by |= {made: f"k{number}" for number, names in enumerate(kernels, 1) for made in names}
    done = []
    for number, names in enumerate(kernels, 1):
        inside = [n for n in aten.operations if n.name in names and not _is_literal(n.operation)]
        reads = [read for one in inside for read in one.inputs if read not in names]
        sources = tuple(dict.fromkeys(made_by[read] for read in reads if read in made_by))
        distinct = {(one.operation, one.key, one.inputs): _short(one.operation) for one in inside}
        parts = tuple(distinct.values())
        done.append(Node(f"k{number}", " ".join(parts) or "k", sources, "", names, parts))
    return Stage(_("as kernels of Inductor"), (*inputs, *done), tuple(one.name for one in done))


def _is_literal(operation: str) -> bool:
    return operation.startswith(("aten.full", "aten.scalar_tensor"))


def _short(operation: str) -> str:
    """'add' of 'aten.add.Tensor'."""
    return operation.split(".")[1] if operation.startswith("aten.") else operation


def _stage(title: str, graph: Any, without: Collection[str] = ()) -> Stage:
    nodes: list[Node] = []
    outputs: tuple[str, ...] = ()
    shown: dict[str, str] = {}  # for a node, the one that is drawn in its place
    for node in graph.nodes:
        inputs = tuple(shown[source.name] for source in node.all_input_nodes)
        kind = "" if node.op in ("placeholder", "get_attr") else private.operation(node)
        shown[node.name] = node.name
        if node.op == "output":
            outputs = inputs
        elif inputs and _short(kind) in without:
            shown[node.name] = inputs[0]
        else:
            # The arguments, with the inputs left out.
            key = str(torch.fx.map_arg((node.args, node.kwargs), lambda source: "_"))
            origins = frozenset(private.sources(node))
            nodes.append(Node(node.name, kind, inputs, key if kind else "", origins))
    return Stage(title, tuple(nodes), outputs)
