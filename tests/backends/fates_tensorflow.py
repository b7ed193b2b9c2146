"""Operations for random functions in TensorFlow, and what the graph and HLO's text say."""

import re
from collections import Counter

import tensorflow as tf
from operations import HLO, kinds, named
from tensorflow.python.eager import context

from d2lhybrid import graph

INPUTS = [tf.reshape(f(tf.range(64.0)), (8, 8)) for f in (tf.sin, tf.cos)]
VARIABLE = tf.Variable(tf.ones((8, 8)))


def stored(x):
    VARIABLE.assign_add(x)
    return x


def loop(x):
    return tf.while_loop(lambda i, _y: i < 3, lambda i, y: (i + 1, tf.tan(y)), (0, x))[1]


OPERATIONS = {
    **named(tf, 1, "sin cos tanh exp negative floor square transpose cumsum"),
    **named(tf, 2, "add subtract multiply divide maximum matmul"),
    "log": (1, tf.math.log),
    "add_n": (2, lambda x, y: tf.add_n([x, y, x])),
    "quarter": (1, lambda x: x / 4.0),
    "nothing": (1, lambda x: x * 1.0 + 0.0),
    "where": (2, lambda x, y: tf.where(x > y, x, y)),
    "reverse": (1, lambda x: tf.reverse(x, [0])),
    "reshape": (1, lambda x: tf.reshape(tf.reshape(x, [64]), [8, 8])),
    "sum": (1, lambda x: x * 0.0 + tf.reduce_sum(x, 0)),
    "mean": (1, lambda x: x - tf.reduce_mean(x, 1, keepdims=True)),
    "dense": (1, lambda x: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.ones((8, 8))), x[0]))),
    "softmax": (1, tf.nn.softmax),
    "range": (1, lambda x: x * tf.range(8.0)),
    "odd": (1, lambda x: x * tf.range(1.0, 17.0, 2.0)),
    "one_hot": (1, lambda x: tf.one_hot(tf.range(8), 8) @ x),
    "lookup": (1, lambda x: tf.one_hot(tf.argmax(x, 1), 8) @ x),
    "mask": (1, lambda x: tf.where(tf.range(8)[:, None] >= tf.range(8), x, 0.0)),
    "half": (1, lambda x: tf.concat([tf.tanh(x), tf.exp(x)], 1)[:, :8]),
    "clip": (1, lambda x: tf.clip_by_value(x, 0.0, 6.0)),
    "top_k": (1, lambda x: tf.math.top_k(x, 8).values),
    "ones": (0, lambda: tf.ones((8, 8)) * 2 * 3),
    "variable": (0, lambda: tf.convert_to_tensor(VARIABLE)),
    "random": (0, lambda: tf.random.uniform((8, 8))),
    "stateless": (0, lambda: tf.random.stateless_uniform((8, 8), (1, 2))),
    "store": (1, stored),
    "cond": (1, lambda x: tf.cond(tf.reduce_sum(x) > 0, lambda: tf.tan(x), lambda: x * 2.0)),
    "loop": (1, loop),
}
EFFECTS = {"random", "store"}
WORDS = {name.capitalize(): word for name, word in HLO.items()}
WORDS |= {"Range": "iota", "MatMul": "dot", "Cumsum": "reduce-window", "ReverseV2": "reverse"}


def optimized(function):
    """The nodes that ran, each _Fused operation as those that it is made of."""
    concrete = tf.function(function).get_concrete_function(*INPUTS)
    context.enable_graph_collection()
    concrete(*INPUTS)
    graphs = context.export_run_metadata().function_graphs
    context.disable_graph_collection()
    for node in max((one.post_optimization_graph.node for one in graphs), key=len):
        fused = [word.decode() for word in node.attr["fused_ops"].list.s]
        yield from [WORDS.get(op, op) for op in (re.sub("^_Fused", "", node.op), *fused)]


def programs(function):
    yield graph(function, *INPUTS), Counter(optimized(function))
    compiled = tf.function(function, jit_compile=True)
    text = compiled.experimental_get_compiler_ir(*INPUTS)(stage="optimized_hlo")
    yield graph(compiled, *INPUTS), kinds(text)
