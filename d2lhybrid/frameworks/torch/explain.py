"""What TorchDynamo makes of a model: graphs, graph breaks and recompilations.

Of a graph, what it becomes: TorchDynamo records it, AOTAutograd lowers it, Inductor fuses it.
"""

import copy
import operator
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import torch

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.errors import brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.display.graph_svg import Node, Part, Stage
from d2lhybrid.frameworks.failures import from_error, quiet
from d2lhybrid.frameworks.torch import private
from d2lhybrid.frameworks.torch.export import eager, run_with
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import (
    Explanation,
    Finding,
    Graph,
    Graphs,
    Missing,
    nothing_compiled,
)
from d2lhybrid.graphs.fates import judged

_VERSION = f"PyTorch {torch.__version__.partition('+')[0]}"
# What only says how elements are arranged; these nodes are left out after the recorded stage.
_VIEWS = {"permute", "t", "transpose", "view", "_unsafe_view", "reshape", "expand", "squeeze"}
_VIEWS |= {"unsqueeze", "slice", "select", "as_strided", "alias", "detach", "getitem"}
_VIEWS |= {"sym_size"}  # which reads a shape
_ARRANGING = _VIEWS | {"copy", "lift_fresh_copy"}
_LITERAL = {"full", "scalar_tensor"}  # which loops have in them as a number
# What a library's function computes, and what Inductor calls an operation of ATen.
_KINDS: dict[str, tuple[str, ...]] = {"addmm": ("mm", "add"), "baddbmm": ("bmm", "add")}
_KINDS |= {"addmv": ("mv", "add"), "div": ("truediv",), "clone": ("copy",)}
_KINDS |= {"amax": ("max",), "amin": ("min",)}
_MOVING = {"load", "store", "store_reduction", "output", "constant", "index_expr", "to_dtype"}
_IN_PLACE = {"setitem", *(f"i{name}" for name in dir(operator) if f"i{name}" in operator.__all__)}


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a module or function once under TorchDynamo; what was compiled before stays."""
    missing, name = Missing(), name_of(eager(model))
    waiting: list[Function] = []

    def see(*graph: Any) -> None:
        waiting.append(private.later(lambda: _graph(name, *graph)))

    compilations = missing.ask(lambda: private.compilations(model), 0)
    limits = missing.ask(lambda: private.limits(model), [])
    breaks_before, before = missing.ask(private.findings, ((), ()))
    error = run_with(see, model, args, kwargs)
    graphs = Graphs(len(waiting), lambda: _made(waiting))
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
    fallbacks = () if error else (*lines, *(_limited(*one) for one in limits))
    refused = (from_error(error, private.users_frames(error)),) if error else ()
    return Explanation(_VERSION, name, compilations, graphs, breaks, fallbacks, refused, notes)


def _made(waiting: Sequence[Function]) -> tuple[Graph, ...]:
    with quiet():
        return tuple(make() for make in waiting)


def _limited(code: CodeType, limit: int) -> Finding:
    """What to say of code of which TorchDynamo compiles no more programs."""
    text = _(
        "The limit of {limit} compilations is reached ({setting}): a call that fits none of these "
        "programs runs eagerly, or raises with fullgraph=True. {command} shows why it was compiled "
        "again."
    )
    names = {"setting": "torch._dynamo.config.recompile_limit", "command": "TORCH_LOGS=recompiles"}
    return Finding(text.format(limit=limit, **names), code.co_filename, code.co_firstlineno)


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
    name, found, missing = name_of(eager(model)), [], Missing()  # type: str, list[Graph], Missing
    before, _failures = missing.ask(private.findings, ((), ()))
    run_with(lambda *graph: found.append(_graph(name, *graph)), model, args, kwargs)
    breaks, _failures = missing.ask(private.findings, ((), ()))
    if len(found) == 1 and len(breaks) > len(before):  # of several graphs it is seen
        text = _("This call has a graph break, where Python runs a step; {explain} names its line.")
        note = text.format(explain="explain(model, ...)")
        return (replace(found[0], notes=(*found[0].notes, note)),)
    return tuple(found)


def _graph(name: str, recorded: Any, inputs: Any) -> Graph:
    title = _("recorded by TorchDynamo")
    try:
        own = torch.fx.GraphModule(recorded, copy.deepcopy(recorded.graph))
        plan = private.planned(own, inputs)
        plan.lowered.eliminate_dead_code()  # which Inductor does not run, though it leaves it there
        first = _stage(title, recorded.graph, lambda node: _recorded(node, plan))
        aten = _stage(_("as ATen operations"), plan.lowered, lambda node: _aten(node, plan), _VIEWS)
        stages = (first, aten, _steps(aten, plan))
    except Exception as error:  # what Inductor does not take, or a private name that is gone
        text = _("This report lacks what Inductor makes of the graph: {reason}.")
        first = _stage(title, recorded.graph, lambda node: {})
        return Graph(_VERSION, name, (first,), (text.format(reason=brief(error)),))
    return Graph(_VERSION, name, judged(stages, _ARRANGING))


def _recorded(node: Any, plan: private.Plan) -> dict[str, Any]:
    """What is known of a recorded node: what Inductor is handed for it, and whether it writes."""
    made = plan.handed.get(node.name, [])
    kinds = tuple(kind for operation, _effect in made for kind in _kinds(operation))
    computed = tuple(kind for kind in kinds if kind not in _ARRANGING | {"convert_element_type"})
    called = private.operation(node)
    in_place = called.strip("_") + "_" == called or called in _IN_PLACE
    effect = any(effect for _name, effect in made) if made else private.draws(called)
    effect = effect or in_place or private.effect(node)
    return {"kinds": computed or kinds, "effect": effect, "passes": not private.computes(called)}


def _aten(node: Any, plan: private.Plan) -> dict[str, Any]:
    operation, sources = private.operation(node), private.sources(node, plan.recorded)
    kinds = _kinds(operation)
    made = {name for source in sources for name, _effect in plan.handed.get(source, ())}
    if len(kinds) > 1 and operation not in made:  # a call for several, and only one is noted
        sources = frozenset()
    return {"kinds": kinds, "effect": private.effect(node), "origins": sources}


def _kinds(operation: str) -> tuple[str, ...]:
    """'add' of 'aten.add.Tensor'; a library's function is what it computes."""
    short = operation.split(".")[1] if "." in operation else operation
    return _KINDS.get(short, (short,))


