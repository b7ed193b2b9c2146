"""The dense layers of a model of PyTorch that is nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from d2lhybrid.frameworks.protocol import Layer

_ACTIVATIONS = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh"}


def layers(net: Any) -> list[Layer] | None:
    """Those of a ``Sequential`` of ``Linear`` and activations in float32; None for any other."""
    found: list[Layer] = []
    for module in _flat(net):
        activation = _ACTIVATIONS.get(type(module))
        if type(module) is nn.Linear and module.weight.dtype == torch.float32:
            found.append(_dense(module))
        elif activation and found and not found[-1].activation:
            found[-1] = replace(found[-1], activation=activation)
        elif not isinstance(module, nn.Identity) and (
            not isinstance(module, nn.Dropout) or module.training
        ):
            return None
    return found or None


def _flat(net: Any) -> Iterator[Any]:
    if type(net) is nn.Sequential:
        for module in net:
            yield from _flat(module)
    else:
        yield net


def _dense(module: nn.Linear) -> Layer:
    weight = module.weight.detach().cpu().numpy().T.copy()
    bias = torch.zeros(module.out_features) if module.bias is None else module.bias
    return Layer(weight, bias.detach().cpu().numpy().copy())
