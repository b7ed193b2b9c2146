"""Small models of JAX and Flax, one for each structure that a real one takes or returns."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from d2lhybrid.core.arguments import call


class Pair(NamedTuple):
    mean: jax.Array
    spread: jax.Array


class Plain(nnx.Module):
    def __init__(self):
        self.lin = nnx.Linear(4, 3, rngs=nnx.Rngs(0))

    def __call__(self, x):
        return self.lin(x)

    def halved(self, x):
        return self.lin(x) / 2


class Scaled(nnx.Module):
    def __init__(self):
        self.weight = nnx.Param(jnp.array(3.0))

    def __call__(self, x, scale=None, power=1):
        found = x * self.weight**power
        return found if scale is None else found * scale


class Averaging(nnx.Module):
    """With statistics, and random numbers when it is trained."""

    def __init__(self):
        rngs = nnx.Rngs(0)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.norm(x))


def models():
    """Name of each, with the call that is saved."""
    x = jax.random.normal(jax.random.key(0), (2, 4))
    cell = nnx.LSTMCell(4, 3, rngs=nnx.Rngs(0))
    averaging, half = Averaging(), {"dtype": jnp.bfloat16, "param_dtype": jnp.bfloat16}
    averaging.eval()
    weights = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
    return {
        "plain": call(Plain(), x),
        "method": call(Plain().halved, x),
        "lambda": call(lambda x: jnp.tanh(x) * 2, x),
        "compiled": call(jax.jit(lambda x: x @ weights["w"]), x),
        "weights in a dictionary": call(lambda p, x: x @ p["w"] + p["b"], weights, x),
        "nested out": call(lambda x: (x + 1, [x * 2, {"a": x * 3}]), x),
        "named tuple out": call(lambda x: Pair(x.mean(0), x.std(0)), x),
        "keyword": call(Scaled(), x, scale=jnp.array(2.0)),
        "None and number": call(Scaled(), x, None, power=2),
        "integers": call(lambda ids: jnp.eye(5)[ids], jnp.array([[1, 2], [3, 4]])),
        "half": call(nnx.Linear(4, 3, rngs=nnx.Rngs(0), **half), x.astype(jnp.bfloat16)),
        "averages and dropout": call(averaging, x),
        "lstm with state": call(cell, (jnp.zeros((2, 3)), jnp.ones((2, 3))), x),
        "loop": call(lambda x: jax.lax.scan(lambda c, row: (c + row, c), x[0], x), x),
    }
