"""Every private name of PyTorch that this room uses, behind a small function.

They are looked up when they are asked for; ``torch`` imports ``torch._dynamo`` and
``torch._inductor`` then. One that a version of PyTorch does not have raises AttributeError or
ImportError there, which ``explain`` and ``graph`` turn into a note.
"""

import dis
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
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


def compile_options(model: Any) -> dict[str, Any] | None:
    """The options with which ``torch.compile`` was called; None for what it did not return.

    The backend among them has the mode and the options of the compiler.
    """
    context: Any = getattr(model, "dynamo_ctx", None)
    if isfunction(model) and hasattr(model, "_torchdynamo_orig_callable"):
        context = getclosurevars(model).nonlocals.get("self")
    if type(context).__name__ != "OptimizeContext":  # but one that switches TorchDynamo off, say
        return None
    return {
        "backend": torch._dynamo.eval_frame.innermost_backend(context.callback),
        "nopython": context.fullgraph,
        "dynamic": context._dynamic,
        "guard_filter_fn": getattr(context._hooks, "guard_filter_fn", None),
        "isolate_recompiles": context._isolate_recompiles_id >= 0,
    }


def compile_with(model: Any, options: Mapping[str, Any]) -> Any:
    """Compile as ``torch.compile`` did that had these options, found by ``compile_options``."""
    return torch._dynamo.optimize(**options)(model)


def uncompiled(model: Any) -> Any:
    """What the outermost ``torch.compile`` got."""
    return getattr(model, "_orig_mod", None) or model._torchdynamo_orig_callable


# Modules of settings; those that nobody has imported have none that are changed.
_SETTINGS = ("torch._dynamo.config", "torch._functorch.config", "torch._inductor.config")


def changed_settings() -> dict[str, dict[str, Any]]:
    """What the user has changed of the compiler's settings, by module; but no objects."""
    changed = {}
    for name in _SETTINGS:
        module: Any = sys.modules.get(name)
        values = module.get_config_copy() if module else {}
        changed[name] = {
            key: value
            for key, value in values.items()
            if isinstance(value, bool | int | float | str | None) and not module._is_default(key)
        }
    return {name: values for name, values in changed.items() if values}


