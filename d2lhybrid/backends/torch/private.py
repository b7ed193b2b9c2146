"""Every private name of PyTorch that this folder uses, behind a small function.

Those that waiting needs stand in ``bindings.py``, those of what TorchDynamo has done in
``dynamo.py``, those of what Inductor is about to do in ``inductor.py``, those of the nodes of a
graph in ``nodes.py``. They are looked up when they are asked for; ``torch`` imports
``torch._dynamo`` and ``torch._inductor`` then. One that a version of PyTorch does not have raises
AttributeError or ImportError there, which ``explain`` and ``graph`` turn into a note.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import getclosurevars, isfunction, ismethod, signature
from typing import Any

import torch

from d2lhybrid.core.arguments import Function
from d2lhybrid.core.errors import CallFailedError, first_line
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import name_of

_SIZE = r"\S+\.size\(\)\[\d+\]"  # as a guard names it
# Whether programs that are compiled here are kept apart from the user's of the same code.
APART = {"isolate_recompiles": True}
if "isolate_recompiles" not in signature(torch.compile).parameters:
    APART.clear()


def conditions_on_sizes(program: Any) -> list[str]:
    """What an exported program asks of its inputs' sizes, except that two of them are equal.

    That a size is not 1, say, the exporter takes for granted, and lists only some such conditions.
    """
    guards = getattr(program, "_guards_code", ())
    granted = re.compile(rf".* != .*|{_SIZE} == {_SIZE}")
    return [guard for guard in guards if not granted.fullmatch(guard)]


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of nested arguments, and their structure."""
    leaves, structure = torch.utils._pytree.tree_flatten(tree)
    return leaves, structure


def original(model: Any) -> Any:
    """What was handed to ``torch.compile``; anything else as it is."""
    inner = None
    if isinstance(model, torch.nn.Module):
        inner = getattr(model, "_orig_mod", None)
    elif isfunction(model) or ismethod(model):
        inner = getattr(model, "_torchdynamo_orig_callable", None)
    return model if inner is None else original(inner)


def has_hooks(module: Any) -> bool:
    """Did the user register functions that a call of this module runs before or behind it?"""
    kinds = "_forward_pre_hooks", "_forward_hooks"
    return any(getattr(module, kind, None) for kind in kinds)


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


def graphs_made() -> int:
    """How many graphs TorchDynamo has handed to compilers in this process."""
    return _counted("stats", "unique_graphs")


def switched_off() -> str:
    """The setting that lets TorchDynamo compile nothing; nothing if none is seen."""
    dynamo = sys.modules.get("torch._dynamo")
    if getattr(getattr(dynamo, "config", None), "disable", False):
        return "torch._dynamo.config.disable"
    stance = getattr(getattr(dynamo, "eval_frame", None), "_stance", None)
    is_eager = getattr(stance, "stance", "") == "force_eager"
    return 'torch.compiler.set_stance("force_eager")' if is_eager else ""


def forget_programs() -> None:
    """Let Inductor look for what it has compiled on the disk alone."""
    utils = sys.modules.get("torch._inductor.utils")
    getattr(utils, "clear_caches", lambda: None)()


def is_dynamo_imported() -> bool:
    """Has anybody imported TorchDynamo, as ``torch.compile`` does?"""
    return "torch._dynamo" in sys.modules


def start_dynamo() -> None:
    """Import TorchDynamo. It takes a second, which belongs to none of the ways that need it."""
    import_module("torch._dynamo")


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


def scripted(net: Any) -> Any:
    """TorchScript of a copy of the user's model, on which it leaves attributes.

    Of a class that it once failed to compile in this process it keeps one half, and then says only
    that it cannot define the other again. So it forgets what it has compiled, which it needs for
    nothing else.
    """
    torch.jit._recursive.concrete_type_store.type_store.clear()
    return torch.jit.script(net)


def wants_gradients(run: Function, error: RuntimeError) -> CallFailedError:
    """The error of a callable that fails because it runs without gradients."""
    text = _(
        "Expected a model to run without gradients. Received: {name}, which computes them "
        "({error}). To compare the ways to run a training step, write {training}."
    )
    training = "training(net, loss, optimizer, (x, y))"
    said = text.format(name=name_of(run), error=first_line(error), training=training)
    return CallFailedError(said, label=name_of(run), reason=first_line(error))