def _steps(aten: Stage, plan: private.Plan) -> Stage:
    """What runs. Of loops those that only bring the elements into another order are a copy."""
    made_by = {node.name: node.name for node in aten.nodes if not node.operation}
    called = {node.name for step in plan.steps for node in step.called}
    done: list[Node] = []
    for step in plan.steps:
        sources = tuple(dict.fromkeys(made_by[read] for read in step.reads if read in made_by))
        if step.counts is None:  # a name for a part of a result
            made_by |= dict.fromkeys(step.writes, *sources[:1]) if sources else {}
            continue
        name = f"k{len(done) + 1}"
        made_by |= dict.fromkeys(step.writes, name)
        calls = ((node.name, _kinds(private.operation(node))) for node in step.called)
        parts = [Part(kind, frozenset({origin})) for origin, kinds_of in calls for kind in kinds_of]
        if step.counts or not parts:
            parts += _in_loops([n for n in step.noted if n.name not in called], step.counts)
        kinds = " ".join(part.kind for part in parts)
        done.append(Node(name, kinds, tuple(s for s in sources if s != name), parts=tuple(parts)))
    inputs = (node for node in aten.nodes if not node.operation)
    outputs = tuple(dict.fromkeys(made_by[name] for name in plan.outputs if name in made_by))
    return Stage(_("as loops and library calls of Inductor"), (*inputs, *done), outputs)


def _in_loops(noted: Sequence[Any], counts: Counter[str]) -> list[Part]:
    """The operations in loops: of its own as many as Inductor counts, of others what it notes.

    Each may come from any node of its kind; if there is none, from any node.
    """
    names: dict[str, set[str]] = {}
    for node in noted:
        for kind in _kinds(private.operation(node)):
            names.setdefault(kind, set()).add(node.name)
    computed = [kind for kind in names if kind not in _ARRANGING | _LITERAL]
    found = {kind: len(names[kind]) for kind in computed if not private.computes(kind)}
    found |= {kind: number for kind, number in counts.items() if kind not in _MOVING}
    every = {name for kind in computed for name in names[kind]}
    parts = [Part(kind, frozenset(names.get(kind, every))) for kind in Counter(found).elements()]
    moved = "full" if "full" in names else "copy"
    return parts or [Part(moved, frozenset(names.get(moved, ())))]


def _stage(title: str, graph: Any, facts: Function, without: Collection[str] = ()) -> Stage:
    nodes: list[Node] = []
    outputs: tuple[str, ...] = ()
    shown: dict[str, str] = {}  # for a node, the one that is drawn in its place
    said: dict[str, str] = {}  # and what it is of that
    for node in graph.nodes:
        inputs = tuple(shown[one.name] for one in node.all_input_nodes if one.name in shown)
        kind = "" if node.op in ("placeholder", "get_attr") else private.operation(node)
        # The arguments, with the names of inputs left out.
        key = str(torch.fx.map_arg((node.args, node.kwargs), lambda one: said.get(one.name, "_")))
        if branch := private.branch(node):
            said[node.name] = str(branch.graph)
            continue
        if node.op == "output":
            outputs = inputs
        elif inputs and _kinds(kind)[0] in without:
            shown[node.name], said[node.name] = inputs[0], f"{kind}{key}"
        else:
            shown[node.name] = node.name
            known = facts(node) if kind else {}
            constant = node.name if node.op == "get_attr" else ""
            nodes.append(Node(node.name, kind, inputs, key if kind else constant, **known))
    return Stage(title, tuple(nodes), outputs)
