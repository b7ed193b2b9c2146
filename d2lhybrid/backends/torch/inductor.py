"""Inductor: what it has compiled, and what it would run, by private names of it.

As those of ``private.py``, they are looked up when they are asked for.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

import torch

from d2lhybrid.backends.hooks import hooked
from d2lhybrid.backends.torch.nodes import (
    has_effect,
    has_images_in_rows,
    operation_name,
    origins,
    short_name,
)
from d2lhybrid.backends.torch.private import counted
from d2lhybrid.core.errors import CannotBuildError
from d2lhybrid.core.i18n import gettext as _

CHANNELS_LAST = "channels-last"


class LoweredOp(NamedTuple):
    """An operation of ATen to which a recorded one is lowered."""

    operation: str
    has_effect: bool


class LibraryCall(NamedTuple):
    """A call of a library's function, and the nodes of the ATen graph that are this call."""

    operation: str
    nodes: frozenset[str]


class InductorStep(NamedTuple):
    """What runs between buffers; without `counts` it only names a part of a result."""

    reads: list[str]  # the names of buffers
    writes: list[str]  # the same
    noted: list[Any]  # the nodes of the ATen graph that Inductor notes for loops
    called: list[LibraryCall]
    counts: Counter[str] | None  # how often the loops compute each of Inductor's own operations


class Plan(NamedTuple):
    """What Inductor is about to run for a graph."""

    # For each recorded node, by its name, the operations of ATen that Inductor gets for it.
    lowered_ops: dict[str, list[LoweredOp]]
    aten: Any  # the ATen graph after its passes
    steps: list[InductorStep]
    outputs: list[str]  # the buffers that the steps return
    recorded_id: int  # by which notes in the ATen graph name the recorded one
    layout: str  # the one into which it brings images that come in another, "" if it does not


class _Planned(Exception):
    """Inductor knows its steps; what would follow is writing and compiling their code."""


def plan(recorded: Any, inputs: Any) -> Plan:
    """What Inductor would run for a graph that TorchDynamo recorded. Nothing is compiled.

    Raises:
        CannotBuildError: there is nothing to run.
        Exception: whatever Inductor says of a graph that it cannot plan.
    """
    import torch._inductor.compile_fx
    from torch._inductor.virtualized import V

    recorded_id = id(recorded.graph)
    lowered_ops: dict[str, list[LoweredOp]] = {}
    plans: list[Plan] = []

    def note_lowered_ops(graph: Any) -> None:
        """See the ATen graphs before their passes: those of branches first, the whole one last."""
        lowered_ops.clear()
        for node in graph.nodes:
            if node.op.startswith("call"):
                lowered_op = LoweredOp(operation_name(node), has_effect(node))
                for name in origins(node, recorded_id):
                    lowered_ops.setdefault(name, []).append(lowered_op)

    def compile_inner(aten: Any, examples: Any, **settings: Any) -> Any:
        def note_steps(scheduled: Any) -> Any:
            steps = [_step(node) for node in scheduled]
            outputs = V.graph.get_output_names()
            brings = getattr(V.graph, "layout_opt", False) and has_images_in_rows(
                aten.graph, inputs
            )
            layout = CHANNELS_LAST if brings else ""
            plans.append(Plan(lowered_ops, aten.graph, steps, outputs, recorded_id, layout))
            raise _Planned

        with torch._inductor.config.patch(_post_fusion_custom_pass=note_steps):
            return torch._inductor.compile_fx.compile_fx_inner(aten, examples, **settings)

    # What wants gradients makes Inductor plan a training: `variants` runs a model without.
    plain = [_without_gradient(x) if getattr(x, "requires_grad", False) else x for x in inputs]
    try:
        with (
            without_disk_cache(),
            # Freezing may take the weights away from the user's model.
            torch._inductor.config.patch(
                joint_custom_pre_pass=note_lowered_ops, freezing_discard_parameters=False
            ),
        ):
            torch._inductor.compile_fx.compile_fx(recorded, plain, inner_compile=compile_inner)
    except Exception:
        if not plans:
            raise
    if not plans:
        raise CannotBuildError(_("the graph computes nothing"))
    return plans[0]


def _without_gradient(tensor: torch.Tensor) -> torch.Tensor:
    """The same numbers, of which TorchDynamo knows as much, or each size would be a symbol."""
    plain = tensor.detach()
    context = torch._guards.TracingContext.try_get()
    known = getattr(context, "tensor_to_context", {})
    if tensor in known:
        known[plain] = known[tensor]
    return plain


def _step(scheduled: Any) -> InductorStep:
    """A node of Inductor's scheduler."""
    # Loops that only share the outer one are written apart.
    written_apart = getattr(scheduled, "get_outer_nodes", lambda: [scheduled])()
    loops = [_loops(part) for part in written_apart]
    noted = [origin for part in loops for loop in part for origin in loop.node.origins]
    calls = _library_calls(scheduled)
    counts = sum((_operation_counts([loop._body for loop in part]) for part in loops), Counter())
    return InductorStep(
        reads=[read.name for read in scheduled.read_writes.reads],
        writes=list(scheduled.get_buffer_names()),
        noted=[origin for origin in noted if origin.op.startswith("call")],
        called=[made for call in calls for made in _as_library_calls(call)],
        counts=counts if calls or any(loops) else None,
    )


