"""The first verb in a process draws no random numbers.

One process imports a framework; each trial is a fork of it, before anything has run.
"""

import json
import os

import pytest
from forks import parents
from processes import ROOT

from d2lhybrid.backends import known

NAMES = [framework.name for framework in known()]
VERBS = ["compare", "variants", "training", "explain", "benchmark", "synchronize"]

# What `make` needs is imported above it: an optimizer of PyTorch imports TorchDynamo.
MADE = {
    "torch": """
import torch, torch._dynamo
def make():
    net = torch.nn.Linear(3, 2)
    return net, torch.ones(1, 3), torch.optim.SGD(net.parameters(), 0.1)
state = lambda: torch.get_rng_state().tolist()
""",
    "tensorflow": """
import keras, tensorflow as tf
def make():
    net, x = tf.keras.Sequential([tf.keras.layers.Dense(2)]), tf.ones((1, 3))
    net(x)
    return net, x, tf.keras.optimizers.SGD(0.1)
state = lambda: None
""",
    # Without Flax, which draws some when it is imported.
    "jax": """
import jax, jax.numpy as jnp
def make():
    return (lambda x: jnp.sin(x).sum()), jnp.ones(3), None
state = lambda: "flax" in sys.modules
""",
    "mxnet": """
from d2lhybrid import import_mxnet
mx = import_mxnet()
def make():
    net = mx.gluon.nn.Dense(2)
    net.initialize()
    return net, mx.nd.ones((1, 3)), mx.gluon.Trainer(net.collect_params(), "sgd")
state = lambda: None
""",
}

TRIALS = """
import json, os, random, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
QUICK = {"time_limit": 0.01, "progress": False}

def compare(d2l, net, x, optimizer):
    d2l.compare({"a": net}, x, **QUICK)

def variants(d2l, net, x, optimizer):
    d2l.variants(net, x)

def training(d2l, net, x, optimizer):
    if optimizer is not None:
        steps = d2l.training(net, lambda a, b: (a - b) ** 2, optimizer, (x, x[:, :2]))
        d2l.compare(steps.only("eager"), **QUICK)

def explain(d2l, net, x, optimizer):
    d2l.explain(net, x)

def benchmark(d2l, net, x, optimizer):
    with d2l.Benchmark("Work"):
        net(x)

def synchronize(d2l, net, x, optimizer):
    d2l.synchronize()

def drawn():
    return repr((random.getstate(), np.random.get_state(), state()))

def leaves_numbers(verb):
    import d2lhybrid as d2l
    made = make()
    before = drawn()
    verb(d2l, *made)
    return drawn() == before
"""


@pytest.fixture(scope="module")
def parent():
    """A process that has imported a framework, by the framework's name, and no verb of ours."""
    if not hasattr(os, "fork"):
        pytest.skip("needs os.fork")
    with parents(MADE, PYTHONPATH=str(ROOT)) as parent:
        yield parent


@pytest.fixture
def found(parent, tmp_path):
    """What a trial of a framework returns, in a process of its own."""

    def run(framework, trial):
        program = f"{TRIALS}{MADE[framework]}print(json.dumps({trial}), flush=True)\nos._exit(0)"
        *_others, last = parent(framework).printed(tmp_path / "trial.py", program).splitlines()
        return json.loads(last)

    return run


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("framework", NAMES)
def test_the_first_verb_draws_no_random_numbers(framework, verb, found):
    assert found(framework, f"leaves_numbers({verb})") is True
