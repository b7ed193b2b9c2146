"""The first verb in a process: it draws no random numbers, and may be interrupted at any import.

One process imports a framework; each trial is a fork of it, before anything has run.
"""

import json
import signal
import sys

import pytest
from processes import python

from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks import known

NAMES = [framework.name for framework in known()]

MADE = {
    "torch": """
import torch
def make():
    net = torch.nn.Linear(3, 2)
    return net, torch.ones(1, 3), torch.optim.SGD(net.parameters(), 0.1)
state = lambda: torch.get_rng_state().tolist()
""",
    "tensorflow": """
import tensorflow as tf
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
import json, os, random, signal, sys, traceback, warnings
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
    "None where there are fewer imports."
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

def forked(trial, *given):
    "What a trial returns in a process of its own, or the end of what it says when it fails."
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        try:
            found = trial(*given)
        except BaseException:
            found = traceback.format_exc()[-3000:]
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with open(read) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    return json.loads(found) if found else "the process ended"
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.fork")
@pytest.mark.parametrize("framework", NAMES)
def test_the_first_verb_draws_no_random_numbers(framework):
    ask = """
verbs = compare, variants, training, explain, benchmark, synchronize
print(json.dumps({verb.__name__: forked(leaves_numbers, verb) for verb in verbs}))
"""
    found = json.loads(python("-c", TRIALS + MADE[framework] + ask).stdout.splitlines()[-1])
    assert found == dict.fromkeys(found, True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs os.fork")
@pytest.mark.parametrize("framework", NAMES)
def test_an_interrupt_at_an_import_of_the_first_verb_leaves_later_ones_working(framework):
    """At early imports, which are ours, and at late ones, which are others'."""
    ask = """
found = {}
for verb in (compare, variants):
    for number in (2, 5, 9, 17, 30, 60, 120, 240, 480, 960):
        came = forked(works_after, verb, number)
        if came is None:
            break
        found[f"{verb.__name__} {number}"] = came
print(json.dumps(found))
"""
    found = json.loads(python("-c", TRIALS + MADE[framework] + ask).stdout.splitlines()[-1])
    assert found == dict.fromkeys(found, True)
    assert len(found) > 4


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
