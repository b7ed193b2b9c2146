"""Causes planted in TensorFlow."""

from itertools import count, pairwise

import numpy as np
import tensorflow as tf
from case import control, planted
from chapter import networks


def both(function, *args):
    """A function as it is, and as a graph."""
    return {"eager": function, "tf.function": tf.function(function)}, *args


def dense(*sizes):
    """A function of dense layers with weights of its own."""
    generator = np.random.default_rng(0)
    weights = [
        tf.constant(generator.standard_normal(pair) / pair[0] ** 0.5, tf.float32)
        for pair in pairwise(sizes)
    ]

    def layers(x):
        for weight in weights[:-1]:
            x = tf.nn.relu(x @ weight)
        return x @ weights[-1]

    return layers


@planted(
    "not_whole",
    "The middle of the function is NumPy, to which the graph calls back.",
)
def callback_to_numpy():
    def sort_rows(x):
        return np.sort(x, axis=1)

    def ranked(x):
        return tf.numpy_function(sort_rows, [x * 2], tf.float32) + 1

    return both(ranked, tf.ones((100, 100)))


@planted(
    "recompiled",
    "The number of the step is a Python number, and each number is traced anew.",
    checked=False,
)
def python_number():
    steps = count(1)

    def decayed(x, step):
        return x * 0.99**step

    traced = tf.function(decayed)

    def stepping(function):
        return lambda x: function(x, next(steps))

    return {"eager": stepping(decayed), "tf.function": stepping(traced)}, tf.ones(100)


@planted(
    "recompiled",
    "A function is decorated inside the function that calls it, so each call traces a new one.",
)
def decorated_in_the_call():
    def loss(x, y):
        return tf.reduce_mean(tf.square(tf.tanh(x) - y))

    def decorated(x, y):
        @tf.function
        def graph(a, b):
            return loss(a, b)

        return graph(x, y)

    return {"eager": loss, "tf.function": decorated}, tf.ones(100), tf.zeros(100)


@planted(
    "recompiled",
    "The signature leaves the length open, so that there is one trace; XLA compiles each length "
    "anew below it.",
    checked=False,
)
def lengths_below_a_signature():
    lengths = count(10)

    def score(x):
        return tf.reduce_sum(tf.nn.softmax(tf.tanh(x) * x))

    signature = [tf.TensorSpec([None], tf.float32)]
    compiled = tf.function(score, input_signature=signature, jit_compile=True)

    def growing(function):
        return lambda x: function(x[: next(lengths)])

    return {"eager": growing(score), "XLA": growing(compiled)}, tf.ones(100_000)


@planted(
    "nothing_to_rewrite",
    "Three products of large matrices take nearly all of the time, and stay calls of the library.",
)
def wide_layers():
    return both(dense(1024, 1024, 1024, 1024), tf.ones((512, 1024)))


@planted(
    "nothing_to_rewrite",
    "A Gram matrix is one product, eager as in a graph.",
)
def gram_matrix():
    return both(lambda x: tf.matmul(x, x, transpose_b=True), tf.ones((1500, 1500)))


@planted(
    "entering",
    "One operation on ten numbers: calling a graph takes longer than calling the operation.",
)
def one_operation():
    return both(lambda x: x * 2.0, tf.ones(10))


@planted(
    "entering",
    "A sum and a ReLU of eight numbers: calling XLA's program takes longer than both.",
)
def two_operations():
    bias = tf.ones(8)

    def shifted(x):
        return tf.nn.relu(x + bias)

    return {"eager": shifted, "XLA": tf.function(shifted, jit_compile=True)}, tf.ones((1, 8))


@planted(
    "moved_data",
    "Each call makes a tensor of a long history in NumPy; the function needs its last rows.",
)
def history_in_numpy():
    layers = dense(64, 64, 8)
    graph = tf.function(layers)

    def latest(function):
        return lambda history: function(tf.constant(history, tf.float32)[-16:])

    history = np.random.default_rng(0).standard_normal((50_000, 64))
    return {"eager": latest(layers), "tf.function": latest(graph)}, history


@planted(
    "faster_fused",
    "Six operations pass over a million numbers one after the other; XLA makes one loop of them.",
)
def gelu_by_hand():
    def gelu(x):
        return 0.5 * x * (1 + tf.tanh(0.79788456 * (x + 0.044715 * x * x * x)))

    functions = {"eager": gelu, "XLA": tf.function(gelu, jit_compile=True)}
    return functions, tf.linspace(-3.0, 3.0, 1_000_000)


@planted(
    "faster_python",
    "Fifty steps of a pendulum, each a handful of operations on two numbers, called from Python.",
    also=("faster_fused",),
)
def pendulum():
    def swung(angle, speed):
        for _ in range(50):
            speed = speed - 0.01 * tf.sin(angle)
            angle = angle + 0.01 * speed
        return angle, speed

    return both(swung, tf.constant(1.0), tf.constant(0.0))


@planted(
    "faster_folded_or_layout",
    "The matrix of a cosine transform is computed in each call from constants; in a graph it is "
    "computed once.",
)
def transform_from_constants():
    def transformed(x):
        k = tf.range(512, dtype=tf.float32)
        basis = tf.cos(3.14159265 / 512 * (k[:, None] + 0.5) * k[None, :])
        basis = basis / tf.sqrt(tf.reduce_sum(basis * basis, axis=0))
        return x @ basis

    return both(transformed, tf.ones((4, 512)))


@planted(
    "faster_python",
    "A residual network on one image is thirty layers of Keras, each with much Python around it.",
    also=("faster_fused", "faster_folded_or_layout"),
    real=True,
)
def resnet_of_one_image():
    chapter = networks("tensorflow")
    return both(chapter.resnet(), chapter.images(1))


@control(
    "A layer that is switched between training and inference has two traces, and keeps both.",
    true=("faster_python", "nothing_to_rewrite", "entering"),
)
def training_and_inference():
    layer = tf.keras.layers.Dropout(0.0)

    def scored(x, training):
        return tf.reduce_sum(tf.nn.softmax(layer(tf.tanh(x) * x, training=training)))

    graph = tf.function(scored)

    def by_turns(function):
        return lambda x: (function(x, True), function(x, False))

    return {"eager": by_turns(scored), "tf.function": by_turns(graph)}, tf.ones(1000)


@control("On this processor nothing is queued, so that a wait changes nothing.")
def needless_wait():
    graph = tf.function(lambda x: tf.tanh(x) * 2 + 1, jit_compile=True)

    def waited(x):
        y = graph(x)
        tf.test.experimental.sync_devices()
        return y

    return {"XLA": graph, "XLA, waiting": waited}, tf.ones(1_000_000)


# The last one, because it holds for all that come after it.
@planted(
    "not_whole",
    "Somebody let functions run eagerly to debug, and left it so: no graph is made.",
)
def switched_off():
    tf.config.run_functions_eagerly(True)
    return both(dense(64, 64, 64, 8), tf.ones((8, 64)))
