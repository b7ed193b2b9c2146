"""The chapter's MLP through every variant of every framework, beside the same network in C.

Each framework runs in a process of its own, on one thread. The times are latencies: each call is
waited for. The ratio says how many times the C program's time a call takes.
"""

import itertools
import os
import subprocess
import sys

SIZES = (512, 256, 128, 2)


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


def jax_model():
    import jax
    from callables import jax_network

    return jax_network(), jax.numpy.ones((1, 512))


MODELS = {
    "torch": torch_model, "tensorflow": tensorflow_model, "jax": jax_model, "mxnet": mxnet_model,
}  # fmt: skip


def one(name):
    from d2lhybrid import compare, variants

    net, x = MODELS[name]()
    ways = variants(net, x, all=True, references=True)
    c = compare(ways, x, time_limit=60, progress=False)
    least = c["C"].median
    for label in sorted(c, key=lambda label: c[label].median):
        time = c[label].median
        ratio, low, high = c.ratio(label)
        print(f"{name:<11} {label:<28}{time * 1e6:9.1f} µs{time / least:9.2f}"
              f"{ratio:9.2f} ({low:.2f} to {high:.2f})")  # fmt: skip
    for label, reason in c.unavailable.items():
        print(f"{name:<11} {label:<28} not run: {reason}")


def main():
    if sys.argv[1:2] and sys.argv[1] in MODELS:
        one(sys.argv[1])
        return
    print(f"{'':<40}{'per call':>12}{'of C':>9}{'times as fast as eager (95%)':>30}")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    for name in MODELS:
        env = {**os.environ, **threads, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        print(done.stdout.rstrip() if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    main()
