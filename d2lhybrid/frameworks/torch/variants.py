"""The ways to run a model that PyTorch offers."""

import tempfile
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import torch

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import CompilerMissingError
from d2lhybrid.frameworks.protocol import Lazy, copied
from d2lhybrid.i18n import noop as N_

Call = Callable[..., Any]


def variants(net: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Call | str]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    They run a twin of the model, for TorchScript leaves attributes on what it compiles.
    """
    module = isinstance(net, torch.nn.Module)
    if module:
        net = _twin(net)
    return {
        "eager": net,
        "inference_mode": _without_autograd(net),
        "torchscript": Lazy(lambda: torch.jit.script(net)),
        "torchscript frozen": _frozen(net) if module else N_("there is no model to freeze"),
        "torch.compile": _if_compiler(Lazy(lambda: _compile(net))),
        **_tuned(net),
        "aotinductor": _aotinductor(net, args) if module else N_("torch.export wants a module"),
    }


def _compile(net: Call, **options: Any) -> Call:
    """torch.compile with a cache of its own, or what was compiled before would be taken again.

    A PyTorch that cannot do that shares one cache among all models whose code is the same, up to
    eight programs in all; behind these it runs them eagerly.
    """
    if "isolate_recompiles" in signature(torch.compile).parameters:
        options["isolate_recompiles"] = True
    return torch.compile(net, **options)


def _twin(net: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares its tensors with the model; not in training mode, which changes them."""
    tensors = [] if net.training else [*net.parameters()]
    # What a forward left behind (the weight of weight_norm, a last activation) cannot be copied.
    left = (value for module in net.modules() for value in vars(module).values())
    tensors += [v for v in left if isinstance(v, torch.Tensor) and not v.is_leaf]
    return copied(net, {id(tensor): tensor for tensor in tensors})


def _without_autograd(net: Call) -> Call:
    inference_mode = torch.inference_mode

    def inference(*args: Any) -> Any:
        with inference_mode():
            return net(*args)

    return inference


def _frozen(net: Any) -> Call | str:
    if net.training:
        return N_("the model is in training mode; freezing wants net.eval()")

    def build() -> Call:
        return torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.script(net)))

    return Lazy(build)


def _tuned(net: Call) -> dict[str, Call | str]:
    """The mode of torch.compile that goes further: CUDA graphs on CUDA, other kernels elsewhere."""
    graphs: Call | str = N_("it rests on CUDA graphs, and there is no CUDA device")
    if torch.cuda.is_available():
        graphs = Lazy(lambda: _compile(net, mode="reduce-overhead"))
    return {
        "torch.compile reduce-overhead": graphs,
        "torch.compile max-autotune": _if_compiler(
            Lazy(lambda: _compile(net, mode="max-autotune"))
        ),
    }


def _if_compiler(variant: Call) -> Call | str:
    """The variant, unless there is no compiler for the C++ that Inductor writes."""
    try:
        find_compiler("C++", INDUCTOR)
    except CompilerMissingError as error:
        return str(error)
    return variant


def _aotinductor(net: Any, args: tuple[Any, ...]) -> Call | str:
    if net.training:
        return N_("the model is in training mode; compiling ahead wants net.eval()")

    def build() -> Call:
        with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
            program = torch.export.export(net, args)
            path = str(Path(folder) / "model.pt2")
            torch._inductor.aoti_compile_and_package(program, package_path=path)
            return torch._inductor.aoti_load_package(path)

    return _if_compiler(Lazy(build))
