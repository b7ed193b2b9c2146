"""The ways to run a model that PyTorch offers."""

from typing import Any

import torch
import torch.nn.functional as F

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import ArgumentError, CompilerMissingError
from d2lhybrid.frameworks.dense import dense_function
from d2lhybrid.frameworks.protocol import (
    ACTIVATIONS,
    Args,
    Function,
    Kwargs,
    Lazy,
    Variant,
    chain,
    require_options,
)
from d2lhybrid.frameworks.torch import ahead
from d2lhybrid.frameworks.torch.eager import compiled, eager, twin
from d2lhybrid.frameworks.torch.layers import parts
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

_RUN = "y = fast(x)"
_NO_MODULE = N_("there is no module, only a function")
_NOT_DENSE = N_("it is written for a chain of dense layers")


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    They run a twin of the model, for TorchScript leaves attributes on what it compiles, and each
    TorchScript a twin of its own, for what one leaves behind hides what is wrong with the next.
    """
    require_options("torch.compile", options, ("dynamic", "backend", "mode"))
    net = eager(net)
    if isinstance(net, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        text = _("Expected a model in Python. Received: {kind}. Hand over what it was made from.")
        raise ArgumentError(text.format(kind=type(net).__name__))
    if isinstance(net, torch.nn.Module):
        net = twin(net)

    def script() -> Any:
        return torch.jit.script(twin(net) if isinstance(net, torch.nn.Module) else net)

    found = {
        "eager": Variant(net, "y = net(x)"),
        "inference_mode": Variant(
            torch.inference_mode()(lambda *args, **kwargs: net(*args, **kwargs)),
            "with torch.inference_mode():\n    y = net(x)",
        ),
        "torchscript": Variant(Lazy(script), f"fast = torch.jit.script(net)\n{_RUN}"),
        "torchscript frozen": _frozen(net, script),
        "torch.compile": _compiled(net, **options),
    }
    if not options.keys() & {"backend", "mode"}:  # unless the user has chosen
        reduced = _compiled(net, **options, mode="reduce-overhead")
        if not torch.cuda.is_available():
            reason = N_("it rests on CUDA graphs, and there is no CUDA device")
            reduced = Variant(reason, reduced.code)
        found["torch.compile reduce-overhead"] = reduced
    found["aotinductor"] = _ahead(net, ahead.PACKAGE, lambda: ahead.package(net, args, kwargs))
    return found | (_expert(net, args, kwargs, options) if everything else {})


def if_compiler(variant: Lazy) -> Function | str:
    """The variant, unless there is no compiler for the C++ that Inductor writes."""
    try:
        find_compiler("C++", INDUCTOR)
    except CompilerMissingError as error:
        return str(error)
    return variant


def _frozen(net: Any, script: Function) -> Variant:
    if not isinstance(net, torch.nn.Module):
        return Variant(_NO_MODULE)
    if net.training:
        return Variant(N_("the model is in training mode; freezing wants net.eval()"))
    return Variant(
        Lazy(lambda: torch.jit.optimize_for_inference(torch.jit.freeze(script()))),
        "frozen = torch.jit.freeze(torch.jit.script(net))\n"
        f"fast = torch.jit.optimize_for_inference(frozen)\n{_RUN}",
    )


def _compiled(net: Function, **options: Any) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    lazy = Lazy(lambda: compiled(net, **options))
    inductor = options.get("backend", "inductor") == "inductor"
    code = f"fast = torch.compile(net{given})\n{_RUN}"
    return Variant(if_compiler(lazy) if inductor else lazy, code)


def _ahead(net: Any, code: str, make: Any, by_inductor: bool = True) -> Variant:
    if not isinstance(net, torch.nn.Module):
        return Variant(_NO_MODULE, code)
    if net.training:
        return Variant(N_("the model is in training mode; compiling ahead wants net.eval()"), code)
    return Variant(if_compiler(make()) if by_inductor else make(), code)


def _expert(net: Any, args: Args, kwargs: Kwargs, options: Kwargs) -> dict[str, Variant]:
    """What takes more than a line, or gives up a check."""
    sizes = {name: value for name, value in options.items() if name == "dynamic"}
    found = {
        "aotinductor boxed": _ahead(net, ahead.BOXED, lambda: ahead.boxed(net, args, kwargs)),
        "torch.compile max-autotune": _compiled(net, **sizes, mode="max-autotune"),
        "onnxruntime io binding": _ahead(
            net, ahead.ONNX_BOUND, lambda: ahead.onnx_bound(net, args, kwargs), by_inductor=False
        ),
        "torch.compile skip guards": Variant(N_("this version of torch cannot skip guards")),
        "torch.compile function": Variant(_NOT_DENSE),
        "torch functions": Variant(_NOT_DENSE),
    }
    unguarded = getattr(torch.compiler, "skip_all_guards_unsafe", None)
    if unguarded:
        filtering = {"guard_filter_fn": unguarded}
        by_hand = '{"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}'
        code = f"fast = torch.compile(net, options={by_hand})\n{_RUN}"
        run = _compiled(net, **sizes, options=filtering).run
        found["torch.compile skip guards"] = Variant(run, code)
    layers = chain(parts(net))
    if layers:
        device = args[0].device if args and isinstance(args[0], torch.Tensor) else "cpu"
        plain, body = dense_function(
            layers,
            "F.linear({h}, w{i}, b{i})",
            {name: f"torch.{name}({{h}})" for name in ACTIVATIONS},
            lambda layer: (
                torch.from_numpy(layer.weight.T.copy()).to(device),
                torch.from_numpy(layer.bias).to(device),
            ),
            {"torch": torch, "F": F},
        )
        found["torch functions"] = Variant(plain, f"y = {body}")
        found["torch.compile function"] = Variant(
            if_compiler(Lazy(lambda: compiled(plain, **sizes))),
            f"def plain(x):\n    return {body}\n\nfast = torch.compile(plain)\n{_RUN}",
        )
    return found
