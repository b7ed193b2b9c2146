"""The ways to run a model that PyTorch offers."""

from collections.abc import Callable
from copy import deepcopy
from inspect import signature
from typing import Any

import torch
import torch.nn.functional as F

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import CompilerMissingError
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Layer,
    Lazy,
    Variant,
    chain,
    copied,
    require_options,
)
from d2lhybrid.frameworks.torch import ahead
from d2lhybrid.frameworks.torch.layers import parts
from d2lhybrid.i18n import noop as N_

_RUN = "y = fast(x)"
_NO_MODULE = N_("there is no module, only a function")


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    They run a twin of the model, for TorchScript leaves attributes on what it compiles, and each
    TorchScript a twin of its own, for what one leaves behind hides what is wrong with the next.
    """
    require_options("torch.compile", options, ("dynamic", "backend", "mode"))
    if isinstance(net, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return _scripted(net)
    net = uncompiled(net)
    if isinstance(net, torch.nn.Module):
        net = twin(net)
    found = {
        "eager": Variant(net, "y = net(x)"),
        "inference_mode": Variant(
            _without_autograd(net), "with torch.inference_mode():\n    y = net(x)"
        ),
        **_torchscript(net),
        "torch.compile": _compiled(net, **options),
        **_tuned(net, options),
        "aotinductor": _ahead(net, args, kwargs, ahead.Compiled, ahead.COMPILED),
    }
    return found | (_expert(net, args, kwargs, options) if everything else {})


def compiled(net: Function, **options: Any) -> Function:
    """torch.compile with a cache of its own, or what was compiled before would be taken again.

    A PyTorch that cannot do that shares one cache among all models whose code is the same, up to
    eight programs in all; behind these it runs them eagerly.
    """
    if "isolate_recompiles" in signature(torch.compile).parameters:
        options["isolate_recompiles"] = True
    return torch.compile(net, **options)


def twin(net: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares its tensors with the model; not in training mode, which changes them.

    Parts that were compiled are as they were before.
    """
    tensors = [] if net.training else [*net.parameters()]
    # What a forward left behind (the weight of weight_norm, a last activation) cannot be copied.
    left = (value for module in net.modules() for value in vars(module).values())
    tensors += [v for v in left if isinstance(v, torch.Tensor) and not v.is_leaf]
    memo = {id(tensor): tensor for tensor in tensors}
    return _without_compiled_parts(copied(net, memo))


def uncompiled(net: Any) -> Any:
    """The model or function that was handed to ``torch.compile``."""
    return getattr(net, "_orig_mod", getattr(net, "_torchdynamo_orig_callable", net))


def _without_compiled_parts(module: Any) -> Any:
    module = uncompiled(module)
    vars(module).pop("_compiled_call_impl", None)  # what module.compile() sets
    for name, child in module.named_children():
        setattr(module, name, _without_compiled_parts(child))
    return module


def _scripted(net: Any) -> dict[str, Variant]:
    reason = N_("TorchScript keeps no Python code to run: hand over the model it was made from")
    return {
        "torchscript": Variant(net, "y = net(x)"),
        "torchscript frozen": _frozen(net, lambda: deepcopy(net), "frozen = torch.jit.freeze(net)"),
        "inference_mode": Variant(N_("once TorchScript has run with autograd, it fails without")),
        **{name: Variant(reason) for name in ("eager", "torch.compile", "aotinductor")},
    }


def _without_autograd(net: Function) -> Function:
    inference_mode = torch.inference_mode

    def inference(*args: Any, **kwargs: Any) -> Any:
        with inference_mode():
            return net(*args, **kwargs)

    return inference


def _torchscript(net: Any) -> dict[str, Variant]:
    def script() -> Any:
        return torch.jit.script(twin(net) if isinstance(net, torch.nn.Module) else net)

    freezing = "frozen = torch.jit.freeze(torch.jit.script(net))"
    return {
        "torchscript": Variant(Lazy(script), "fast = torch.jit.script(net)\n" + _RUN),
        "torchscript frozen": _frozen(net, script, freezing),
    }


def _frozen(net: Any, script: Function, freezing: str) -> Variant:
    if not isinstance(net, torch.nn.Module):
        return Variant(_NO_MODULE)
    if net.training:
        return Variant(N_("the model is in training mode; freezing wants net.eval()"))
    return Variant(
        Lazy(lambda: torch.jit.optimize_for_inference(torch.jit.freeze(script()))),
        f"{freezing}\nfast = torch.jit.optimize_for_inference(frozen)\n{_RUN}",
    )


