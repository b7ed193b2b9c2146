"""The parts of a model of PyTorch, as ``protocol.chain`` takes them."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from d2lhybrid.frameworks.protocol import Layer
from d2lhybrid.frameworks.torch.private import original

_ACTIVATIONS = {nn.ReLU: "relu", nn.Sigmoid: "sigmoid", nn.Tanh: "tanh"}


def parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    net = original(net)
    if type(net) is nn.Sequential:
        for module in net:
            yield from parts(module)
    elif type(net) is nn.Linear and net.weight.dtype == torch.float32:
        weight = net.weight.detach().cpu().numpy().T.copy()
        bias = torch.zeros(net.out_features) if net.bias is None else net.bias
        yield Layer(weight, bias.detach().cpu().numpy().copy())
    elif isinstance(net, nn.Identity) or (isinstance(net, nn.Dropout) and not net.training):
        yield ""
    else:
        yield _ACTIVATIONS.get(type(net))
