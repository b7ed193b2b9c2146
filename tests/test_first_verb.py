"""The first verb in a process: it draws no random numbers, and may be interrupted at any import.

One process imports a framework; each trial is a fork of it, before anything has run.
"""

import json
import os
import signal
import sys

import pytest
from forks import parents
from processes import ROOT

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks import known

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
import json, os, random, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from importlib.abc import MetaPathFinder
QUICK = {"time_limit": 0.01, "progress": False}

def compare(d2l, net, x, optimizer):
    if d2l.compare({"a": net}, x, **QUICK).stopped == "interrupted":
        raise KeyboardInterrupt  # which came between rounds, and ended them

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

class Interrupts(MetaPathFinder):
    "A finder that finds nothing, and presses Ctrl-C at the import with this number."
    def __init__(self, number):
        self.number, self.seen = number, 0
    def find_spec(self, name, path, target=None):
        self.seen += 1
        if self.seen == self.number:
            signal.raise_signal(signal.SIGINT)

def works_after(verb, number):
    "Does it work after an interrupt? None where there are fewer imports."
    import d2lhybrid as d2l
    made, finder = make(), Interrupts(number)
    sys.meta_path.insert(0, finder)
    try:
        verb(d2l, *made)
    except KeyboardInterrupt:
        pass
    else:
        return None if finder.seen < number else "no interrupt came up"
    finally:
        sys.meta_path.remove(finder)
    verb(d2l, *made)
    return True
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


@pytest.mark.parametrize("verb", ["compare", "variants"])
@pytest.mark.parametrize("framework", NAMES)
def test_an_interrupt_at_an_import_of_the_first_verb_leaves_later_ones_working(
    framework, verb, found
):
    """At early imports, which are ours, and at late ones, which are others'."""
    for tried, number in enumerate((2, 5, 9, 17, 30, 60, 120, 240, 480, 960)):
        works = found(framework, f"works_after({verb}, {number})")
        if works is None:
            assert tried > 2
            break
        assert works is True


HANGS = """
import signal, sys
for sys.turn in range(9):
    signal.raise_signal(signal.SIGINT)
"""
INSIDE = """
from d2lhybrid.core.toolchain import import_uninterrupted
import_uninterrupted("hanging")
"""
OWN = """
import signal
def own(*_received): pass
signal.signal(signal.SIGINT, own)
"""


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """Modules that are there for one test, and the handler of Ctrl-C as it was."""
    before = signal.getsignal(signal.SIGINT)
    for name, text in {"hanging": HANGS, "outer": INSIDE, "handling": OWN}.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "turn", None, raising=False)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["hanging", "outer"])
def test_the_third_interrupt_ends_an_import_that_hangs(name, modules):
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        import_uninterrupted(name)
    assert sys.turn == 2
    assert name not in sys.modules
    assert signal.getsignal(signal.SIGINT) is before


def test_a_handler_that_an_import_sets_stays(modules):
    own = import_uninterrupted("handling").own
    assert signal.getsignal(signal.SIGINT) is own
