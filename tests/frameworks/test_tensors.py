"""The contract that every framework keeps. A framework that is missing fails these tests."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from models import MODELS

from d2lhybrid import frameworks
from d2lhybrid.errors import TracingError, UnknownFrameworkError
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.measurement.timing import Benchmark, synchronize
from d2lhybrid.tensor import Raw

ROOT = Path(__file__).parents[2]


NAMES = [framework.name for framework in frameworks.known()]


@pytest.fixture(scope="module", params=NAMES)
def framework(request):
    return frameworks.get(request.param)


@pytest.fixture
def adapter(framework):
    return framework.tensors


def test_version_and_devices(framework, adapter):
    assert framework in frameworks.loaded()
    assert adapter.version()[0].isdigit()
    assert "cpu" in adapter.devices()[0].lower()
    assert [adapter.compute_on(device) for device in adapter.devices()] == [8.0] * len(
        adapter.devices()
    )


def test_without_an_accelerator_nothing_is_known_of_one(adapter):
    if len(adapter.devices()) > 1:
        pytest.skip("there is an accelerator")
    adapter.reset_peak()
    assert adapter.start_events() is None
    assert adapter.peak_bytes() is None


def test_objects_are_known_by_their_classes(framework):
    net, x = MODELS[framework.name]()
    for thing in (net, x, net.__call__, {"a": [1, (x,)]}):
        assert frameworks.of(thing) is framework, thing


def test_what_a_framework_makes_of_functions_is_its_own():
    import jax
    import optax
    import tensorflow as tf
    from flax import nnx

    assert frameworks.of(tf.function(lambda x: x)).name == "tensorflow"
    for thing in (jax.jit(len), nnx.jit(len), nnx.Param(1.0), jax.random.key(0), optax.adam(0.1)):
        assert frameworks.of(thing).name == "jax", thing


@pytest.mark.parametrize("thing", [3, "torch", numpy.ones(1), lambda x: x, None, [1]])
def test_strangers_are_refused(thing):
    with pytest.raises(UnknownFrameworkError, match="Received"):
        frameworks.of(thing)


def test_keras_belongs_to_the_framework_that_it_computes_with():
    code = (
        "import keras, torch; from d2lhybrid.frameworks import of; "
        "net = keras.Sequential([keras.layers.Dense(2)]); "
        "print(of(net).name, of(net(torch.ones(1, 3))).name, of(net.layers[0]).name)"
    )
    env = {**os.environ, "KERAS_BACKEND": "torch"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=env
    )
    assert done.stdout.split() == ["torch"] * 3, done.stderr


def test_outputs_become_copies_outside_the_framework(framework, adapter):
    raw = Raw.of(numpy.arange(6, dtype="float32").reshape(2, 3))
    tensor = adapter.from_raw(raw, {})
    assert adapter.is_tensor(tensor)
    again = adapter.to_raw(tensor)
    assert (again.dtype, again.array.tolist()) == ("float32", raw.array.tolist())
    again.array[0, 0] = 7  # a copy, and one that can be written
    assert adapter.to_raw(tensor).array[0, 0] == 0
    assert adapter.to_raw(adapter.doubled(tensor, 1)).array.shape == (2, 6)


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of its young layouts
def test_sparse_and_small_outputs():
    import jax
    import tensorflow as tf
    import torch

    half = [torch.tensor([1.5]).bfloat16(), tf.constant([1.5], tf.bfloat16)]
    for tensor in (*half, jax.numpy.array([1.5], "bfloat16")):
        adapter = frameworks.of(tensor).tensors
        raw = adapter.to_raw(tensor)
        assert (raw.dtype, raw.values().tolist()) == ("bfloat16", [1.5])
        assert adapter.from_raw(raw, {}).dtype == tensor.dtype
    dense = numpy.array([[0.0, 2.0], [0.0, 0.0]], dtype="float32")
    tensor = torch.tensor(dense)
    found = [tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to(torch.float8_e4m3fn)]
    found += [torch.quantize_per_tensor(tensor, 0.5, 0, torch.qint8), tf.sparse.from_dense(dense)]
    found.append(tf.ragged.constant([[0.0, 2.0], [0.0]]))
    for value in found:
        raw = frameworks.of(value).tensors.to_raw(value)
        assert numpy.array_equal(raw.values(), dense)


def test_inside_a_tf_function():
    import tensorflow as tf

    @tf.function(autograph=False)
    def traced(x):
        synchronize()
        return x

    with pytest.raises(TracingError, match="tf\\.function"):
        traced(tf.ones(1))
    with tf.Graph().as_default():  # a graph that is built, not traced: nothing runs, nothing waits
        synchronize()


def test_while_pytorch_traces():
    import torch

    class Net(torch.nn.Module):
        def forward(self, x):
            synchronize()
            return x + 1

    x = torch.ones(2)
    with pytest.raises(TracingError, match="PyTorch is tracing"):
        torch.export.export(Net(), (x,))
    with pytest.raises(Exception, match="Measure outside the compiled function"):
        torch.compile(Net(), backend="eager", fullgraph=True)(x)
    torch._dynamo.reset()
    # A graph break leaves the graph, and there waiting is possible.
    assert torch.compile(Net(), backend="eager")(x).tolist() == [2, 2]
    torch._dynamo.reset()


def test_what_jax_holds_besides_numbers():
    import jax
    import jax.numpy as jnp

    adapter = frameworks.get("jax").tensors
    key = adapter.to_raw(jax.random.key(7))
    assert (key.dtype, key.array.tolist()) == ("uint32", [0, 7])
    small = adapter.to_raw(jnp.array([0.5, 2.0], jnp.float8_e4m3fn))
    assert (small.dtype, small.values().tolist()) == ("float8_e4m3fn", [0.5, 2.0])
    assert adapter.places(jnp.ones(2)) == set()  # JAX moves it by itself
    assert adapter.places({"a": jax.device_put(1.0, jax.devices("cpu")[0])}) == {"cpu:0"}


def test_while_jax_traces():
    import jax

    def traced(x):
        synchronize()
        return x

    for transform in (jax.jit, jax.grad, jax.make_jaxpr):
        with pytest.raises(TracingError, match="JAX is tracing"):
            transform(traced)(1.0)


def test_waiting_for_jax_waits_for_results_that_nobody_keeps():
    """JAX returns before the work is done, and what is dropped is still worked on."""
    code = (
        "import time, jax, d2lhybrid\n"
        "import jax.numpy as jnp\n"
        "x = jnp.ones((1000, 1000))\n"
        "work = jax.jit(lambda x: x @ x @ x @ x)\n"
        "work(x).block_until_ready(); d2lhybrid.synchronize()\n"
        "def seconds(keep):\n"
        "    start = time.perf_counter()\n"
        "    kept = [work(x) for _ in range(2)] if keep else [work(x) is None for _ in range(2)]\n"
        "    jax.block_until_ready(kept) if keep else d2lhybrid.synchronize()\n"
        "    return time.perf_counter() - start\n"
        "times = [(seconds(True), seconds(False)) for _ in range(3)]\n"
        "print(min(b for a, b in times) / min(a for a, b in times))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert float(done.stdout) > 0.7, done.stdout + done.stderr  # 0.1 where nothing is waited for


def test_an_output_of_jax_is_waited_for():
    import jax

    adapter = frameworks.get("jax").tensors
    x = jax.numpy.ones((700, 700))
    work = jax.jit(lambda x: {"found": [x @ x @ x @ x @ x]})
    for _turn in range(3):
        output = work(x)
        adapter.wait(output)
        assert output["found"][0].is_ready()


def test_waiting_does_not_wake_jax():
    code = (
        "import jax\nfrom jax._src import xla_bridge\n"
        "from d2lhybrid import Benchmark\nwith Benchmark(): pass\n"
        "print(xla_bridge.backends_are_initialized())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_while_mxnet_builds_a_graph():
    mxnet = import_mxnet()

    class Net(mxnet.gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            with Benchmark():
                return x + 1

    net = Net()
    x = mxnet.nd.ones(1)
    with mxnet.util.np_array(False):
        net(x)
        net.hybridize()
        with pytest.raises(TracingError, match="hybridized block"):
            net(x)


def test_waiting_does_not_wake_tensorflow():
    code = (
        "import tensorflow\nfrom tensorflow.python.eager import context\n"
        "from d2lhybrid import Benchmark\nwith Benchmark(): pass\n"
        "print(context.context()._initialized)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "False", done.stderr


@pytest.mark.gpu
def test_device_time_and_memory_on_a_gpu():
    import torch

    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device; PyTorch sees none")
    a = torch.ones(2048, 2048, device="cuda")
    with Benchmark() as b:
        for _ in range(20):
            c = a @ a
    assert 0 < b.device_seconds <= b.seconds
    assert b.peak_bytes >= a.nbytes + c.nbytes
