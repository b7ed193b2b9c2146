"""What each framework's models and settings are in fresh processes, and what can't get there."""

import os
from importlib.util import find_spec

import pytest
from processes import python

from d2lhybrid import compare
from d2lhybrid.backends import get, known
from d2lhybrid.errors import ArgumentError

pytestmark = pytest.mark.filterwarnings("ignore")  # what frameworks warn of when they are imported
SHORT = {"time_limit": 0.2, "progress": False, "seed": 1}


def quick(x):
    return x + 1


def compiled_function():
    torch = pytest.importorskip("torch")
    return torch.compile(quick, backend="eager"), torch.ones(2)


def compiled_in_place():
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(2, 2)
    net.compile(backend="eager")
    return net, torch.ones(2)


def jitted():
    jax = pytest.importorskip("jax")
    return jax.jit(quick), jax.numpy.ones(2)


def within_a_function():
    function, x = jitted()
    return lambda x: function(x), x


def traced():
    tf = pytest.importorskip("tensorflow")
    return tf.function(quick), tf.ones(2)


def hybridized():
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    net, x = mx.gluon.nn.Dense(2), mx.nd.ones((2, 2))
    net.initialize()
    net.hybridize()
    net(x)
    return net, x


LINES = """
def example():
    return call(net, x)

compare("model.py:example", processes=6)"""


@pytest.mark.parametrize(
    "made", [compiled_function, compiled_in_place, jitted, within_a_function, traced, hybridized]
)
def test_what_was_compiled_by_hand_is_refused_and_three_lines_say_how(made):
    function, x = made()
    with pytest.raises(ArgumentError, match="Received: 'by hand', which cannot be") as raised:
        compare({"by hand": function}, x, processes=2, **SHORT)
    assert str(raised.value).endswith(LINES)


def test_the_ways_to_run_what_was_compiled_by_hand_are_refused_too():
    """There, what was compiled would be taken for eager."""
    function, x = jitted()
    with pytest.raises(ArgumentError, match="Received: 'eager', which cannot be"):
        compare(function, x, processes=2, **SHORT)


MODELS = {
    "torch": """
import torch
import torch.nn.functional as F
SCALE = 2.0
def scaled(x):
    return F.gelu(x) * SCALE
class Block(torch.nn.Module):
    def forward(self, x):
        return scaled(F.relu(x))
net, x = torch.nn.Sequential(Block(), torch.nn.Linear(8, 8), Block()).eval(), torch.rand(4, 8)
ways = variants(net, x, compiler_options={"backend": "aot_eager"}).only("eager", "torch.compile")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
steps = training(net, F.mse_loss, optimizer, (x, torch.zeros(4, 8)))
""",
    "jax": """
import jax, optax
from flax import nnx
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(8, 8, rngs=rngs)
    def __call__(self, x):
        return nnx.relu(x + self.dense(x))
rngs = nnx.Rngs(0)
net, x = nnx.Sequential(Block(rngs), nnx.gelu, lambda x: 2 * x), jax.numpy.ones((4, 8))
ways = variants(net, x).only("eager", "jit")
optimizer = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
steps = training(net, lambda output, y: (output - y) ** 2, optimizer, (x, x))
""",
    "tensorflow": """
import tensorflow as tf
inputs = tf.keras.Input((8,))
hidden = tf.keras.layers.Dense(8, activation="relu")(inputs)
net = tf.keras.Model(inputs, tf.keras.layers.Add()([inputs, hidden]))
x = tf.ones((4, 8))
ways = variants(net, x).only("eager", "tf.function")
loss, optimizer = tf.keras.losses.MeanSquaredError(), tf.keras.optimizers.SGD(0.1)
steps = training(net, loss, optimizer, (x, x))
""",
    "mxnet": """
from d2lhybrid import import_mxnet
mx = import_mxnet()
from mxnet import gluon, np, npx
npx.set_np()
class Block(gluon.nn.HybridBlock):
    def __init__(self):
        super().__init__()
        self.dense = gluon.nn.Dense(8, flatten=False)
    def hybrid_forward(self, F, x):
        return F.npx.relu(x + self.dense(x))
net, x = gluon.nn.HybridSequential(), np.ones((4, 8))
net.add(Block(), gluon.nn.HybridLambda(lambda F, x: F.np.tanh(x)))
net.initialize()
net(x)
ways = variants(net, x).only("eager", "hybridized")
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
steps = training(net, gluon.loss.L2Loss(), trainer, (x, x))
""",
}
COMPARED = """
for what in (ways | {"mine": lambda *args: ways["eager"](*args)}, steps.only("eager")):
    c = compare(what, processes=1, time_limit=0.2, why=False)
    print(list(c), c.unavailable)
"""


