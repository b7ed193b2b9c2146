"""Every verb of measuring from eight threads at once, in a fresh process."""

import json

import pytest
from processes import python
from test_first_verb import MADE

from d2lhybrid.backends import known

NAMES = [framework.name for framework in known()]

ALL_AT_ONCE = """
import gc, json, logging, os, random, sys, time, traceback, warnings
from threading import Barrier, Thread, active_count
from contextlib import suppress
import numpy as np
from d2lhybrid.errors import ClaimError
warnings.simplefilter("ignore")
QUICK = {"time_limit": 0.05, "progress": False}

def compare(d2l, net, x, optimizer):
    c = d2l.compare({"a": net, "b": net}, x, check=False, **QUICK)
    with suppress(ClaimError):  # so many threads at once are a busy machine
        c.claim("b", "not slower", at_least=None)
    assert list(c) == ["a", "b"], c

def variants(d2l, net, x, optimizer):
    ways = d2l.variants(net, x)
    c = d2l.compare(ways.only("eager"), **QUICK)
    assert list(c) == ["eager"], c

def measure(d2l, net, x, optimizer):
    assert d2l.measure(net, x, time_limit=0.05).median > 0

def sweep(d2l, net, x, optimizer):
    assert len(d2l.sweep(lambda n: ({"a": net}, x), [1, 2], check=False, **QUICK).sizes) == 2

def training(d2l, net, x, optimizer):
    if optimizer is not None:
        steps = d2l.training(net, lambda a, b: (a - b) ** 2, optimizer, (x, x[:, :2]))
        d2l.compare(steps.only("eager"), check=False, **QUICK)

def benchmark(d2l, net, x, optimizer):
    with d2l.Benchmark("Work") as b:
        net(x)
    assert b.seconds > 0

def timer(d2l, net, x, optimizer):
    timer = d2l.Timer()
    net(x)
    assert timer.stop() > 0

def explain(d2l, net, x, optimizer):
    assert d2l.explain(net, x).framework
    assert d2l.graph(net, x).stages if graphs else True

def seen():
    state = random.getstate(), np.random.get_state(legacy=False)
    filters = len(warnings.filters), logging.root.manager.disable
    return repr(state), filters, gc.isenabled(), sys.stdout, sys.stderr, os.fstat(2).st_ino

graphs = True
verbs = [compare, variants, measure, sweep, training, benchmark, timer, explain]
import d2lhybrid as d2l
made = [make() for _verb in verbs]
before, ready, failed = seen(), Barrier(len(verbs)), []

def run(verb, given):
    ready.wait()
    try:
        import d2lhybrid as d2l
        verb(d2l, *given)
    except BaseException:
        failed.append(f"{verb.__name__}: {traceback.format_exc()[-2000:]}")

threads = [Thread(target=run, args=one, daemon=True) for one in zip(verbs, made)]
out = sys.stdout
for one in threads:
    one.start()
deadline = time.monotonic() + 300
for one in threads:
    one.join(max(0, deadline - time.monotonic()))
after = seen()
from d2lhybrid.backends import known
names = [framework.name for framework in known()]
same = [a == b for a, b in zip(before, after)]
left = [one.name for one in threads if one.is_alive()]
print(json.dumps({"failed": failed, "names": names, "same": same, "left": left}), flush=True)
os._exit(0)  # which waits for no thread that hangs
"""


@pytest.mark.parametrize("framework", NAMES)
def test_every_verb_at_once_from_a_thread_of_its_own(framework):
    done = python("-c", MADE[framework] + ALL_AT_ONCE)
    found = json.loads(done.stdout.splitlines()[-1])
    assert not found["failed"], "\n".join(found["failed"])
    assert found == {"failed": [], "names": NAMES, "same": [True] * 6, "left": []}
