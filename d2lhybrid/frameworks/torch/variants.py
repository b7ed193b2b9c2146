"""The ways to run a model that PyTorch offers."""

from typing import Any

import torch
import torch.nn.functional as F

from d2lhybrid.errors import ArgumentError
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
from d2lhybrid.frameworks.torch.ahead import ahead
from d2lhybrid.frameworks.torch.layers import parts
from d2lhybrid.frameworks.torch.programs import compiled, eager, if_compiler, twin
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

_RUN = "y = fast(x)"
_FROZEN = f"""frozen = torch.jit.freeze(torch.jit.script(net))
fast = torch.jit.optimize_for_inference(frozen)
{_RUN}"""
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

    unfit = ""
    if not isinstance(net, torch.nn.Module):
        unfit = N_("there is no module, only a function")
    elif net.training:
        unfit = N_("the model is in training mode; compiling ahead wants net.eval()")

    def script() -> Any:
        return torch.jit.script(twin(net) if isinstance(net, torch.nn.Module) else net)

    def frozen() -> Any:
        return torch.jit.optimize_for_inference(torch.jit.freeze(script()))

    def fixed(variant: Variant) -> Variant:  # what holds the weights as they are now
        return Variant(unfit, variant.code) if unfit else variant

    found = {
        "eager": Variant(net, "y = net(x)"),
        "inference_mode": Variant(
            torch.inference_mode()(lambda *args, **kwargs: net(*args, **kwargs)),
            "with torch.inference_mode():\n    y = net(x)",
        ),
        "torchscript": Variant(Lazy(script), f"fast = torch.jit.script(net)\n{_RUN}"),
        "torchscript frozen": fixed(Variant(Lazy(frozen), _FROZEN)),
        "torch.compile": _compiled(net, **options),
    }
    if not options.keys() & {"backend", "mode"}:  # unless the user has chosen
        reduced = _compiled(net, **options, mode="reduce-overhead")
        if not torch.cuda.is_available():
            reason = N_("it rests on CUDA graphs, and there is no CUDA device")
            reduced = Variant(reason, reduced.code)
        found["torch.compile reduce-overhead"] = reduced
    made = ahead(net, args, kwargs, everything)
    found |= {name: fixed(variant) for name, variant in made.items()}
    if everything:
        sizes = {name: value for name, value in options.items() if name == "dynamic"}
        found["torch.compile max-autotune"] = _compiled(net, **sizes, mode="max-autotune")
        found["torch.compile skip guards"] = _unguarded(net, sizes)
        found |= _functions(net, args, sizes)
    return found


def _compiled(net: Function, **options: Any) -> Variant:
    """torch.compile with these options, unless it needs a compiler that is not there."""
    given = "".join(f", {name}={value!r}" for name, value in options.items())
    lazy = Lazy(lambda: compiled(net, **options))
    inductor = options.get("backend", "inductor") == "inductor"
    code = f"fast = torch.compile(net{given})\n{_RUN}"
    return Variant(if_compiler(lazy) if inductor else lazy, code)


def _unguarded(net: Function, sizes: Kwargs) -> Variant:
    """torch.compile without the check whether a program fits the call."""
    unsafe = getattr(torch.compiler, "skip_all_guards_unsafe", None)
    if unsafe is None:
        return Variant(N_("this version of torch cannot skip guards"))
    run = _compiled(net, **sizes, options={"guard_filter_fn": unsafe}).run
    by_hand = '{"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}'
    return Variant(run, f"fast = torch.compile(net, options={by_hand})\n{_RUN}")


def _functions(net: Any, args: Args, sizes: Kwargs) -> dict[str, Variant]:
    """A chain of dense layers as a function of tensors, which spares what modules do in a call."""
    layers = chain(parts(net))
    if not layers:
        return dict.fromkeys(("torch functions", "torch.compile function"), Variant(_NOT_DENSE))
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
    code = f"def plain(x):\n    return {body}\n\nfast = torch.compile(plain)\n{_RUN}"
    fast = if_compiler(Lazy(lambda: compiled(plain, **sizes)))
    return {
        "torch functions": Variant(plain, f"y = {body}"),
        "torch.compile function": Variant(fast, code),
    }
