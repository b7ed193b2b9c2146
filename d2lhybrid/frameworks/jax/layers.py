"""The parts of a model of Flax NNX, as ``protocol.chain`` takes them."""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from d2lhybrid.frameworks.protocol import Layer

_KNOWN = {jax.nn.relu: "relu", jax.nn.sigmoid: "sigmoid", jax.nn.tanh: "tanh", jnp.tanh: "tanh"}


def parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    if type(net) is nnx.Sequential:
        for part in net.layers:
            yield from parts(part)
    elif type(net) is nnx.Linear:
        weight = np.array(net.kernel[...])
        bias = np.zeros(weight.shape[1:], np.float32) if net.bias is None else net.bias[...]
        in_float32 = weight.dtype == np.float32 and net.dtype in (None, np.float32)
        yield Layer(weight, np.array(bias)) if in_float32 else None
    elif isinstance(net, nnx.Dropout):  # nothing in inference
        yield ""
    else:
        yield next((name for function, name in _KNOWN.items() if function is net), None)
