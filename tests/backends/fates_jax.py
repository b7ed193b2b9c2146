"""Operations for random functions in JAX, and what HLO's text says of the program."""

import jax
import jax.numpy as jnp
from jax import lax
from operations import HLO, kinds, named

from d2lhybrid import graph

INPUTS = [jnp.sin(jnp.arange(64.0)).reshape(8, 8), jnp.cos(jnp.arange(64.0)).reshape(8, 8)]
KEY = jax.random.key(0)


def printed(x):
    jax.debug.print("{}", x[0, 0])
    return x


OPERATIONS = {
    **named(jnp, 1, "sin cos tanh exp negative abs floor transpose flip sort"),
    **named(jnp, 2, "add subtract multiply divide maximum matmul"),
    "halve": (1, lambda x: x / 4.0),
    "nothing": (1, lambda x: x * 1.0 + 0.0),
    "where": (2, lambda x, y: jnp.where(x > y, x, y)),
    "reshape": (1, lambda x: x.reshape(64).reshape(8, 8)),
    "slice": (1, lambda x: jnp.concatenate([x[4:], x[:4]])),
    "write": (1, lambda x: x.at[0].set(0.0)),
    "sum": (1, lambda x: x.sum(0) + jnp.zeros((8, 8))),
    "mean": (1, lambda x: x - x.mean(1, keepdims=True)),
    "softmax": (1, jax.nn.softmax),
    "cumsum": (1, lambda x: jnp.cumsum(x, 0)),
    "power": (1, lambda x: x + x**0),
    "clip": (1, lambda x: jnp.clip(x, 0, 6)),
    "first": (1, lambda x: jnp.where(True, jnp.sin(x), jnp.log(x))),
    "half": (1, lambda x: jnp.concatenate([jnp.tanh(x), jnp.cbrt(x)], 1)[:, :8]),
    "keys": (1, lambda x: lax.sort((x, jnp.ceil(x)), num_keys=1)[0]),
    "whole": (1, lambda x: lax.dynamic_update_slice(jnp.rint(x), x, (0, 0))),
    "ones": (0, lambda: jnp.ones((8, 8)) * 2 * 3),
    "count": (0, lambda: jnp.arange(64.0).reshape(8, 8)),
    "columns": (1, lambda x: x * jnp.arange(8.0)),
    "mask": (1, lambda x: jnp.where(jnp.tri(8, dtype=bool), x, 0.0)),
    "one_hot": (1, lambda x: jax.nn.one_hot(jnp.arange(8), 8) @ x),
    "lookup": (1, lambda x: x[jnp.argmax(x, 1)]),
    "random": (0, lambda: jax.random.normal(KEY, (8, 8))),
    "print": (1, printed),
    "cond": (1, lambda x: lax.cond(x.sum() > 0, jnp.tan, lambda y: y * 2, x)),
    "loop": (1, lambda x: lax.fori_loop(0, 3, lambda _i, y: jnp.tan(y), x)),
    "checkpoint": (1, jax.checkpoint(lambda x: jnp.sin(jnp.cos(x)))),
}
EFFECTS = {"print"}  # a draw is a function of its key
WORDS = HLO | {"dot_general": "dot", "cumsum": "reduce-window", "sort": "sort", "rev": "reverse"}
WORDS |= {"cond": "conditional", "debug_print": "custom-call", "iota": "iota"}
WORDS |= {"integer_pow": "power", "select_n": "select"}
# What XLA may find to be in vain.
IN_VAIN = {name: name for name in ("log", "cbrt", "ceil", "concatenate")}
IN_VAIN |= {"round": "round-nearest-even", "gt": "compare"}
WORDS |= IN_VAIN


def programs(function):
    text = jax.jit(function).lower(*INPUTS).compile().as_text()
    yield graph(function, *INPUTS), kinds(text)
