"""Devices and tensors of every framework, waiting for them, and sharing a process."""

import json

import numpy
import pytest
from processes import python

from d2lhybrid import Benchmark, import_mxnet, synchronize
from d2lhybrid.backends import get, known, loaded
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.errors import TracingError

NAMES = [framework.name for framework in known()]


def in_a_process(code, *names, **env):
    """The last line that Python prints for this code, in a process of its own."""
    return python("-c", code, *names, **env).stdout.splitlines()[-1]


ALL = """
import json, os, sys; from d2lhybrid import Benchmark; from d2lhybrid.backends import get
found = [get(name) for name in sys.argv[1:]]
for one in found: one.load()
from jax._src import xla_bridge; from tensorflow.python.eager import context
with Benchmark(): pass
woken = xla_bridge.backends_are_initialized(), context.context()._initialized
ours = {key: os.environ.get(key) for name in sys.argv[1:] for key in get(name).environment}
print(json.dumps([[one.device.compute_on(one.device.devices()[0]) for one in found], woken, ours]))
"""
OURS = {key: value for name in NAMES for key, value in get(name).environment.items()}


@pytest.mark.parametrize("listed", [True, False], ids=["as listed", "the other way round"])
def test_one_process_imports_all_wakes_none_and_leaves_a_gpus_memory(listed):
    said = {} if listed else dict.fromkeys(OURS, "0")  # Keras, which is before, imports JAX
    names = NAMES[:: 1 if listed else -1]
    found = json.loads(in_a_process(ALL, *names, **{**dict.fromkeys(OURS), **said}))
    assert found == [[8.0] * len(NAMES), [False, False], {**OURS, **said}]


@pytest.fixture(params=NAMES)
def adapter(request):
    framework = get(request.param)
    framework.load()
    return framework


def test_version_devices_and_what_is_known_without_an_accelerator(adapter):
    assert adapter in loaded()
    assert adapter.version()[0].isdigit()
    device = adapter.device
    devices = device.devices()
    assert "cpu" in devices[0].lower()
    assert [device.compute_on(name) for name in devices] == [8.0] * len(devices)
    if len(devices) == 1:
        device.reset_peak_memory()
        assert (device.start_clock(), device.peak_memory_bytes()) == (None, None)


def test_outputs_become_copies_outside_the_framework(adapter):
    raw = HostArray.of(numpy.arange(6, dtype="float32").reshape(2, 3))
    tensor = adapter.device.from_host(raw, {})
    assert adapter.device.is_tensor(tensor)
    again = adapter.device.to_host(tensor)
    assert (again.dtype, again.array.tolist()) == ("float32", raw.array.tolist())
    again.array[0, 0] = 7  # a copy, and one that can be written
    assert adapter.device.to_host(tensor).array[0, 0] == 0


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of its young layouts
def test_sparse_and_small_outputs():
    import jax
    import tensorflow as tf
    import torch

    bfloat16 = torch.tensor([1.5]).bfloat16(), tf.constant([1.5], tf.bfloat16)
    for tensor in (*bfloat16, jax.numpy.array([1.5], "bfloat16")):
        adapter = framework_of(tensor)
        raw = adapter.device.to_host(tensor)
        assert (raw.dtype, raw.values().tolist()) == ("bfloat16", [1.5])
        assert adapter.device.from_host(raw, {}).dtype == tensor.dtype
    dense = numpy.array([[0.0, 2.0], [0.0, 0.0]], dtype="float32")
    tensor = torch.tensor(dense)
    for value in (
        *(tensor.to_sparse(), tensor.to_sparse_csr(), tensor.to(torch.float8_e4m3fn)),
        torch.quantize_per_tensor(tensor, 1.0, 0, torch.qint8),
        *(tf.sparse.from_dense(dense), tf.ragged.constant([[0.0, 2.0], [0.0]])),
        jax.numpy.array(dense, "float8_e4m3fn"),
        tf.cast(dense, tf.dtypes.experimental.float8_e4m3fn),
    ):
        values = framework_of(value).device.to_host(value).values()
        assert (values.dtype, values.tolist()) == (numpy.float32, dense.tolist())
    text = get("tensorflow").device.to_host(tf.constant("text"))
    assert (text.dtype, text.array.tolist()) == ("string", b"text")
    key = get("jax").device.to_host(jax.random.key(7))
    assert (key.dtype, key.array.tolist()) == ("uint32", [0, 7])


def test_what_a_framework_makes_of_functions_is_its_own():
    import jax
    import optax
    import tensorflow as tf
    from flax import nnx

    assert framework_of(tf.function(lambda x: x)).name == "tensorflow"
    for thing in (jax.jit(len), nnx.jit(len), nnx.Param(1.0), jax.random.key(0), optax.adam(0.1)):
        assert framework_of(thing).name == "jax", thing


def test_keras_belongs_to_the_framework_that_it_computes_with():
    code = (
        "import keras, torch; from d2lhybrid.backends.owners import framework_of; "
        "net = keras.Sequential([keras.layers.Dense(2)]); "
        "things = net, net(torch.ones(1, 3)), net.layers[0]; "
        "print(*(framework_of(thing).name for thing in things))"
    )
    assert in_a_process(code, KERAS_BACKEND="torch").split() == ["torch"] * 3


def traced_by_tensorflow(function):
    import tensorflow as tf

    tf.function(function, autograph=False)(tf.ones(1))


def traced_by_jax(function):
    import jax

    for transform in (jax.grad, jax.make_jaxpr, jax.jit):
        transform(function)(1.0)


def traced_by_mxnet(function):
    mxnet = import_mxnet()
    net = mxnet.gluon.nn.HybridLambda(lambda F, x: function(x))
    net.hybridize()
    net(mxnet.nd.ones(1))


@pytest.mark.parametrize("waits", [synchronize, Benchmark().__enter__], ids=["it", "a timer"])
@pytest.mark.parametrize("trace", [traced_by_tensorflow, traced_by_jax, traced_by_mxnet])
def test_waiting_while_a_graph_is_traced(trace, waits):
    with pytest.raises(TracingError, match="Received"):
        trace(lambda x: waits() or x)


def test_waiting_for_jax_waits_for_what_it_has_been_given():
    """JAX returns before the work is done, and what is dropped is still worked on."""
    import jax

    x, work = jax.numpy.ones((700, 700)), jax.jit(lambda x: [x @ x @ x @ x @ x])
    for wait in (get("jax").device.wait_for, lambda _output: work(x) and synchronize()) * 3:
        output = work(x)
        wait(output)
        assert output[0].is_ready()


@pytest.mark.gpu("pytorch")
def test_device_time_and_memory_on_a_gpu():
    import torch

    a = torch.ones(2048, 2048, device="cuda")
    with Benchmark() as b:
        for _ in range(20):
            c = a @ a
    assert 0 < b.device_seconds <= b.seconds
    assert b.peak_bytes >= a.nbytes + c.nbytes
