"""A step of training in PyTorch, eager and compiled."""

from typing import Any

import torch

from d2lhybrid.frameworks.protocol import FIRST_STEPS, Args, Call, Lazy, Variant, copied
from d2lhybrid.frameworks.torch.variants import compiled, if_compiler

_STEP = """def step():
    optimizer.zero_grad()
    l = loss(net(x), y).mean()
    l.backward()
    optimizer.step()
    return l
"""


def training(net: Any, loss: Call, optimizer: Any, inputs: Args, target: Any) -> dict[str, Variant]:
    """Each way by its name; each trains a copy of the model with a copy of the optimizer."""

    def make(compile_model: bool = False, compile_step: bool = False) -> Call:
        own, updating = copied((net, optimizer), {})
        model = compiled(own) if compile_model else own

        def step() -> Any:
            updating.zero_grad()
            value = loss(model(*inputs), target).mean()
            value.backward()
            updating.step()
            return value.detach()

        return stepping(compiled(step) if compile_step else step)

    return {
        "eager": Variant(Lazy(make), _STEP + "y = step()"),
        "torch.compile": Variant(
            if_compiler(Lazy(lambda: make(compile_model=True))),
            "net = torch.compile(net)\n" + _STEP + "y = step()",
        ),
        "torch.compile step": Variant(
            if_compiler(Lazy(lambda: make(compile_step=True))),
            _STEP + "fast = torch.compile(step)\ny = fast()",
        ),
    }


def stepping(step: Call) -> Call:
    """The step, which returns the losses of the first ones, whenever it is called."""
    first: Any = None

    def run() -> Any:
        nonlocal first
        if first is None:
            first = torch.stack([step().clone() for _turn in range(FIRST_STEPS)])
        else:
            step()
        return first

    return run
