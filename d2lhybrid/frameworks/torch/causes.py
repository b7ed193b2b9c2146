"""What PyTorch reports about why a call takes as long as it does."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn

from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.frameworks.failures import quiet
from d2lhybrid.frameworks.torch import dynamo, private
from d2lhybrid.frameworks.torch.export import eager
from d2lhybrid.frameworks.torch.parts import compiled_in
from d2lhybrid.frameworks.variant import Function
from d2lhybrid.graphs.explanation import Finding

INFERENCE_MODE = "inference_mode"


def compiled_again(run: Callable[[], Any]) -> Finding | None:
    """Call `run` twice. Why TorchDynamo made a graph in the second call; None if it made none."""
    with quiet():
        run()
        graphs, records = private.graphs_made(), dynamo.compilation_records()
        run()
    if private.graphs_made() == graphs:
        return None
    earlier = {id(record) for record in records}  # which `records` keeps alive
    new = [one for one in dynamo.compilation_records() if id(one) not in earlier]
    forward = [one for one in new if one.co_name and not one.fail_type]
    if not forward:
        return Finding(_("TorchDynamo gives no reason"))
    return dynamo.why_compiled(forward[0])


def apart() -> AbstractContextManager[object] | None:
    """TorchDynamo makes its graphs anew; they run as they are, because no guard is a backend's.

    None of a PyTorch that keeps all programs of a function in one place.
    """
    if not (private.APART and dynamo.can_compile_parts()):
        return None
    return dynamo.compiling_with(lambda graph, _inputs: graph.forward)


class AddOne(nn.Module):
    """Adds 1 to each tensor: the smallest module that still compiles."""

    def forward(self, *tensors: torch.Tensor) -> list[torch.Tensor]:
        """As many tensors as it gets."""
        return _add_one(*tensors)


def _add_one(*tensors: torch.Tensor) -> list[torch.Tensor]:
    return [tensor + 1 for tensor in tensors]


def add_one(model: Function) -> Function:
    """A module if the model is one, because a call of a module takes longer than its addition."""
    return AddOne().eval() if isinstance(eager(model), nn.Module) else _add_one


def compiled_like(function: Function, model: Function) -> Function | None:
    """`model`, compiled with the options of the only ``torch.compile`` in `function`."""
    compiled: Sequence[Any] = compiled_in(function)
    if len(compiled) != 1:
        return None
    wrapper = private.compiled_wrapper(compiled[0])
    options = private.compile_options(getattr(wrapper, "__func__", wrapper))
    return None if options is None else private.compile_with(model, {**options, **private.APART})


def mode_of(tensor: torch.Tensor) -> str:
    """Tensors of ``torch.inference_mode`` have other dispatch keys, which guards compare."""
    return INFERENCE_MODE if tensor.is_inference() else ""
