"""Callables and arguments in a process that was started afresh, where they compute the same."""

import os
import subprocess
import threading

import pytest
from processes import python

from d2lhybrid.backends import get, known
from d2lhybrid.backends.environment import variables_for_threads
from d2lhybrid.core.subprocesses import run_python
from d2lhybrid.errors import ArgumentError
from d2lhybrid.processes.travel import pack, unpack
from d2lhybrid.verbs.experiment import Experiment
from d2lhybrid.verbs.variants import variants

# Prints, for each callable, the sum of its output.
_RUN = """
import sys
from d2lhybrid.processes.travel import unpack
experiment = unpack(open(sys.argv[1], "rb").read())
for label, function in experiment.functions.items():
    call = experiment._call(function)
    print(label, round(float(call.function(*call.args, **call.kwargs).sum()), 3), sep="=")
"""


def experiment(functions, *args, **kwargs):
    return Experiment(functions, args, kwargs, next(iter(functions)), 1.0)


def sums_there(tmp_path, functions, *args):
    """What each callable computes in a fresh process, added up."""
    file = tmp_path / "packed"
    file.write_bytes(pack(experiment(functions, *args)))
    done = run_python([_RUN, str(file)], 200, env=os.environ, stdout=subprocess.PIPE)
    assert done.returncode == 0
    return dict(line.split("=") for line in done.stdout.decode().splitlines())


def test_modules_closures_and_variants_of_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    net, x = torch.nn.Linear(3, 2), torch.ones(4, 3)

    def plus_one(x):
        return net(x) + 1

    functions = {
        "net": net,
        "plus one": torch.compile(plus_one, backend="eager", fullgraph=True),
        "eager": variants(net, x)["eager"],
    }
    here = float(net(x).detach().sum())
    there = sums_there(tmp_path, functions, x)
    assert float(there["net"]) == pytest.approx(here, abs=0.002) == float(there["eager"])
    assert float(there["plus one"]) == pytest.approx(here + 8, abs=0.002)


def test_what_a_module_of_a_script_names_is_found_where_torchdynamo_looks(tmp_path):
    """In the main module, of which the block inside ``Sequential`` says that it belongs to it."""
    pytest.importorskip("torch")
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    done = python(str(script))
    assert "torch.compile" in done.stdout
    assert "was not run" not in done.stdout


_SCRIPT = """
import torch
import torch.nn.functional as F
from d2lhybrid import compare, variants
SCALE = 2.0
def scaled(x):
    return F.gelu(x) * SCALE
class Block(torch.nn.Module):
    def forward(self, x):
        return scaled(F.relu(x))
net, x = torch.nn.Sequential(Block(), torch.nn.Linear(8, 8), Block()).eval(), torch.rand(4, 8)
ways = variants(net, x, compiler_options={"backend": "aot_eager"}).only("eager", "torch.compile")
print(compare(ways, x, processes=1, time_limit=0.2))
"""


def test_jitted_functions_and_modules_of_jax(tmp_path):
    jax = pytest.importorskip("jax")
    nnx = pytest.importorskip("flax.nnx")
    net, x = nnx.Linear(3, 2, rngs=nnx.Rngs(0)), jax.numpy.ones((4, 3))

    @nnx.jit
    def plus_one(net, x):
        return net(x) + 1

    functions = {
        "jit": jax.jit(net),
        "nnx.jit": lambda x: plus_one(net, x),
        "jit by variants": variants(net, x)["jit"],
    }
    here = float(net(x).sum())
    there = sums_there(tmp_path, functions, x)
    assert float(there["jit"]) == pytest.approx(here, abs=0.002) == float(there["jit by variants"])
    assert float(there["nnx.jit"]) == pytest.approx(here + 8, abs=0.002)


def test_models_and_functions_of_tensorflow(tmp_path):
    tf = pytest.importorskip("tensorflow")

    class Scaled(tf.keras.layers.Layer):
        def __init__(self, factor):  # without the name that Keras hands over
            super().__init__()
            self.factor = factor

        def call(self, x):
            return x * self.factor

    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.layers_in_order = [tf.keras.layers.Dense(2), Scaled(3.0)]

        def call(self, x):
            for layer in self.layers_in_order:
                x = layer(x)
            return x

    x = tf.ones((4, 3))
    net, stack = Net(), tf.keras.Sequential([tf.keras.layers.Dense(2), Scaled(2.0)])
    traced = tf.function(lambda x: tf.reduce_sum(stack(x)))
    here = [float(tf.reduce_sum(net(x))), float(traced(x))]

    def add(x):
        return tf.reduce_sum(net(x)).numpy()

    def add_traced(x):
        return traced(x).numpy()

    there = sums_there(tmp_path, {"add": add, "traced": add_traced}, x)
    assert [float(there[name]) for name in ("add", "traced")] == pytest.approx(here, abs=0.002)


def test_hybridized_blocks_of_mxnet(tmp_path):
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    net, x = mx.gluon.nn.Dense(2), mx.nd.ones((4, 3))
    net.initialize()
    net.hybridize()
    here = float(net(x).sum().asscalar())

    def add(x):
        return net(x).sum().asscalar()

    assert float(sums_there(tmp_path, {"add": add}, x)["add"]) == pytest.approx(here, abs=0.002)


@pytest.mark.parametrize(
    ("part", "handed_over"),
    [
        ("'mine'", lambda lock: experiment({"sum": sum, "mine": lambda x: lock}, [1])),
        ("argument 2", lambda lock: experiment({"max": max}, 1, lock)),
        ("key=", lambda lock: experiment({"max": max}, 1, key=lock)),
    ],
)
def test_what_cannot_travel_is_named(part, handed_over):
    with pytest.raises(ArgumentError, match=r"lock' object.*leave out processes") as raised:
        pack(handed_over(threading.Lock()))
    assert f"Received: {part}, which" in str(raised.value)


class Vanishing:
    """An object that can be taken apart, but not put together."""

    def __reduce__(self):
        return __import__, ("a_module_that_is_nowhere",)


def test_what_cannot_be_made_again_there_is_named():
    packed = pack(experiment({"sum": sum}, 1, Vanishing()))
    with pytest.raises(ArgumentError, match=r"argument 2.*a_module_that_is_nowhere"):
        unpack(packed)


def test_options_come_along():
    before = experiment({"sum": sum}, [1, 2])
    after = unpack(pack(before))
    assert (after.args, after.baseline, after.time_limit) == (([1, 2],), "sum", 1.0)


@pytest.mark.parametrize("name", [framework.name for framework in known()])
def test_a_fresh_process_has_as_many_threads_as_were_asked_for(name):
    code = (
        "import sys; from d2lhybrid.backends import get; framework = get(sys.argv[1])\n"
        "device = framework.device; device.compute_on(device.devices()[0])\n"
        "print(device.thread_count())"
    )
    env = {**os.environ, **variables_for_threads(get(name), 1)}
    assert python("-c", code, name, **env).stdout.strip() == "1"