def _loops(scheduled: Any) -> list[Any]:
    """The nodes in a node of the scheduler that are loops; what calls a library has no body."""
    return [node for node in scheduled.get_nodes() if getattr(node, "_body", None)]


def _library_calls(scheduled: Any) -> list[Any]:
    """What calls a library in a node of the scheduler, without what only names its results."""
    import torch._inductor.ir as ir

    nodes = [node.node for node in scheduled.get_nodes()]
    calls = [node for node in nodes if isinstance(node, ir.ExternKernel)]
    return [call for call in calls if not isinstance(call, (ir.MultiOutput, ir.NopKernel))]


def _as_library_calls(call: Any) -> list[LibraryCall]:
    """What calls a library, with its node. Inductor lists the nodes of its inputs as well.

    The node may be code of Inductor's, which says nothing; then the library's function does.
    """
    function = getattr(call, "op_overload", None)
    name = str(function or "")
    node = getattr(call, "origin_node", None)
    if node is not None:
        operation = name if function and isinstance(node.target, partial) else operation_name(node)
        return [LibraryCall(operation, frozenset({node.name}))]
    same_name = [one for one in call.origins if short_name(operation_name(one)) == short_name(name)]
    control_flow = torch._ops.HigherOrderOperator
    nodes = same_name or [one for one in call.origins if isinstance(one.target, control_flow)]
    if nodes or not function:
        return [LibraryCall(operation_name(one), frozenset({one.name})) for one in nodes]
    return [LibraryCall(name, frozenset())]


def _operation_counts(bodies: Sequence[Any]) -> Counter[str]:
    """How often each of Inductor's operations is computed in loops that are written together.

    What is computed from the same twice is written once, so this is value numbering.
    """
    numbers: dict[tuple[str, str], int] = {}  # of values, by the operation and its arguments
    counts: Counter[str] = Counter()
    for body in bodies:
        for block in (body.root_block, *body.subblocks.values()):
            values: dict[Any, Any] = {}
            for node in block.graph.nodes:
                if node.target == "get_index":
                    values[node] = f"{body.indexing_exprs[node.args[0]]} in {body.sizes}"
                    continue
                arguments = torch.fx.map_arg((node.args[1:], node.kwargs), values.get)
                key = (str(node.target), str(arguments))
                if node.op == "call_method" and key not in numbers:
                    counts[node.args[3] if node.target == "reduction" else node.target] += 1
                values[node] = f"v{numbers.setdefault(key, len(numbers))}"
    return counts


def configured(options: dict[str, Any]) -> AbstractContextManager[Any]:
    """A block in which Inductor has these options of ``torch.compile``."""
    patch: AbstractContextManager[Any] = torch._inductor.config.patch(options)
    return patch


def has_compiled() -> bool:
    """Has Inductor compiled or found a program in this process? No if it doesn't tell."""
    return any(counted("inductor", f"fxgraph_cache_{what}") for what in ("hit", "miss", "bypass"))


def disk_cache_hits() -> int:
    """How many programs were found in the caches on the disk; 0 if PyTorch doesn't tell."""
    return counted("aot_autograd", "autograd_cache_hit") + counted("inductor", "fxgraph_cache_hit")


def forget_programs() -> None:
    """Let Inductor look for what it has compiled on the disk alone."""
    utils = sys.modules.get("torch._inductor.utils")
    getattr(utils, "clear_caches", lambda: None)()


def start_disk_cache() -> None:
    """Hash the source of Inductor, which belongs to the key of every program on the disk."""
    import_module("torch._inductor.codecache").torch_key()


@contextmanager
def without_disk_cache() -> Iterator[None]:
    """Compile anew what Inductor may have on the disk."""
    import torch._functorch.config
    import torch._inductor.config

    with (
        torch._functorch.config.patch(enable_autograd_cache=False),
        torch._inductor.config.patch(fx_graph_cache=False),
    ):
        yield


@contextmanager
def graphs_noted(see: Callable[..., Any]) -> Iterator[list[Any]]:
    """What `see` makes of each graph that this thread lets Inductor compile.

    `see` gets the graph before Inductor does, with its inputs and the options of ``torch.compile``;
    None is noted if `see` raises. Inductor isn't imported, which takes seconds.
    """
    seen: list[Any] = []

    def note(*given: Any, **_options: Any) -> None:
        *wrapper, graph, inputs = given
        made = None
        with suppress(Exception):  # the graph is the user's: it is compiled in any case
            made = see(graph, [*inputs], dict(wrapper[0].config) if wrapper else {})
        seen.append(made)

    just_in_time = getattr(torch, "_TorchCompileInductorWrapper", None)
    ahead_of_time = sys.modules.get("torch._inductor.compile_fx")
    with hooked(just_in_time, "__call__", note), hooked(ahead_of_time, "compile_fx_aot", note):
        yield seen


@contextmanager
def programs_timed() -> Iterator[list[float]]:
    """When programs of Inductor's begin in this thread, by ``perf_counter``."""
    begun: list[float] = []
    kind = getattr(sys.modules.get("torch._inductor.output_code"), "CompiledFxGraph", None)
    with hooked(kind, "__call__", lambda *_given: begun.append(perf_counter())):
        yield begun
