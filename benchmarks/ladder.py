"""The chapter's MLP through every variant of every framework, beside NumPy and the floor.

The floor is one reading of all the weights: a dot product over them. Each framework runs in a
process of its own, on one thread.
"""

import itertools
import os
import subprocess
import sys

SIZES = (512, 256, 128, 2)
FRAMEWORKS = ("torch", "tensorflow", "mxnet")


def torch_model():
    import torch

    torch.set_num_threads(1)
    layers = []
    for a, b in itertools.pairwise(SIZES):
        layers += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1]).eval(), torch.ones(1, 512)


def tensorflow_model():
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    dense = tf.keras.layers.Dense
    net = tf.keras.Sequential([dense(256, "relu"), dense(128, "relu"), dense(2)])
    return net, tf.ones((1, 512))


def mxnet_model():
    from d2lhybrid import import_mxnet

    import_mxnet()
    from mxnet import np, npx
    from mxnet.gluon import nn

    npx.set_np()
    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    return net, np.ones((1, 512))


def numpy_functions():
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = list(itertools.pairwise(SIZES))
    weights = [rng.standard_normal((b, a)).astype(np.float32) for a, b in shapes]
    flat = np.concatenate([w.ravel() for w in weights])
    x = np.ones(512, np.float32)

    def product(_):
        y = x
        for w in weights:
            y = w @ y
        return y

    return {"NumPy, three products": product, "floor: reading the weights": lambda _: flat @ flat}


def one(name):
    from d2lhybrid import compare, variants

    net, x = globals()[f"{name}_model"]()
    ways = variants(net, x)
    # They are checked against each other first; NumPy's numbers are not those of the model.
    compare(ways, x, time_limit=0.2, progress=False)
    c = compare({**ways, **numpy_functions()}, x, check=False, time_limit=15, progress=False)
    floor = c["floor: reading the weights"].median
    for label in c:
        ratio, low, high = c.ratio(label)
        print(f"{name:<11} {label:<28}{c[label].median * 1e6:9.1f} µs{c[label].median / floor:9.2f}"
              f"{ratio:9.2f} ({low:.2f} to {high:.2f})")  # fmt: skip
    for label, reason in ways.unavailable.items():
        print(f"{name:<11} {label:<28} not run: {reason}")


def main():
    if sys.argv[1:2] and sys.argv[1] in FRAMEWORKS:
        one(sys.argv[1])
        return
    print(f"{'':<40}{'per call':>12}{'floors':>9}{'times as fast as eager (95%)':>30}")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in FRAMEWORKS:
        env = {**os.environ, **threads, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        print(done.stdout.rstrip() if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    main()
