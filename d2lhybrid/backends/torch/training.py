"""A step of training in PyTorch, eager and compiled."""

from typing import Any

import torch

from d2lhybrid.backends.checks import require_own, require_trainable
from d2lhybrid.backends.state import copied
from d2lhybrid.backends.torch import private
from d2lhybrid.backends.torch.compiler import INDUCTOR, compiled, no_inductor
from d2lhybrid.backends.torch.models import generators
from d2lhybrid.backends.torch.modules import (
    clone_sharing_parameters,
    dropping_layers,
    eager,
    left_by_forward,
    make_submodules_eager,
)
from d2lhybrid.backends.variant import DeferredBuild, TrainingStep, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs

_STEP = """def step():
    optimizer.zero_grad()
    l = loss(net(x), y).mean()
    l.backward()
    optimizer.step()
    return l
"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer.

    Raises:
        ArgumentError: the model is no nn.Module, or the optimizer is none of PyTorch or belongs to
            another model.
    """
    optimizers = {"torch.optim.Optimizer": torch.optim.Optimizer}
    example = "torch.optim.SGD(net.parameters(), lr=0.1)"
    require_trainable(net, {"torch.nn.Module": torch.nn.Module}, optimizer, optimizers, example)
    trained = [weight for group in optimizer.param_groups for weight in group["params"]]
    require_own(net, net.parameters(), optimizer, trained)
    private.start_dynamo()
    net = eager(net)
    random = dropping_layers(net) or _drawing(net, args, kwargs)

    def make(compile_model: bool = False, compile_step: bool = False) -> Function:
        # Together, because the optimizer holds the parameters of the model.
        net_copy, optimizer_copy = copied((net, optimizer), left_by_forward(net))
        make_submodules_eager(net_copy)
        model = compiled(net_copy) if compile_model else net_copy

        def step() -> Any:
            optimizer_copy.zero_grad()
            value = loss(model(*args, **kwargs), target).mean()
            value.backward()
            optimizer_copy.step()
            return value.detach()

        run = compiled(step) if compile_step else step
        return TrainingStep(run, torch.stack, random)

    step = _STEP + "y = step()"
    fast_net = no_inductor() or DeferredBuild(lambda: make(compile_model=True), compiler=INDUCTOR)
    fast_step = no_inductor() or DeferredBuild(lambda: make(compile_step=True), compiler=INDUCTOR)
    return {
        "eager": Variant(DeferredBuild(make), step),
        "torch.compile": Variant(fast_net, "net = torch.compile(net)\n" + step),
        "torch.compile step": Variant(fast_step, _STEP + "fast = torch.compile(step)\ny = fast()"),
    }


def _drawing(net: Any, args: Args, kwargs: Kwargs) -> list[Any]:
    """The model itself, if its forward pass draws random numbers, as a functional dropout does."""
    before = [one.get_state() for one in generators()]
    clone_sharing_parameters(net)(*args, **kwargs)
    after = [one.get_state() for one in generators()]
    return [] if all(map(torch.equal, before, after)) else [net]
