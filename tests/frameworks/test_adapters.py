"""The contract that every adapter keeps. A framework that is missing fails these tests."""

import subprocess
import sys
from pathlib import Path

import numpy
import pytest

from d2lhybrid import backends
from d2lhybrid.errors import TracingError, UnknownFrameworkError
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.measure.timing import Benchmark, synchronize

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=backends.FRAMEWORKS)
def adapter(request):
    if request.param == "mxnet":
        import_mxnet()
    return backends.get(request.param)


def test_name_version_and_devices(adapter):
    assert adapter.name in backends.FRAMEWORKS
    assert adapter.version()[0].isdigit()
    assert "cpu" in adapter.devices()[0].lower()
    assert [adapter.compute_on(device) for device in adapter.devices()] == [8.0] * len(
        adapter.devices()
    )


def test_it_is_among_the_loaded(adapter):
    assert adapter in backends.loaded()


def test_without_an_accelerator_nothing_is_known_of_one(adapter):
    if len(adapter.devices()) > 1:
        pytest.skip("there is an accelerator")
    adapter.reset_peak()
    assert adapter.device_seconds(adapter.start_events()) is None
    assert adapter.peak_bytes() is None


def torch_things():
    import torch

    net = torch.nn.Linear(2, 2)
    return [net, net.weight, torch.ones(1), net.forward, torch.device("cpu")]


def tensorflow_things():
    import tensorflow as tf

    net = tf.keras.layers.Dense(2)
    return [net, tf.ones(1), tf.function(lambda x: x), net.call, tf.Variable(1.0)]


def mxnet_things():
    import mxnet

    net = mxnet.gluon.nn.Dense(2)
    return [net, mxnet.np.ones(1), mxnet.nd.ones(1), net.forward, mxnet.sym.var("x")]


@pytest.mark.parametrize("name", backends.FRAMEWORKS)
def test_objects_are_known_by_their_classes(name):
    if name == "mxnet":
        import_mxnet()
    for thing in globals()[f"{name}_things"]():
        assert backends.of(thing).name == name, thing


@pytest.mark.parametrize("thing", [3, "torch", numpy.ones(1), lambda x: x, None, [1]])
def test_strangers_are_refused(thing):
    with pytest.raises(UnknownFrameworkError, match="Received"):
        backends.of(thing)


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
