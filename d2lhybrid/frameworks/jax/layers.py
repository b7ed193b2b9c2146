"""The dense layers of a model of Flax NNX that is nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from d2lhybrid.frameworks.protocol import Layer

_KNOWN = {
    jax.nn.relu: "relu",
    jax.nn.sigmoid: "sigmoid",
    jax.nn.tanh: "tanh",
    jnp.tanh: "tanh",
}


def layers(net: Any) -> list[Layer] | None:
    """Those of a ``Sequential`` of ``Linear`` and activations in float32; None for any other."""
    found: list[Layer] = []
    for part in _flat(net):
        if type(part) is nnx.Linear and _in_float32(part):
            weight = np.array(part.kernel[...])
            bias = np.zeros(weight.shape[1], np.float32)
            found.append(Layer(weight, bias if part.bias is None else np.array(part.bias[...])))
        elif _name(part) and found and not found[-1].activation:
            found[-1] = replace(found[-1], activation=_name(part))
        elif not isinstance(part, nnx.Dropout):  # which does nothing in inference
            return None
    return found or None


def _flat(net: Any) -> Iterator[Any]:
    if type(net) is nnx.Sequential:
        for part in net.layers:
            yield from _flat(part)
    else:
        yield net


def _name(part: Any) -> str:
    return next((name for function, name in _KNOWN.items() if function is part), "")


def _in_float32(layer: Any) -> bool:
    return layer.kernel[...].dtype == np.float32 and layer.dtype in (None, np.float32)