def _compiled(net: Function, **options: Any) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""
    given = "".join(f", {name}={_written(value)}" for name, value in options.items())
    lazy = Lazy(lambda: compiled(net, **options))
    inductor = options.get("backend", "inductor") == "inductor"
    return Variant(
        if_compiler(lazy) if inductor else lazy, f"fast = torch.compile(net{given})\n{_RUN}"
    )


def _written(value: Any) -> str:
    """An option as it stands in code; a function of torch by its name."""
    if callable(value):
        return f"{value.__module__}.{value.__name__}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_written(v)}" for key, v in value.items()) + "}"
    return repr(value)


def _tuned(net: Function, options: Kwargs) -> dict[str, Variant]:
    """The mode of torch.compile that goes further: CUDA graphs on CUDA, other kernels elsewhere."""
    if options.keys() & {"backend", "mode"}:
        return {}  # the user has chosen
    reduce_overhead = _compiled(net, **options, mode="reduce-overhead")
    if not torch.cuda.is_available():
        reason = N_("it rests on CUDA graphs, and there is no CUDA device")
        reduce_overhead = Variant(reason, reduce_overhead.code)
    return {
        "torch.compile reduce-overhead": reduce_overhead,
        "torch.compile max-autotune": _compiled(net, **options, mode="max-autotune"),
    }


def if_compiler(variant: Lazy) -> Function | str:
    """The variant, unless there is no compiler for the C++ that Inductor writes."""
    try:
        find_compiler("C++", INDUCTOR)
    except CompilerMissingError as error:
        return str(error)
    return variant


def _ahead(
    net: Any, args: Args, kwargs: Kwargs, kind: Callable[..., ahead.Ahead], code: str
) -> Variant:
    if not isinstance(net, torch.nn.Module):
        return Variant(_NO_MODULE, code)
    if net.training:
        return Variant(N_("the model is in training mode; compiling ahead wants net.eval()"), code)
    way = kind(net, args, kwargs)
    lazy = Lazy(way.build, way.load)
    return Variant(if_compiler(lazy) if way.needs_compiler else lazy, code)


def _expert(net: Any, args: Args, kwargs: Kwargs, options: Kwargs) -> dict[str, Variant]:
    """What takes more than a line, or gives up a check."""
    dense = chain(parts(net))
    options = {name: value for name, value in options.items() if name == "dynamic"}
    found = {
        "aotinductor boxed": _ahead(net, args, kwargs, ahead.Boxed, ahead.BOXED),
        "torch.compile function": Variant(N_("it is written for a chain of dense layers")),
        "torch.compile cpp_wrapper": _compiled(net, **options, options={"cpp_wrapper": True}),
        "torch.compile skip guards": Variant(N_("this version of torch cannot skip guards")),
        "onnxruntime": _ahead(net, args, kwargs, ahead.Onnx, ahead.ONNX),
        "onnxruntime io binding": _ahead(net, args, kwargs, ahead.OnnxBound, ahead.ONNX_BOUND),
        "torch functions": Variant(N_("it is written for a chain of dense layers")),
    }
    unguarded = getattr(torch.compiler, "skip_all_guards_unsafe", None)
    if unguarded:
        filtering = {"guard_filter_fn": unguarded}
        found["torch.compile skip guards"] = _compiled(net, **options, options=filtering)
    if dense:
        plain, body = _functions(dense, args)
        code = f"def plain(x):\n    return {body}\n"
        found["torch functions"] = Variant(plain, f"y = {body}")
        found["torch.compile function"] = Variant(
            if_compiler(Lazy(lambda: compiled(plain, **options))),
            f"{code}fast = torch.compile(plain)\n{_RUN}",
        )
    return found


def _functions(layers: list[Layer], args: Args) -> tuple[Function, str]:
    """The chain as one plain function without modules, and its expression.

    Its weights w0, b0, ... are tensors that ask for no gradient.
    """
    device = args[0].device if args and isinstance(args[0], torch.Tensor) else "cpu"
    names: dict[str, Any] = {"torch": torch, "F": F}
    body = "x"
    for number, layer in enumerate(layers):
        names[f"w{number}"] = torch.from_numpy(layer.weight.T.copy()).to(device)
        names[f"b{number}"] = torch.from_numpy(layer.bias).to(device)
        body = f"F.linear({body}, w{number}, b{number})"
        if layer.activation:
            body = f"torch.{layer.activation}({body})"
    exec(f"def plain(x):\n    return {body}\n", names)
    return names["plain"], body
