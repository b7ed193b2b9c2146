"""A simulated accelerator that the package takes for a framework, on a machine of its own load."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fake import Gpu, Machine

from d2lhybrid import frameworks


@pytest.fixture(autouse=True)
def no_frameworks(monkeypatch: Any, request: Any) -> None:
    """On a simulated machine, no real framework is waited for, whatever other tests imported."""
    if request.module.__name__ != "test_real":
        monkeypatch.setattr(frameworks, "known", lambda: ())


@pytest.fixture
def on_a_gpu(monkeypatch: Any, no_frameworks: None) -> Callable[..., tuple[Machine, Gpu]]:
    """A function that makes a machine with an accelerator, the only framework there is."""

    def make(seed: int = 0, **costs: Any) -> tuple[Machine, Gpu]:
        machine = Machine(seed)
        gpu = Gpu(machine, **costs)
        monkeypatch.setitem(sys.modules, "gpu", sys)
        monkeypatch.setattr(frameworks, "known", lambda: (gpu,))
        return machine, gpu

    return make


@pytest.fixture(scope="module", autouse=True)
def idle(request: Any) -> Iterator[None]:
    """A simulated machine says that nobody else is on it."""
    with pytest.MonkeyPatch.context() as patch:
        if request.module.__name__ != "test_real":
            patch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0), raising=False)
        yield
