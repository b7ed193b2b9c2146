"""A graph of PyTorch: TorchDynamo records it, AOTAutograd lowers it, Inductor fuses it."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch._dynamo
from torch._functorch import config as functorch_config
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner
from torch._inductor.ir import ExternKernel

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import quiet, require_runs
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.frameworks.torch.explain import eager_of
from d2lhybrid.frameworks.torch.variants import compiled
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.stages import Node, Stage

_LITERALS = ("aten.full", "aten.scalar_tensor")
# What only says how elements are arranged; these nodes are left out after the recorded stage.
_VIEWS = {"permute", "t", "transpose", "view", "_unsafe_view", "reshape", "expand", "squeeze"}
_VIEWS |= {"unsqueeze", "slice", "select", "as_strided", "alias", "detach", "getitem"}
_FUSING = ("aten.addmm", "aten.baddbmm", "aten.addmv", "mkldnn.")


class _Planned(Exception):
    """Inductor knows its kernels; what would follow is writing and compiling their code."""


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """Run a module or function once under TorchDynamo; nothing is compiled, no compiler needed.

    What was compiled before stays. A graph that Inductor cannot plan has its recorded stage only.
    """
    original, eager = eager_of(model)
    found: list[tuple[Stage, ...]] = []

    def backend(recorded: Any, inputs: Any) -> Any:
        stages = [_stage(_("recorded by TorchDynamo"), recorded.graph)]
        number = len(found)
        found.append(tuple(stages))

        def inner(lowered: Any, example_inputs: Any, **settings: Any) -> Any:
            runs = torch.fx.GraphModule(lowered, copy.deepcopy(lowered.graph))
            if not settings.get("is_backward"):
                planned = _planned(stages[0], lowered, example_inputs, settings)
                found[number] = tuple(stages + planned)
            return make_boxed_func(runs.forward)

        return compile_fx(recorded, inputs, inner_compile=inner)

    with quiet(), functorch_config.patch(enable_autograd_cache=False):
        try:
            compiled(eager, backend=backend)(*args, **kwargs)
        except Exception:
            require_runs(name_of(original), lambda: eager(*args, **kwargs))
    version = f"PyTorch {torch.__version__.partition('+')[0]}"
    return tuple(Graph(version, name_of(original), _judged(stages)) for stages in found)


def _judged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    return judged(
        stages,
        fuses=lambda operation: operation.startswith(_FUSING),
        literal=_is_literal,
    )


def _planned(recorded: Stage, lowered: Any, inputs: Any, settings: dict[str, Any]) -> list[Stage]:
    """The ATen graph after Inductor's passes, and the kernels that it makes of it."""
    kernels: list[tuple[Any, ...]] = []

    def read(scheduled: Any) -> Any:
        kernels.extend(map(_kernel, scheduled))
        raise _Planned

    with config.patch(_post_fusion_custom_pass=read, fx_graph_cache=False):
        try:
            compile_fx_inner(lowered, inputs, **settings)
        except Exception:
            if not kernels:
                return []
    aten = _stage(_("as ATen operations"), lowered.graph, _VIEWS, _unused(lowered.graph))
    return [_adopted(recorded, aten), _kernels(aten, kernels)]


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


def _kernel(scheduled: Any) -> tuple[set[str], list[str], list[str]]:
    """The ATen nodes that it computes, the buffers that it reads, and those that it writes."""
    origins = {o.name for one in scheduled.get_nodes() for o in _origins(one.node)}
    reads = sorted(dependency.name for dependency in scheduled.read_writes.reads)
    return origins, reads, sorted(scheduled.get_buffer_names())


def _origins(planned: Any) -> Sequence[Any]:
    """Of a library's function the node that calls it, though Inductor lists its inputs, too."""
    one = getattr(planned, "origin_node", None)
    found: Sequence[Any] = tuple(getattr(planned, "origins", ()))
    return (one,) if one is not None and isinstance(planned, ExternKernel) else found


def _kernels(aten: Stage, kernels: Sequence[tuple[Any, ...]]) -> Stage:
    names = [f"k{number}" for number, _kernel in enumerate(kernels, 1)]
    pairs = list(zip(names, kernels, strict=True))
    writers = {buffer: name for name, (_origins, _reads, writes) in pairs for buffer in writes}
    inputs = tuple(node for node in aten.nodes if not node.operation)
    writers |= {node.name: node.name for node in inputs}
    done = []
    for name, (origins, reads, _writes) in pairs:
        inside = [n for n in aten.operations if n.name in origins and not _is_literal(n.operation)]
        distinct = {(n.operation, n.key, n.inputs): n for n in inside}
        parts = tuple(_short(node.operation) for node in distinct.values())
        sources = dict.fromkeys(writers[read] for read in reads if read in writers)
        sources.pop(name, None)
        label = " ".join(parts) or name
        done.append(Node(name, label, tuple(sources), "", frozenset(origins), parts))
    return Stage(_("as kernels of Inductor"), (*inputs, *done), tuple(names))


def _is_literal(operation: str) -> bool:
    return operation.startswith(_LITERALS)


def _short(operation: str) -> str:
    """'add' of 'aten.add.Tensor'."""
    return operation.split(".")[1] if operation.startswith("aten.") else operation


def _unused(graph: Any) -> set[Any]:
    """What Inductor leaves in a graph and does not run, because nothing needs it any more."""
    found: set[Any] = set()
    for node in reversed(graph.nodes):
        if node.op == "call_function" and not node.is_impure() and found.issuperset(node.users):
            found.add(node)
    return found


def _stage(
    title: str, graph: Any, without: Collection[str] = (), unused: Collection[Any] = ()
) -> Stage:
    nodes = []
    outputs: tuple[str, ...] = ()
    shown: dict[str, str] = {}  # for a node, the one that is drawn in its place
    for node in graph.nodes:
        if node in unused:
            continue
        inputs = tuple(shown[source.name] for source in node.all_input_nodes)
        shown[node.name] = node.name
        if inputs and _short(_operation(node)) in without:
            shown[node.name] = inputs[0]
            continue
        if node.op == "output":
            outputs = inputs
            continue
        sources = node.meta.get("from_node") or ()
        nodes.append(
            Node(
                node.name,
                "" if node.op in ("placeholder", "get_attr") else _operation(node),
                inputs,
                "" if node.op in ("placeholder", "get_attr") else _numbers(node),
                frozenset(_roots(sources)),
            )
        )
    return Stage(title, tuple(nodes), outputs)


def _numbers(node: Any) -> str:
    """The arguments of a node with its inputs left out."""
    return str(torch.fx.map_arg((node.args, node.kwargs), lambda source: "_"))


def _operation(node: Any) -> str:
    if node.op != "call_function":
        return str(node.target)
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return str(torch.fx.graph._get_qualified_name(node.target)).rpartition(".")[2]


def _roots(sources: Sequence[Any]) -> list[str]:
    """The recorded nodes from which a node comes, however many graphs ago."""
    found = []
    for source in sources:
        found.append(source.name)
        found += _roots(source.from_node)
    return found
