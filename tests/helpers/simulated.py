"""A simulated accelerator that the package takes for a framework, on a machine of its own load."""

import os
import sys

import pytest
import toy
from fake import Compiler, Gpu, Machine

from d2lhybrid import backends
from d2lhybrid.measuring import disturbance, verdict

REAL = ("test_real", "test_provenance")  # the modules of tests that ask the real machine


@pytest.fixture(autouse=True)
def no_frameworks(monkeypatch, request):
    """On a simulated machine, no real framework is waited for, whatever other tests imported."""
    if request.module.__name__ not in REAL:
        # Known they stay: to comparisons made by hand, and to fresh processes, which import them.
        every = backends.known()
        monkeypatch.setattr(verdict, "known", lambda: every)
        monkeypatch.setattr("d2lhybrid.experiments.process_experiment.known", lambda: every)
        monkeypatch.setattr(backends, "_records", {})


@pytest.fixture
def on_a_gpu(monkeypatch, no_frameworks):
    """A function that makes a machine with an accelerator, the only framework there is."""

    def make(seed=0, **costs):
        machine = Machine(seed)
        gpu = Gpu(machine, **costs)
        monkeypatch.setitem(sys.modules, "gpu", toy)
        monkeypatch.setattr(backends, "_records", {"gpu": gpu.framework})
        return machine, gpu

    return make


@pytest.fixture
def compiler(monkeypatch, no_frameworks):
    """A framework that compiles, with a machine of its own; there is no other framework."""
    compiler = Compiler(Machine())
    monkeypatch.setitem(sys.modules, "compiler", toy)
    monkeypatch.setattr(backends, "_records", {"compiler": compiler.framework})
    return compiler


@pytest.fixture(scope="module", autouse=True)
def idle(request):
    """A simulated machine says that nobody else is on it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ not in REAL:
            patch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
            patch.setattr(disturbance, "IS_COUNTED", False)
        yield
