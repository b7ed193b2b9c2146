"""Causes planted in JAX."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from case import control, planted
from chapter import networks
from flax import nnx


def both(function, *args):
    """A function as it is, and compiled."""
    return {"eager": function, "jit": jax.jit(function)}, *args


def dense(*sizes):
    """A function of dense layers without parameters to pass, and their weights."""
    keys = jax.random.split(jax.random.key(0), len(sizes))
    weights = [
        jax.random.normal(key, pair) / pair[0] ** 0.5
        for key, pair in zip(keys, pairwise(sizes), strict=False)
    ]

    def layers(x, weights):
        for weight in weights[:-1]:
            x = jax.nn.relu(x @ weight)
        return x @ weights[-1]

    return layers, weights


@planted(
    "not_whole",
    "The middle of the function is NumPy, to which the compiled program calls back.",
)
def callback_to_numpy():
    def sort_rows(x):
        return np.sort(x, axis=1)

    def ranked(x):
        return sort_rows(x * 2) + 1

    @jax.jit
    def compiled(x):
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(sort_rows, shape, x * 2) + 1

    return {"eager": ranked, "jit": compiled}, jnp.ones((20, 20))


@planted(
    "recompiled",
    "`jit` gets a new lambda in each call, which is a new program.",
)
def jit_in_the_call():
    def loss(x, y):
        return jnp.mean(jnp.square(jnp.tanh(x) - y))

    def compiled(x, y):
        return jax.jit(lambda a, b: loss(a, b))(x, y)

    return {"eager": loss, "jit": compiled}, jnp.ones(100), jnp.zeros(100)


@planted(
    "recompiled",
    "The settings are a static argument made anew in each call, and equal to nothing but "
    "themselves.",
)
def settings_made_anew():
    class Settings:
        def __init__(self, slope):
            self.slope = slope

    def leaky(settings, x):
        return jnp.where(x > 0, x, settings.slope * x)

    compiled = jax.jit(leaky, static_argnums=0)

    def with_settings(function):
        return lambda x: function(Settings(0.1), x)

    return {"eager": with_settings(leaky), "jit": with_settings(compiled)}, jnp.linspace(-1, 1, 100)


@planted(
    "recompiled",
    "The number of the step is a static argument, and another one in each call.",
    checked=False,
)
def static_step():
    step = 0

    def decayed(x, step):
        return x * 0.99**step

    compiled = jax.jit(decayed, static_argnums=1)

    def stepping(function):
        def run(x):
            nonlocal step
            step += 1
            return function(x, step)

        return run

    return {"eager": stepping(decayed), "jit": stepping(compiled)}, jnp.ones(100)


@planted(
    "recompiled",
    "Eager, `lax.scan` gets a function made anew in each call, and XLA compiles it: the baseline "
    "is slow.",
    row="eager",
)
def scan_in_eager():
    def infected(x):
        def step(state, _):
            state = state + 0.1 * state * (1 - state)
            return state, state

        return jax.lax.scan(step, x, None, length=50)[1]

    return both(infected, jnp.full(10, 0.01))


@planted(
    "nothing_to_rewrite",
    "Three products of large matrices take nearly all of the time, and stay calls of the library.",
)
def wide_layers():
    layers, weights = dense(1024, 1024, 1024, 1024)
    return both(layers, jnp.ones((512, 1024)), weights)


@planted(
    "nothing_to_rewrite",
    "A Gram matrix is one product, eager as compiled.",
)
def gram_matrix():
    return both(lambda x: x @ x.T, jnp.ones((1500, 1500)))


@planted(
    "entering",
    "The whole state of a training is passed, 600 arrays, of which the function reads two.",
)
def large_state():
    state = {f"layer {i}": {"weight": jnp.ones(4), "bias": jnp.zeros(4)} for i in range(300)}

    def first_layer(state, x):
        layer = state["layer 0"]
        return x * layer["weight"] + layer["bias"]

    return both(first_layer, state, jnp.ones(4))


@planted(
    "entering",
    "NumPy rotates a point in a microsecond or two; calling a compiled function takes longer.",
    also=("moved_data",),
)
def one_point():
    turn = np.array([[0, -1], [1, 0]], np.float32)

    def rotated(point):
        return turn @ point

    return {"NumPy": rotated, "jit": jax.jit(rotated)}, np.ones(2, np.float32)


@planted(
    "moved_data",
    "Each call hands over a long history in NumPy, of which the function needs the last rows.",
)
def history_in_numpy():
    def latest(history):
        return history[-16:].mean(0, dtype="float32")

    history = np.random.default_rng(0).standard_normal((50_000, 64))
    return {"NumPy": latest, "jit": jax.jit(latest)}, history


@planted(
    "moved_data",
    "A list of Python's numbers becomes an array in each call.",
)
def list_of_numbers():
    def spread(x):
        return jnp.tanh(x).std()

    compiled = jax.jit(spread)
    numbers = [float(i) for i in range(20_000)]

    def of_list(function):
        return lambda numbers: function(jnp.array(numbers))

    return {"eager": of_list(spread), "jit": of_list(compiled)}, numbers


@planted(
    "faster_fused",
    "Six operations pass over a million numbers one after the other; fused, memory is read once.",
)
def gelu_by_hand():
    def gelu(x):
        return 0.5 * x * (1 + jnp.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    return both(gelu, jnp.linspace(-3, 3, 1_000_000))


@planted(
    "faster_python",
    "Fifty steps of a pendulum, each a handful of operations on two numbers, which JAX dispatches "
    "one by one.",
    also=("faster_fused",),
)
def pendulum():
    def swung(angle, speed):
        for _ in range(50):
            speed = speed - 0.01 * jnp.sin(angle)
            angle = angle + 0.01 * speed
        return angle, speed

    return both(swung, jnp.float32(1), jnp.float32(0))


@planted(
    "recompiled",
    "A Transformer is compiled inside the function that calls it, as a new lambda each time.",
    real=True,
)
def encoder_compiled_in_the_call():
    chapter = networks("jax")
    net = chapter.encoder()
    graph, state = nnx.split(net)

    def predict(ids):
        return jax.jit(lambda state, ids: nnx.merge(graph, state)(ids))(state, ids)

    return {"eager": net, "jit": predict}, chapter.tokens(1)


@planted(
    "entering",
    "`nnx.jit` takes the residual network apart and puts it together in each call.",
    real=True,
)
def resnet_taken_apart():
    chapter = networks("jax")
    net = chapter.resnet()
    graph, state = nnx.split(net)
    compiled = jax.jit(lambda state, x: nnx.merge(graph, state)(x))
    through_nnx = nnx.jit(lambda net, x: net(x))
    functions = {"jit": lambda x: compiled(state, x), "nnx.jit": lambda x: through_nnx(net, x)}
    return functions, chapter.images(1)[:, ::4, ::4]


@planted(
    "faster_python",
    "A Transformer on one text is a hundred operations, which JAX dispatches slowly one by one.",
    also=("faster_fused",),
    real=True,
)
def encoder_of_one_text():
    chapter = networks("jax")
    net = chapter.encoder()
    graph, state = nnx.split(net)
    compiled = jax.jit(lambda state, ids: nnx.merge(graph, state)(ids))
    return {"eager": net, "jit": lambda ids: compiled(state, ids)}, chapter.tokens(1)


@control("A wait that the measuring does anyway changes nothing.")
def needless_wait():
    compiled = jax.jit(lambda x: jnp.tanh(x) * 2 + 1)
    functions = {
        "jit": compiled,
        "jit, waiting": lambda x: jax.block_until_ready(compiled(x)),
    }
    return functions, jnp.ones(100_000)


@control(
    "Two lengths by turns are two programs, and both are kept.",
    true=("faster_fused", "faster_python"),
)
def two_lengths():
    def score(x):
        return jax.nn.softmax(jnp.tanh(x * 2 + 1) * x)

    compiled = jax.jit(score)

    def by_turns(function):
        return lambda short, long: (function(short), function(long))

    functions = {"eager": by_turns(score), "jit": by_turns(compiled)}
    return functions, jnp.ones((64, 3000)), jnp.ones((64, 5000))


@control(
    "`jit` stands in the function, but gets the same function each time, so JAX finds its program.",
    true=("faster_fused", "faster_python"),
)
def same_function_compiled_again():
    def loss(x, y):
        return jnp.mean(jnp.square(jnp.tanh(x) - y))

    functions = {"eager": loss, "jit": lambda x, y: jax.jit(loss)(x, y)}
    return functions, jnp.ones(1_000_000), jnp.zeros(1_000_000)


# The last one, because it holds for all that come after it.
@planted(
    "not_whole",
    "Somebody switched `jit` off to debug, and left it off: nothing is compiled.",
)
def switched_off():
    jax.config.update("jax_disable_jit", True)
    layers, weights = dense(64, 64, 64, 8)
    return both(layers, jnp.ones((8, 64)), weights)
