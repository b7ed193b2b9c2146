"""A machine for tests: a clock that only moves when a function says how long it took."""

from collections import deque
from itertools import count

import numpy as np
from toy import device

from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.defaults import compiler, models, why


class Machine:
    """Simulated time. Callables made by `function` take as long as they are told, with noise."""

    def __init__(self, seed=0):
        self.now = 0.0
        self.rng = np.random.default_rng(seed)

    def clock(self):
        return float(self.now)

    def function(self, seconds, noise=0.0, cold=0.0, drift=lambda now: 1.0, heavy=0.0, result=1.0):
        calls = 0

        def call(*args):
            nonlocal calls
            spent = seconds * drift(self.now) * np.exp(noise * self.rng.standard_normal())
            if heavy and self.rng.random() < 0.1:
                spent *= 1 + heavy * self.rng.pareto(2)
            self.now += spent + (cold if calls == 0 else 0.0)
            calls += 1
            return result

        return call


class Fake:
    """Modules of a framework that a test makes up: what it leaves out is the toy's, or a default.

    It stands for those that are named when it is made.
    """

    def __init__(self, name, *parts):
        self.framework = Framework(name, name, folder="toy")
        for part in parts:
            setattr(self.framework, part, self)

    def __getattr__(self, name):
        modules = (device, models, compiler, why)
        return getattr(next(one for one in modules if hasattr(one, name)), name)


class Array:
    """What a call on the simulated accelerator returns."""


Array.__module__ = "gpu"


class Gpu(Fake):
    """An accelerator of that machine: calls queue their work and return before it is done.

    Launching costs the host time, and so does a wait that finds work still going on (`wake`) or
    none (`wait`). The queue holds `depth` pieces of work; who launches into a full one waits.
    """

    def __init__(self, machine, launch, wait=0.0, wake=0.0, depth=1000, events=True):
        super().__init__("gpu", "device")
        self.machine, self.launch = machine, launch
        self.wait_cost, self.wake, self.events = wait, wake, events
        self.ends: deque[float] = deque(maxlen=depth)  # of the latest pieces of work

    @property
    def free_at(self):
        return self.ends[-1] if self.ends else 0.0

    def queue(self, seconds):
        m = self.machine
        m.now += self.launch
        if len(self.ends) == self.ends.maxlen:
            m.now = max(m.now, self.ends[0])
        self.ends.append(max(self.free_at, m.now) + seconds)

    def kernel(self, seconds, noise=0.0):
        result = Array()

        def call(*args):
            self.queue(seconds * np.exp(noise * self.machine.rng.standard_normal()))
            return result

        return call

    def synchronize(self):
        m = self.machine
        m.now = self.free_at + self.wake if self.free_at > m.now else m.now
        m.now += self.wait_cost

    def wait_for(self, output):
        self.synchronize()

    def start_clock(self):
        if not self.events:
            return None
        started = max(self.free_at, self.machine.now)  # when the device comes to the event

        def seconds():
            end = self.free_at
            self.synchronize()
            return end - started

        return seconds


class Compiler(Fake):
    """A framework of that machine that compiles, and counts its programs."""

    def __init__(self, machine):
        super().__init__("compiler", "compiler")
        self.machine, self.programs = machine, 0

    def programs_compiled(self):
        return self.programs

    def function(self, seconds, compiling=1e-3, again=lambda call: False):
        """It compiles at its first call, number 0, and at those later ones that `again` picks."""
        run, calls = self.machine.function(seconds), count()

        def call(*args):
            number = next(calls)
            if number == 0 or again(number):
                self.programs += 1
                self.machine.now += compiling
            return run()

        return call