@pytest.mark.parametrize("framework", MODELS)
def test_models_and_steps_of_a_script_are_sent_and_compiled_there(framework, tmp_path):
    """TorchDynamo and others find there what the classes and functions of the script name."""
    if not find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    script = tmp_path / "script.py"
    imports = "from d2lhybrid import compare, training, variants\n"
    script.write_text(imports + MODELS[framework] + COMPARED)
    compiled = {"torch": "torch.compile", "jax": "jit", "tensorflow": "tf.function"}
    labels = ["eager", compiled.get(framework, "hybridized"), "mine"]
    assert python(str(script)).stdout.splitlines()[-2:] == [f"{labels} {{}}", "['eager'] {}"]


KERAS = """
import keras
from d2lhybrid import compare
from d2lhybrid.errors import ArgumentError
class Twice(keras.layers.Layer):
    def call(self, x):
        return x + x
net, x = keras.Sequential([keras.layers.Dense(2), Twice()]), keras.ops.ones((2, 2))
net(x)
try:
    compare({"own": net}, x, processes=1, time_limit=0.2)
except ArgumentError as error:
    print(error)
"""


def test_a_keras_layer_whose_class_stands_in_the_script(tmp_path):
    if not find_spec("keras"):
        pytest.skip("keras is not installed")
    script = tmp_path / "script.py"
    script.write_text(KERAS)
    said = python(str(script)).stdout
    assert "that a fresh process can make again. Received: TypeError" in said
    assert said.endswith(f"{LINES}\n")


def test_what_is_set_for_a_framework_is_set_there():
    torch = pytest.importorskip("torch")

    def tells(x):
        raise ValueError(str(torch.zeros(1).dtype), torch.get_num_threads())

    default, threads = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(3)
    try:
        c = compare({"quick": quick, "tells": tells}, 1.0, processes=1, **SHORT)
    finally:
        torch.set_default_dtype(default)
        torch.set_num_threads(threads)
    assert "('torch.float64', 3)" in c.unavailable["tells"]


SET = {
    "torch": """
from operator import attrgetter
import torch
torch.use_deterministic_algorithms(True, warn_only=True)
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.conv.fp32_precision = "ieee"
torch.backends.mha.set_fastpath_enabled(False)
torch.backends.cuda.enable_flash_sdp(False)
torch.autocast("cpu", torch.float16).__enter__()
def state():  # by text, as cloudpickle can't send the modules that the code names
    backends = getattr(torch, "backends")
    flags = "cudnn.benchmark", "cudnn.conv.fp32_precision"
    tells = "mha.get_fastpath_enabled", "cuda.flash_sdp_enabled"
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    values = [attrgetter(flag)(backends) for flag in flags]
    products = (torch.ones(1, 1) @ torch.ones(1, 1)).dtype
    return warns, products, values, [attrgetter(one)(backends)() for one in tells]
""",
    "jax": """
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_default_device", jax.devices()[0])
def state():
    return jax.config.jax_platforms, repr(jax.config.jax_default_device)
""",
    "tensorflow": """
import tensorflow as tf
tf.config.optimizer.set_jit(True)
tf.config.experimental.enable_tensor_float_32_execution(False)
def state():
    tells = tf.config.experimental.tensor_float_32_execution_enabled
    return tf.config.optimizer.get_jit(), tells()
""",
}
TELLS = """
from d2lhybrid import compare
def tells(x):
    raise ValueError(str(state()))
c = compare({"quick": abs, "tells": tells}, 1.0, processes=1, time_limit=0.2, progress=False)
print(str(state()) in c.unavailable["tells"], state(), c.unavailable)
"""


@pytest.mark.parametrize("framework", SET)
def test_what_decides_how_a_framework_computes_is_set_there(framework, tmp_path):
    if not find_spec(framework):
        pytest.skip(f"{framework} is not installed")
    script = tmp_path / "script.py"
    script.write_text(SET[framework] + TELLS)
    said = python(str(script)).stdout.splitlines()[-1]
    assert said.startswith("True"), said


@pytest.mark.parametrize("name", [framework.name for framework in known()])
def test_a_fresh_process_has_as_many_threads_as_were_asked_for(name):
    code = (
        "import sys; from d2lhybrid.backends import get; framework = get(sys.argv[1])\n"
        "device = framework.device; device.compute_on(device.devices()[0])\n"
        "print(device.thread_count())"
    )
    env = {**os.environ, **get(name).variables_for_threads(1)}
    assert python("-c", code, name, **env).stdout.strip() == "1"
