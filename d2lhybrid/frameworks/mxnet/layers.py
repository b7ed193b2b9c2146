"""The parts of a model of Gluon, as ``protocol.chain`` takes them."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from mxnet.gluon import nn

from d2lhybrid.frameworks.protocol import Layer


def parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    if type(net) in (nn.Sequential, nn.HybridSequential):
        for block in net._children.values():
            yield from parts(block)
    elif type(net) is nn.Dense and net.weight.dtype in (np.float32, "float32"):
        weight = net.weight.data().asnumpy().T.copy()
        bias = np.zeros(weight.shape[1], np.float32)
        yield Layer(weight, bias if net.bias is None else net.bias.data().asnumpy())
        yield "" if net.act is None else net.act._act_type
    elif type(net) is nn.Dropout:  # nothing in inference
        yield ""
    else:
        yield net._act_type if type(net) is nn.Activation else None