def change_settings(settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Set what ``changed_settings`` of another process has returned."""
    for name, values in settings.items():
        module = import_module(name)
        for key, value in values.items():
            setattr(module, key, value)


def is_compiled_by_inductor(model: Any) -> bool:
    """Did ``torch.compile`` or ``model.compile()`` get this for Inductor? No if it doesn't tell."""
    in_place = getattr(model, "_compiled_call_impl", None)
    try:
        options = compile_options(in_place or model)
    except AttributeError:
        return False
    backend = options["backend"] if options else None
    return getattr(backend, "compiler_name", "") == "inductor"


def has_inductor_compiled() -> bool:
    """Has Inductor compiled or found a program in this process? No if it doesn't tell."""
    return any(_counted("inductor", f"fxgraph_cache_{what}") for what in ("hit", "miss", "bypass"))


def disk_cache_hits() -> int:
    """How many programs were found in the caches on the disk; 0 if PyTorch doesn't tell."""
    of_training = _counted("aot_autograd", "autograd_cache_hit")
    return of_training + _counted("inductor", "fxgraph_cache_hit")


def _counted(group: str, name: str) -> int:
    """One of TorchDynamo's counters, which must not be imported for it."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return int(counters.get(group, {}).get(name, 0))


def forget_programs() -> None:
    """Let Inductor look for what it has compiled on the disk alone."""
    utils = sys.modules.get("torch._inductor.utils")
    getattr(utils, "clear_caches", lambda: None)()


def start_disk_cache() -> None:
    """Hash the source of Inductor, which belongs to the key of every program on the disk."""
    codecache = import_module("torch._inductor.codecache")
    getattr(codecache, "torch_key", lambda: b"")()


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


class DynamoRecords(NamedTuple):
    """What TorchDynamo has noted in this process so far.

    ``breaks``: the graph breaks, each at the line of the user's code. ``failures``: the latest
    functions that it gave up, with all that it said, each with the record of that compilation.
    """

    breaks: list[Finding]
    failures: list[tuple[Finding, object]]


def dynamo_records() -> DynamoRecords:
    """What TorchDynamo has noted so far."""
    breaks = [
        (graph_break.reason.splitlines()[0], graph_break.user_stack[-1])
        for graph_break in torch._dynamo.output_graph.graph_break_reasons
        if graph_break.user_stack
    ]
    failed = [
        metrics
        for metrics in torch._dynamo.utils.get_compilation_metrics()
        if metrics.fail_type == "Unsupported"
    ]
    return DynamoRecords(
        [Finding(reason, frame.filename, frame.lineno or 0) for reason, frame in breaks],
        [(Finding(m.fail_reason, m.co_filename, m.co_firstlineno), m) for m in failed],
    )


def graphs_made() -> int:
    """How many graphs TorchDynamo has handed to compilers in this process."""
    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def codes_of(model: Any) -> list[CodeType]:
    """The code that TorchDynamo compiles for a model; for a module of ``torch.nn`` a wrapper."""
    inner = original(model)
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", inner)
    forward = type(inner).forward if isinstance(inner, torch.nn.Module) else inner
    codes = [getattr(function, "__code__", None) for function in (wrapper, forward)]
    return list({id(code): code for code in codes if code}.values())


def compilations(model: Any) -> int:
    """How many programs TorchDynamo keeps of what is compiled of a model, for its own backends.

    Modules of ``torch.nn`` share the code of their wrapper, and with them all programs.
    """
    programs_of = torch._dynamo.eval_frame._debug_get_cache_entry_list
    counted = set()  # by their code, as two callables may have the same programs
    for inner in compilable_in(model):
        if wrapper := _wrapper(inner):
            backend = torch._dynamo.eval_frame.innermost_backend(_callback(wrapper))
            programs = [program for code in codes_of(inner) for program in programs_of(code)]
            counted |= {id(program.code) for program in programs if program.backend is backend}
    return len(counted)


def limits(model: Any) -> list[tuple[CodeType, int]]:
    """The code of a model of which TorchDynamo compiles no more programs, and the limit.

    What is not compiled itself counts as well: the next to compile it meets the same limit,
    because the programs belong to the code.
    """
    reached: dict[int, tuple[CodeType, int]] = {}
    for inner in compilable_in(model):
        wrapper = _wrapper(inner)
        if inner is not model and not wrapper:
            continue
        limit = _own_limit(_callback(wrapper)) if wrapper else None
        limit = torch._dynamo.config.recompile_limit if limit is None else limit
        region = getattr(wrapper, "_isolate_recompiles_id", -1)
        for code in codes_of(inner):
            if _program_count(code, region) >= limit:
                reached[id(code)] = code, limit
    return list(reached.values())


def _program_count(code: CodeType, region: int) -> int:
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


def compilable_in(model: Any) -> list[Any]:
    """The model, and what may be compiled in it: its modules, or what a function names."""
    if isinstance(model, torch.nn.Module):
        return list(model.modules())
    if _wrapper(model) or not isfunction(model):
        return [model]
    callables: list[Any] = [model]
    for named in filter(callable, _named_in(model)):
        callables += named.modules() if isinstance(named, torch.nn.Module) else [named]
    return callables


def _named_in(function: Any) -> list[Any]:
    """The objects that a function names as globals or takes from around it, as far as they exist.

    ``inspect.getclosurevars`` takes an attribute for a global of the same name, and fails where
    what is around the function doesn't exist yet.
    """
    from_around = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            from_around.append(cell.cell_contents)
    loads = [i.argval for i in dis.get_instructions(function) if i.opname == "LOAD_GLOBAL"]
    names, module = dict.fromkeys(loads), function.__globals__
    return [*from_around, *(module[name] for name in names if name in module)]


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


def in_tracing_context(make: Function) -> Function:
    """`make`, to be called when TorchDynamo is done, with what it knows of sizes now."""
    context = torch._guards.TracingContext.try_get()

    def call() -> Any:
        with torch._guards.tracing(context):
            return make()

    return call


# What Inductor is about to do.


class LoweredOp(NamedTuple):
    """An operation of ATen to which a recorded one is lowered."""

    operation: str
    has_effect: bool


class InductorStep(NamedTuple):
    """What runs between buffers; without `counts` it only names a part of a result.

    ``reads`` and ``writes``: the names of buffers. ``noted``: the nodes of the ATen graph that
    Inductor notes for loops, ``called`` those that are calls of a library. ``counts``: how often
    the loops compute each of Inductor's own operations.
    """

    reads: list[str]
    writes: list[str]
    noted: list[Any]
    called: list[Any]
    counts: Counter[str] | None


class Plan(NamedTuple):
    """What Inductor is about to run for a graph.

    ``lowered_ops``: for each recorded node, by its name, the operations of ATen that Inductor gets
    for it. ``aten``: the ATen graph after its passes. ``outputs``: the buffers that the steps
    return. ``recorded_id``: by which notes in the ATen graph name the recorded one.
    """

    lowered_ops: dict[str, list[LoweredOp]]
    aten: Any
    steps: list[InductorStep]
    outputs: list[str]
    recorded_id: int


class _Planned(Exception):
    """Inductor knows its steps; what would follow is writing and compiling their code."""


def plan(recorded: Any, inputs: Any) -> Plan:
    """What Inductor would run for a graph that TorchDynamo recorded. Nothing is compiled.

    Raises:
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
            plans.append(Plan(lowered_ops, aten.graph, steps, outputs, recorded_id))
            raise _Planned

        with torch._inductor.config.patch(
            _post_fusion_custom_pass=note_steps, fx_graph_cache=False
        ):
            return torch._inductor.compile_fx.compile_fx_inner(aten, examples, **settings)

    # What wants gradients makes Inductor plan a training: `variants` runs a model without.
    plain = [x.detach() if getattr(x, "requires_grad", False) else x for x in inputs]
    try:
        with (
            torch._functorch.config.patch(enable_autograd_cache=False),
            torch._inductor.config.patch(joint_custom_pre_pass=note_lowered_ops),
        ):
            torch._inductor.compile_fx.compile_fx(recorded, plain, inner_compile=compile_inner)
    except Exception:
        if not plans:
            raise
    return plans[0]


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
        called=[node for call in calls for node in _called_nodes(call)],
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


def _called_nodes(call: Any) -> list[Any]:
    """The node that calls a library's function. Inductor lists those of its inputs as well."""
    if getattr(call, "origin_node", None) is not None:
        return [call.origin_node]
    name = str(getattr(call, "op_overload", None)).split(".")[:2]
    same_name = [node for node in call.origins if operation_name(node).split(".")[:2] == name]
    control_flow = torch._ops.HigherOrderOperator
    return same_name or [node for node in call.origins if isinstance(node.target, control_flow)]


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


def is_inductor_operation(name: str) -> bool:
    """Does Inductor have an operation of this name for its loops?"""
    return hasattr(torch._inductor.ops_handler.OpsHandler, name)


def has_effect(node: Any) -> bool:
    """Does a node draw random numbers, print, or write to its inputs? Or one in its branches?"""
    if node.op in ("placeholder", "output", "get_attr"):
        return False
    branches = [graph for graph in map(branch_graph, node.all_input_nodes) if graph]
    return (
        (node.op == "call_function" and node.is_impure())
        or torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        or any(has_effect(inner) for branch in branches for inner in branch.graph.nodes)
    )


def branch_graph(node: Any) -> Any:
    """The graph of a branch or of a loop's body, if a node stands for one; else None."""
    attribute = getattr(node.graph.owning_module, str(node.target), None)
    is_branch = node.op == "get_attr" and isinstance(attribute, torch.fx.GraphModule)
    return attribute if is_branch else None


def draws_random_numbers(name: str) -> bool:
    """Does the ATen operation of this name draw random numbers?"""
    packet = getattr(torch.ops.aten, name, None)
    overloads = [getattr(packet, overload) for overload in packet.overloads()] if packet else []
    return any(torch.Tag.nondeterministic_seeded in overload.tags for overload in overloads)


def operation_name(node: Any) -> str:
    """What a node of a graph does: 'aten.add.Tensor', 'matmul', ..."""
    is_python = node.op == "call_function" and type(node.target).__name__ != "OpOverload"
    return str(getattr(node.target, "__name__", node.target) if is_python else node.target)


def origins(node: Any, graph_id: int) -> frozenset[str]:
    """The names of the nodes of a graph from which one comes, however many graphs ago."""
    names, sources = set(), list(node.meta.get("from_node") or ())
    while sources:
        source = sources.pop()
        if source.graph_id == graph_id:
            names.add(source.name)
        sources += source.from_node
    return frozenset(names)
