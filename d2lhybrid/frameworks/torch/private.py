"""Every private name of PyTorch that this room uses, behind a small function.

They are looked up when they are asked for; ``torch`` imports ``torch._dynamo`` and
``torch._inductor`` then. One that a version of PyTorch does not have raises AttributeError or
ImportError there, which ``explain`` and ``graph`` turn into a note.
"""

import dis
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from inspect import getclosurevars, isfunction
from types import CodeType, SimpleNamespace
from typing import Any, NamedTuple

import torch

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.errors import CallFailedError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Finding


def original(model: Any) -> Any:
    """What was handed to ``torch.compile``; anything else as it is."""
    inner = getattr(model, "_orig_mod", getattr(model, "_torchdynamo_orig_callable", None))
    return model if inner is None else original(inner)


def is_compiled_in_place(model: Any) -> bool:
    """Did the user call ``model.compile()``? A copy of such a module is not compiled."""
    return getattr(model, "_compiled_call_impl", None) is not None


def cuda_context(index: int) -> bool:
    """Does this process have a context on a CUDA device? Yes where PyTorch does not tell."""
    has_context = getattr(torch._C, "_cuda_hasPrimaryContext", lambda index: True)
    return torch.cuda.is_initialized() and bool(has_context(index))


def is_tracing() -> bool:
    """Does this thread trace? Yes where it does not tell, for ``is_compiling`` is one for all."""
    return bool(getattr(torch._C, "_len_torch_dispatch_stack", lambda: True)())


def without_gradients(run: Function) -> Any:
    """The same under ``torch.no_grad``, whose decorator takes as long as a small operation."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return run(*args, **kwargs)
        except RuntimeError as error:
            if not before or "grad_fn" not in str(error):
                raise
            raise wants_gradients(run, error) from error
        finally:
            torch._C._set_grad_enabled(before)

    return call


def scripted(copy: Function) -> Any:
    """TorchScript of what `copy` makes. It leaves attributes, so each try needs a separate copy.

    TorchScript keeps one half of a class that it once failed to compile in this process, and then
    says only that it cannot define the other half again. Once that half is forgotten, TorchScript
    gives the true reason.
    """
    net = copy()
    try:
        return torch.jit.script(net)
    except RuntimeError as error:
        if "Can't redefine method" not in str(error):
            raise
    recursive = getattr(torch.jit, "_recursive", None)
    types = getattr(getattr(recursive, "concrete_type_store", None), "type_store", {})
    for part in net.modules():
        types.pop(type(part), None)
    return torch.jit.script(copy())


def wants_gradients(run: Function, error: RuntimeError) -> CallFailedError:
    """The error of a callable that fails because it runs without gradients."""
    text = _(
        "Expected a model to run without gradients. Received: {name}, which computes them "
        "({error}). To compare the ways to run a training step, write {training}."
    )
    training = "training(net, loss, optimizer, (x, y))"
    said = text.format(name=name_of(run), error=first_line(error), training=training)
    return CallFailedError(said, label=name_of(run), reason=first_line(error))


# What TorchDynamo has done.


def findings() -> tuple[list[Finding], list[tuple[Finding, object]]]:
    """The graph breaks of this process so far, each at the line of the user's code.

    And the latest functions that TorchDynamo gave up, with all that it said, and its records.
    """
    found = torch._dynamo.output_graph.graph_break_reasons
    breaks = [(one.reason.splitlines()[0], one.user_stack[-1]) for one in found if one.user_stack]
    latest = torch._dynamo.utils.get_compilation_metrics()
    failed = [one for one in latest if one.fail_type == "Unsupported"]
    return (
        [Finding(reason, place.filename, place.lineno or 0) for reason, place in breaks],
        [(Finding(one.fail_reason, one.co_filename, one.co_firstlineno), one) for one in failed],
    )


def graphs_made() -> int:
    """How many graphs TorchDynamo has handed to compilers in this process."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def codes_of(model: Any) -> list[CodeType]:
    """The code that TorchDynamo compiles for a model; for a module of ``torch.nn`` a wrapper."""
    inner = original(model)
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", inner)
    forward = type(inner).forward if isinstance(inner, torch.nn.Module) else inner
    found = [getattr(function, "__code__", None) for function in (wrapper, forward)]
    return list({id(code): code for code in found if code}.values())


def compilations(model: Any) -> int:
    """How many programs TorchDynamo keeps of what is compiled of a model, for its own backends.

    Modules of ``torch.nn`` share the code of their wrapper, and with them all programs.
    """
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list
    found = set()  # of programs by their code, as two parts may have the same ones
    for part in parts_of(model):
        if wrapper := _wrapper(part):
            own = torch._dynamo.eval_frame.innermost_backend(_callback(wrapper))
            kept = [entry for code in codes_of(part) for entry in entries(code)]
            found |= {id(entry.code) for entry in kept if entry.backend is own}
    return len(found)


