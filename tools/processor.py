"""Print which instructions NumPy and each framework use here, as they say themselves.

``make test-lesser`` asks before it runs the tests as on a processor with fewer of them: a variable
that a library doesn't know changes nothing, without a word.
"""

import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

NUMPY = """
from numpy.lib import introspect
print("logarithm:", introspect.opt_func_info(func_name="^log$")["log"]["dd"]["current"])
"""
PYTORCH = """
import torch
from torch._inductor import cpu_vec_isa
print("own kernels:", torch.backends.cpu.get_cpu_capability())
print("Inductor:", cpu_vec_isa.pick_vec_isa())
torch.ones(8, 8).to_mkldnn()
"""
TENSORFLOW = """
import tensorflow as tf
tf.nn.conv2d(tf.ones((1, 8, 8, 3)), tf.ones((3, 3, 3, 8)), 1, "SAME")
"""
JAX = """
import jax
jax.jit(lambda x: jax.numpy.sin(x) * 2)(jax.numpy.ones(1000)).block_until_ready()
"""
MXNET = """
from d2lhybrid import import_mxnet
mx = import_mxnet()
layer = mx.gluon.nn.Conv2D(8, 3)
layer.initialize()
layer(mx.nd.ones((1, 3, 8, 8))).asnumpy()
"""
PROGRAMS = {"NumPy": NUMPY, "PyTorch": PYTORCH, "TensorFlow": TENSORFLOW, "JAX": JAX}
ONEDNN = re.compile(r"(?:onednn|dnnl)_verbose.*,isa:([^,\n]+)")  # below three of the frameworks
VECTOR = re.compile(r"<(\d+) x float>")


def said(program: str) -> list[str]:
    """What a program prints, what oneDNN says, and how wide the vectors of XLA's code are."""
    with TemporaryDirectory() as folder:
        flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={folder}"
        verbose = {"ONEDNN_VERBOSE": "1", "DNNL_VERBOSE": "1", "XLA_FLAGS": flags}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            env={**os.environ, **verbose}, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            return [f"failed: {done.stderr[-500:]}"]
        code = "".join(path.read_text() for path in Path(folder).glob("*.ll"))
    printed = [line for line in done.stdout.splitlines() if "_verbose" not in line]
    onednn = dict.fromkeys(ONEDNN.findall(done.stdout))
    widths = {int(width) for width in VECTOR.findall(code)}
    xla = [f"XLA: vectors of {max(widths)} floats"] if widths else []
    return [*printed, *(f"oneDNN: {one}" for one in onednn), *xla]


def main() -> None:
    """Print it for each."""
    for name, program in {**PROGRAMS, "MXNet": MXNET}.items():
        if name != "MXNet" or platform.system() == "Linux":
            print(f"{name}: {'; '.join(said(program))}", flush=True)


if __name__ == "__main__":
    main()
