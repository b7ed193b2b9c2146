"""The dense layers of a model of Gluon that is nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from mxnet.gluon import nn

from d2lhybrid.frameworks.protocol import ACTIVATIONS, Layer


def layers(net: Any) -> list[Layer] | None:
    """Those of a ``Sequential`` of ``Dense`` and activations in float32; None for any other."""
    found: list[Layer] = []
    for block in _flat(net):
        if type(block) is nn.Dense and block.weight.dtype in (np.float32, "float32"):
            activation = block.act._act_type if block.act is not None else ""
            weight = block.weight.data().asnumpy().T.copy()
            bias = np.zeros(weight.shape[1], np.float32)
            found.append(Layer(weight, bias if block.bias is None else block.bias.data().asnumpy()))
        elif type(block) is nn.Activation and found and not found[-1].activation:
            activation = block._act_type
        elif type(block) is nn.Dropout:  # nothing in inference
            continue
        else:
            return None
        if activation not in ("", *ACTIVATIONS):
            return None
        found[-1] = replace(found[-1], activation=activation)
    return found or None


def _flat(net: Any) -> Iterator[Any]:
    if type(net) in (nn.Sequential, nn.HybridSequential):
        for block in net._children.values():
            yield from _flat(block)
    else:
        yield net
