"""A graph of PyTorch: TorchDynamo records it, AOTAutograd lowers it, Inductor fuses it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch._dynamo
from torch._functorch import config as functorch_config
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import config
from torch._inductor.compile_fx import compile_fx, compile_fx_inner

from d2lhybrid.frameworks.explanation import name_of, quiet, require_runs
from d2lhybrid.frameworks.graph import Graph, Node, Stage, judged
from d2lhybrid.frameworks.torch.explain import eager_of
from d2lhybrid.i18n import gettext as _

_LITERALS = ("aten.full", "aten.scalar_tensor")
_FUSING = ("aten.addmm", "aten.baddbmm", "aten.addmv", "mkldnn.")


class _Planned(Exception):
    """Inductor knows its kernels; what would follow is writing and compiling their code."""


def graphs(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Graph, ...]:
    """Run a module or function once under TorchDynamo; nothing is compiled, no compiler needed.

    What was compiled before stays. A graph that Inductor cannot plan has its recorded stage only.
    """
    original, eager = eager_of(model)
    found: list[tuple[Stage, ...]] = []
    options = {}
    if "isolate_recompiles" in inspect.signature(torch.compile).parameters:
        options["isolate_recompiles"] = True  # else this run would count towards the limit

    def backend(recorded: Any, inputs: Any) -> Any:
        stages = [_stage(_("recorded by TorchDynamo"), recorded.graph)]
        number = len(found)
        found.append(tuple(stages))

        def inner(lowered: Any, example_inputs: Any, **settings: Any) -> Any:
            if not settings.get("is_backward"):
                found[number] = tuple(stages + _planned(lowered, example_inputs, settings))
            return make_boxed_func(lowered.forward)

        return compile_fx(recorded, inputs, inner_compile=inner)

    with quiet(), functorch_config.patch(enable_autograd_cache=False):
        try:
            torch.compile(eager, backend=backend, **options)(*args, **kwargs)
        except Exception:
            require_runs(name_of(original), lambda: eager(*args, **kwargs))
    version = f"PyTorch {torch.__version__.partition('+')[0]}"
    return tuple(Graph(version, name_of(original), _judged(stages)) for stages in found)


def _judged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    return judged(
        stages,
        fuses=lambda operation: operation.startswith(_FUSING),
        literal=lambda operation: operation.startswith(_LITERALS),
    )


def _planned(lowered: Any, inputs: Any, settings: dict[str, Any]) -> list[Stage]:
    """The ATen graph after Inductor's passes, and the kernels that it makes of it."""
    kernels: list[tuple[Any, ...]] = []

    def read(scheduled: Any) -> Any:
        kernels.extend(map(_kernel, scheduled))
        raise _Planned

    forward = lowered.forward
    with config.patch(_post_fusion_custom_pass=read, fx_graph_cache=False):
        try:
            compile_fx_inner(lowered, inputs, **settings)
        except Exception:
            if not kernels:
                return []
    lowered.forward = forward
    aten = _stage(_("as ATen operations"), lowered.graph)
    return [aten, _kernels(aten, lowered.graph, kernels)]


def _kernel(scheduled: Any) -> tuple[str, set[str], list[str], list[str]]:
    """Its name, the ATen nodes that it computes, the buffers that it reads, and those it writes."""
    origins = {o.name for one in scheduled.get_nodes() for o in getattr(one.node, "origins", ())}
    reads = sorted(dependency.name for dependency in scheduled.read_writes.reads)
    return scheduled.get_name(), origins, reads, sorted(scheduled.get_buffer_names())


def _kernels(aten: Stage, graph: Any, kernels: Sequence[tuple[Any, ...]]) -> Stage:
    names = {buffer: name for name, _origins, _reads, writes in kernels for buffer in writes}
    nodes = [replace(node, origins=frozenset({node.name})) for node in aten.nodes]
    inputs = [node for node in nodes if not node.operation]
    known = {node.name for node in inputs}
    done = []
    for name, origins, reads, _writes in kernels:
        inside = [node for node in aten.operations if node.name in origins]
        kinds = {(n.operation, n.key, n.inputs): n for n in inside if not _is_literal(n)}
        parts = tuple(_short(node.operation) for node in kinds.values())
        sources = [names.get(read, read) for read in reads]
        done.append(
            Node(
                name,
                parts[0] if len(parts) == 1 else " ".join(parts) or name,
                tuple(
                    dict.fromkeys(s for s in sources if s != name and (s in known or s in names))
                ),
                origins=frozenset(origins),
                parts=parts,
            )
        )
    last = tuple(node.name for node in done)
    title = _("as kernels of Inductor")
    return Stage(title, (*inputs, *done), last)


def _is_literal(node: Node) -> bool:
    return node.operation.startswith(_LITERALS)


def _short(operation: str) -> str:
    """'add' of 'aten.add.Tensor'."""
    return operation.split(".")[1] if operation.startswith("aten.") else operation


def _stage(title: str, graph: Any) -> Stage:
    nodes = []
    outputs: tuple[str, ...] = ()
    for node in graph.nodes:
        inputs = tuple(source.name for source in node.all_input_nodes)
        if node.op == "output":
            outputs = inputs
            continue
        sources = node.meta.get("from_node") or ()
        nodes.append(
            Node(
                node.name,
                "" if node.op in ("placeholder", "get_attr") else _operation(node),
                inputs,
                f"{node.args} {node.kwargs}" if not inputs else _numbers(node),
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
    name: Callable[..., str] = torch.fx.graph._get_qualified_name
    if isinstance(node.target, torch._ops.OpOverload):
        return str(node.target)
    return name(node.target).removeprefix("torch.").removeprefix("_operator.")


def _roots(sources: Sequence[Any]) -> list[str]:
    """The recorded nodes from which a node comes, however many graphs ago."""
    found = []
    for source in sources:
        found.append(source.name)
        found += _roots(source.from_node)
    return found
