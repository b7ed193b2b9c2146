"""Every private name of PyTorch that this room uses, behind a small function.

They are looked up when they are asked for. One that a version of PyTorch does not have raises
AttributeError or ImportError there, which ``explain`` and ``graph`` turn into a note.
"""

from collections.abc import Iterator, Sequence
from inspect import getclosurevars
from types import CodeType, SimpleNamespace
from typing import Any

import torch

from d2lhybrid.frameworks.explanation import Finding
from d2lhybrid.frameworks.tensors import Function


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


def without_gradients(run: Function) -> Any:
    """The same under ``torch.no_grad``, whose decorator takes as long as a small operation."""

    def call(*args: Any, **kwargs: Any) -> Any:
        before = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return run(*args, **kwargs)
        finally:
            torch._C._set_grad_enabled(before)

    return call


# What TorchDynamo has done.


def findings() -> tuple[list[Finding], list[tuple[Finding, object]]]:
    """The graph breaks of this process so far, each at the line of the user's code.

    And the latest functions that TorchDynamo gave up, with all that it said, and its records.
    """
    import torch._dynamo.output_graph
    import torch._dynamo.utils

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
    import torch._dynamo.utils

    return int(torch._dynamo.utils.counters["stats"]["unique_graphs"])


def codes_of(model: Any) -> list[CodeType]:
    """The code that TorchDynamo compiles for a model; for a module of ``torch.nn`` a wrapper."""
    inner = original(model)
    wrapper = getattr(getattr(model, "forward", model), "_torchdynamo_orig_callable", inner)
    forward = type(inner).forward if isinstance(inner, torch.nn.Module) else inner
    found = [getattr(function, "__code__", None) for function in (wrapper, forward)]
    return list({id(code): code for code in found if code}.values())


def compilations(model: Any) -> int:
    """How many programs TorchDynamo keeps of a compiled model, for the backend of its own.

    Modules of ``torch.nn`` share the code of their wrapper, and with them all programs.
    """
    import torch._dynamo.eval_frame

    wrapper = getattr(model, "_compiled_call_impl", None) or getattr(model, "forward", model)
    if original(wrapper) is wrapper or getattr(wrapper, "_torchdynamo_disable", False):
        return 0
    inside = SimpleNamespace(**getclosurevars(wrapper).nonlocals)  # so that a lack is no KeyError
    own = torch._dynamo.eval_frame.innermost_backend(inside.callback)
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list
    return sum(entry.backend is own for code in codes_of(model) for entry in entries(code))


def users_frames(error: Exception) -> list[tuple[str, int]] | None:
    """The lines of the user's code on the way to an error of TorchDynamo, where it noted them."""
    stack = getattr(error, "real_stack", None)
    return stack and [(frame.filename, frame.lineno or 0) for frame in stack]


# What Inductor is about to do.


class _Planned(Exception):
    """Inductor knows its kernels; what would follow is writing and compiling their code."""


def planned(recorded: Any, inputs: Any) -> tuple[Any, list[frozenset[str]]]:
    """The ATen graph after Inductor's passes, and for each kernel the names of its nodes in it.

    Raises:
        Exception: whatever Inductor says of a graph that it cannot plan.
    """
    import torch._functorch.config
    import torch._inductor.compile_fx
    import torch._inductor.config

    graphs: list[Any] = []
    kernels: list[frozenset[str]] = []

    def read(scheduled: Any) -> Any:
        kernels.extend(map(_nodes_of, scheduled))
        raise _Planned

    def inner(lowered: Any, examples: Any, **settings: Any) -> Any:
        with torch._inductor.config.patch(_post_fusion_custom_pass=read, fx_graph_cache=False):
            graphs.append(lowered.graph)
            return torch._inductor.compile_fx.compile_fx_inner(lowered, examples, **settings)

    try:
        with torch._functorch.config.patch(enable_autograd_cache=False):
            torch._inductor.compile_fx.compile_fx(recorded, inputs, inner_compile=inner)
    except Exception:
        if not kernels:
            raise
    return graphs[0], kernels


def _nodes_of(scheduled: Any) -> frozenset[str]:
    return frozenset(origin.name for one in scheduled.get_nodes() for origin in _origins(one.node))


def _origins(buffer: Any) -> Sequence[Any]:
    """Of a library's function the node that calls it, though Inductor lists its inputs, too."""
    import torch._inductor.ir

    one = getattr(buffer, "origin_node", None)
    library = one is not None and isinstance(buffer, torch._inductor.ir.ExternKernel)
    return (one,) if library else buffer.origins


def operation(node: Any) -> str:
    """What a node of a graph does: 'aten.add.Tensor', 'matmul', ..."""
    plain = node.op == "call_function" and type(node.target).__name__ != "OpOverload"
    return str(getattr(node.target, "__name__", node.target) if plain else node.target)


def sources(node: Any) -> Iterator[str]:
    """The names of the recorded nodes from which one comes, however many graphs ago."""
    waiting = list(node.meta.get("from_node") or ())
    while waiting:
        one = waiting.pop()
        yield one.name
        waiting += one.from_node