def limits(model: Any) -> list[tuple[CodeType, int]]:
    """The code of a model of which TorchDynamo compiles no more programs, and the limit.

    What is not compiled itself counts as well: the next to compile it meets the same limit,
    because the programs belong to the code.
    """
    found: dict[int, tuple[CodeType, int]] = {}
    for part in parts_of(model):
        wrapper = _wrapper(part)
        if part is not model and not wrapper:
            continue
        limit = _own_limit(_callback(wrapper)) if wrapper else None
        limit = torch._dynamo.config.recompile_limit if limit is None else limit
        region = getattr(wrapper, "_isolate_recompiles_id", -1)
        for code in codes_of(part):
            if _programs(code, region) >= limit:
                found[id(code)] = code, limit
    return list(found.values())


def _programs(code: CodeType, region: int) -> int:
    """How many programs of a code count for the limit of a region; before regions, all."""
    of_region = getattr(torch._dynamo.eval_frame, "_get_cache_entries_for_region", None)
    if of_region:
        return len(of_region(code, region))
    return len(torch._dynamo.eval_frame._debug_get_cache_entry_list(code))


def _own_limit(callback: Any) -> int | None:
    """The limit that ``torch.compile`` was given for this model alone."""
    while callback is not None:
        limit: int | None = getattr(callback, "_recompile_limit", None)
        if limit is not None:
            return limit
        callback = getattr(callback, "_torchdynamo_orig_backend", None)
    return None


def parts_of(model: Any) -> list[Any]:
    """The model, and what may be compiled in it: its modules, or what a function names."""
    if isinstance(model, torch.nn.Module):
        return list(model.modules())
    if _wrapper(model) or not isfunction(model):
        return [model]
    named = [one for one in _named_in(model) if callable(one)]
    return [model, *(part for one in named for part in _modules_or_itself(one))]


def _named_in(function: Any) -> list[Any]:
    """The objects that a function names as globals or takes from around it, as far as there are.

    ``inspect.getclosurevars`` takes an attribute for a global of the same name, and fails where
    what is around the function is not there yet.
    """
    found = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            found.append(cell.cell_contents)
    loads = [one for one in dis.get_instructions(function) if one.opname == "LOAD_GLOBAL"]
    names = dict.fromkeys(one.argval for one in loads)
    around = function.__globals__
    return [*found, *(around[name] for name in names if name in around)]


def _modules_or_itself(thing: Any) -> list[Any]:
    return list(thing.modules()) if isinstance(thing, torch.nn.Module) else [thing]


def _wrapper(model: Any) -> Any:
    """The function that TorchDynamo made of a compiled model; None of any other."""
    wrapper = getattr(model, "_compiled_call_impl", None) or getattr(model, "forward", model)
    if original(wrapper) is wrapper or getattr(wrapper, "_torchdynamo_disable", False):
        return None
    return wrapper


def _callback(wrapper: Any) -> Any:
    return SimpleNamespace(**getclosurevars(wrapper).nonlocals).callback  # a lack is no KeyError


def users_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The lines of the user's code on the way to an error of TorchDynamo, where it noted them."""
    stack = getattr(error, "real_stack", None)
    return stack and [(frame.filename, frame.lineno or 0) for frame in stack]


def later(make: Function) -> Function:
    """`make`, to be called when TorchDynamo is done, with what it knows of sizes now."""
    known = torch._guards.TracingContext.try_get()

    def call() -> Any:
        with torch._guards.tracing(known):
            return make()

    return call


# What Inductor is about to do.


class InductorStep(NamedTuple):
    """What runs between buffers; without `counts` it only names a part of a result.

    ``noted``: the nodes of the ATen graph that Inductor notes for loops, ``called`` those that are
    calls. ``counts``: how often the loops compute each of Inductor's own operations.
    """

    reads: list[str]
    writes: list[str]
    noted: list[Any]
    called: list[Any]
    counts: Counter[str] | None


class Plan(NamedTuple):
    """What Inductor is handed, the ATen graph after its passes, the steps, and what they return.

    ``handed``: for a recorded node the ATen operations, and whether each has an effect.
    ``recorded``: the number by which notes in the ATen graph name the recorded one.
    """

    handed: dict[str, list[tuple[str, bool]]]
    lowered: Any
    steps: list[InductorStep]
    outputs: list[str]
    recorded: int


class _Planned(Exception):
    """Inductor knows its steps; what would follow is writing and compiling their code."""


