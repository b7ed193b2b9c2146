"""Private names of PyTorch, each behind a small function.

Those of what TorchDynamo has done stand in ``dynamo.py``, those of Inductor in ``inductor.py``,
those of the nodes of a graph in ``nodes.py``. What PyTorch documents of AOTInductor has private
names, too, which ``export.py`` calls. They are looked up when they are asked for; ``torch``
imports ``torch._dynamo`` and ``torch._inductor`` then. One that a version of PyTorch does not have
raises AttributeError or ImportError there, which ``explain`` and ``graph`` turn into a note.
"""

import re
import sys
from collections.abc import Callable
from importlib import import_module
from inspect import getclosurevars, isfunction, ismethod, signature
from typing import Any, TypeVar

import torch

Marked = TypeVar("Marked", bound=Callable[..., object])

# What the public layers of each kind have in common.
BatchNorm = torch.nn.modules.batchnorm._BatchNorm
Dropout = torch.nn.modules.dropout._DropoutNd

# The option that keeps programs that are compiled here apart from the user's of the same code,
# where this version of PyTorch has it.
_HAS_APART = "isolate_recompiles" in signature(torch.compile).parameters
APART = {"isolate_recompiles": True} if _HAS_APART else {}

# Without the class that ``torch`` puts around it, which takes as long as a small operation.
set_grad_enabled = torch._C._set_grad_enabled


def cuda_context(index: int) -> bool:
    """Does this process have a context on a CUDA device?"""
    return torch.cuda.is_initialized() and bool(torch._C._cuda_hasPrimaryContext(index))


def is_tracing() -> bool:
    """Does this thread trace? ``is_compiling`` is one for all threads."""
    return bool(torch._C._len_torch_dispatch_stack())


def constant(function: Marked) -> Marked:
    """The function, whose result TorchDynamo takes as it is: it does not trace how it comes about.

    So does ``torch.compiler.assume_constant_result``, which imports TorchDynamo for it.
    """
    marked: Any = function
    marked._dynamo_marked_constant = True
    return function


def conditions_on_sizes(program: Any) -> list[str]:
    """What an exported program asks of its inputs' sizes, except that two of them are equal.

    That a size is not 1, say, the exporter takes for granted, and lists only some such conditions.
    """
    guards = getattr(program, "_guards_code", ())
    size = r"\S+\.size\(\)\[\d+\]"
    granted = re.compile(rf".* != .*|{size} == {size}")
    return [guard for guard in guards if not granted.fullmatch(guard)]


def original(model: Any) -> Any:
    """What was handed to ``torch.compile``; anything else as it is."""
    inner = None
    if isinstance(model, torch.nn.Module):
        inner = getattr(model, "_orig_mod", None)
    elif isfunction(model) or ismethod(model):
        inner = getattr(model, "_torchdynamo_orig_callable", None)
    return model if inner is None else original(inner)


def is_compiled_in_place(model: Any) -> bool:
    """Did the user call ``model.compile()``? A copy of such a module is not compiled."""
    return getattr(model, "_compiled_call_impl", None) is not None


def compiled_wrapper(model: Any) -> Any:
    """The function that TorchDynamo made of a compiled model; None of any other.

    A decorator around it, such as ``torch.no_grad()``, has taken its attributes.
    """
    wrapper = getattr(model, "_compiled_call_impl", None) or getattr(model, "forward", model)
    if original(wrapper) is wrapper or getattr(wrapper, "_torchdynamo_disable", False):
        return None
    is_decorator = wrapper.__wrapped__ is not wrapper._torchdynamo_orig_callable
    return compiled_wrapper(wrapper.__wrapped__) if is_decorator else wrapper


def is_compiled_by_inductor(model: Any) -> bool:
    """Did ``torch.compile`` or ``model.compile()`` get this for Inductor? No if it doesn't tell."""
    try:
        backend = backend_of(model)
    except AttributeError:
        return False
    return getattr(backend, "compiler_name", "") == "inductor"


def backend_of(model: Any) -> Any:
    """The backend for which ``torch.compile`` got this; None of what isn't compiled itself."""
    wrapper = compiled_wrapper(model)
    return torch._dynamo.eval_frame.innermost_backend(_callback(wrapper)) if wrapper else None


def recompile_limit(wrapper: Any) -> int:
    """How many programs of a code TorchDynamo compiles: as ``torch.compile`` was told, or globally.

    The callback keeps what it was told, behind those that were put around it.
    """
    callback = _callback(wrapper)
    limit: int | None = None
    while callback is not None and limit is None:
        limit = getattr(callback, "_recompile_limit", None)
        callback = getattr(callback, "_torchdynamo_orig_backend", None)
    return torch._dynamo.config.recompile_limit if limit is None else limit


def _callback(wrapper: Any) -> Any:
    context: Any = getclosurevars(wrapper).nonlocals.get("self")
    return context.callback


def is_dynamo_imported() -> bool:
    """Has anybody imported TorchDynamo, as ``torch.compile`` does?"""
    return "torch._dynamo" in sys.modules


def start_dynamo() -> None:
    """Import TorchDynamo. It takes a second, which belongs to none of the ways that need it."""
    import_module("torch._dynamo")


def counted(group: str, name: str) -> int:
    """One of the numbers that TorchDynamo keeps of the compilers; 0 if it keeps no such number."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return int(counters.get(group, {}).get(name, 0))


def graphs_made() -> int:
    """How many graphs TorchDynamo has handed to compilers in this process."""
    return counted("stats", "unique_graphs")


def scripted(net: Any) -> Any:
    """TorchScript of a copy of the user's model, on which it leaves attributes.

    Of a class that it once failed to compile in this process it keeps one half, and then says only
    that it cannot define the other again. So it forgets what it has compiled, which it needs for
    nothing else.
    """
    torch.jit._recursive.concrete_type_store.type_store.clear()
    return torch.jit.script(net)