def planned(recorded: Any, inputs: Any) -> Plan:
    """What Inductor would run for a graph.

    Raises:
        Exception: whatever Inductor says of a graph that it cannot plan.
    """
    import torch._inductor.compile_fx
    from torch._inductor.virtualized import V

    own, handed = id(recorded.graph), {}  # type: int, dict[str, list[tuple[str, bool]]]
    # What wants gradients makes Inductor plan a training: `variants` runs a model without.
    plain = [one.detach() if getattr(one, "requires_grad", False) else one for one in inputs]
    plans: list[Plan] = []

    def before(graph: Any) -> None:  # those of the branches first, the whole graph last
        handed.clear()
        for node in (one for one in graph.nodes if one.op.startswith("call")):
            for name in sources(node, own):
                handed.setdefault(name, []).append((operation(node), effect(node)))

    def inner(lowered: Any, examples: Any, **settings: Any) -> Any:
        def read(scheduled: Any) -> Any:
            steps, outputs = [_step(one) for one in scheduled], V.graph.get_output_names()
            plans.append(Plan(handed, lowered.graph, steps, outputs, own))
            raise _Planned

        with torch._inductor.config.patch(_post_fusion_custom_pass=read, fx_graph_cache=False):
            return torch._inductor.compile_fx.compile_fx_inner(lowered, examples, **settings)

    try:
        with (
            torch._functorch.config.patch(enable_autograd_cache=False),
            torch._inductor.config.patch(joint_custom_pre_pass=before),
        ):
            torch._inductor.compile_fx.compile_fx(recorded, plain, inner_compile=inner)
    except Exception:
        if not plans:
            raise
    return plans[0]


def _step(scheduled: Any) -> InductorStep:
    """A node of Inductor's scheduler. Loops that only share the outer one are written apart."""
    import torch._inductor.ir as ir

    apart = getattr(scheduled, "get_outer_nodes", lambda: [scheduled])()
    inside = [[n for n in one.get_nodes() if getattr(n, "_body", None)] for one in apart]
    noted = [origin for loops in inside for one in loops for origin in one.node.origins]
    calls = [node.node for node in scheduled.get_nodes() if isinstance(node.node, ir.ExternKernel)]
    calls = [one for one in calls if not isinstance(one, (ir.MultiOutput, ir.NopKernel))]
    counts = sum((_counts([one._body for one in loops]) for loops in inside), Counter())
    reads = [read.name for read in scheduled.read_writes.reads]
    return InductorStep(
        reads,
        list(scheduled.get_buffer_names()),
        [origin for origin in noted if origin.op.startswith("call")],
        [node for call in calls for node in _called(call)],
        counts if calls or any(inside) else None,
    )


def _called(call: Any) -> list[Any]:
    """The node that calls a library's function, of all that Inductor lists, its inputs, too."""
    if getattr(call, "origin_node", None) is not None:
        return [call.origin_node]
    name = str(getattr(call, "op_overload", None)).split(".")[:2]
    found = [one for one in call.origins if operation(one).split(".")[:2] == name]
    control = torch._ops.HigherOrderOperator
    return found or [one for one in call.origins if isinstance(one.target, control)]


def _counts(loops: Sequence[Any]) -> Counter[str]:
    """How often each of Inductor's operations is computed in loops that are written together.

    What is computed from the same twice is written once.
    """
    numbers: dict[tuple[str, str], int] = {}
    counts: Counter[str] = Counter()
    for body in loops:
        for block in (body.root_block, *body.subblocks.values()):
            values: dict[Any, Any] = {}
            for node in block.graph.nodes:
                if node.target == "get_index":
                    values[node] = f"{body.indexing_exprs[node.args[0]]} in {body.sizes}"
                    continue
                given = torch.fx.map_arg((node.args[1:], node.kwargs), values.get)
                key = (str(node.target), str(given))
                if node.op == "call_method" and key not in numbers:
                    counts[node.args[3] if node.target == "reduction" else node.target] += 1
                values[node] = f"v{numbers.setdefault(key, len(numbers))}"
    return counts


def computes(name: str) -> bool:
    """Is it an operation of Inductor's own?"""
    return hasattr(torch._inductor.ops_handler.OpsHandler, name)


def effect(node: Any) -> bool:
    """Does a node draw random numbers, print, or write to what it is given?"""
    if node.op in ("placeholder", "output", "get_attr"):
        return False
    branches = [one.graph.nodes for one in map(branch, node.all_input_nodes) if one]
    return (
        (node.op == "call_function" and node.is_impure())
        or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        or any(effect(one) for nodes in branches for one in nodes)
    )


def branch(node: Any) -> Any:
    """The graph of a branch or of a loop's body, if a node stands for one; else None."""
    found = getattr(node.graph.owning_module, str(node.target), None)
    inside = node.op == "get_attr" and isinstance(found, torch.fx.GraphModule)
    return found if inside else None


def draws(name: str) -> bool:
    """Does the ATen operation of a name draw random numbers?"""
    every = getattr(torch.ops.aten, name, None)
    tags = [getattr(every, overload).tags for overload in every.overloads()] if every else []
    return any(torch.Tag.nondeterministic_seeded in one for one in tags)


def operation(node: Any) -> str:
    """What a node of a graph does: 'aten.add.Tensor', 'matmul', ..."""
    plain = node.op == "call_function" and type(node.target).__name__ != "OpOverload"
    return str(getattr(node.target, "__name__", node.target) if plain else node.target)


def sources(node: Any, graph: int) -> frozenset[str]:
    """The names of the nodes of a graph from which one comes, however many graphs ago."""
    found, waiting = set(), list(node.meta.get("from_node") or ())
    while waiting:
        one = waiting.pop()
        found |= {one.name} if one.graph_id == graph else set()
        waiting += one.from_node
    return frozenset(found)
