"""A machine for tests: a clock that only moves when a function says how long it took."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from d2lhybrid.frameworks.protocol import Framework, Room, Tensors, Variant
from d2lhybrid.tensor import Raw


class Machine:
    """Simulated time. Callables made by `function` take as long as they are told, with noise."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.rng = np.random.default_rng(seed)

    def clock(self) -> float:
        return float(self.now)

    def function(
        self,
        seconds: float,
        noise: float = 0.0,
        cold: float = 0.0,
        drift: Callable[[float], float] = lambda now: 1.0,
        heavy: float = 0.0,
        result: Any = 1.0,
    ) -> Callable[..., Any]:
        calls = 0

        def call(*args: Any) -> Any:
            nonlocal calls
            spent = seconds * drift(self.now) * np.exp(noise * self.rng.standard_normal())
            if heavy and self.rng.random() < 0.1:
                spent *= 1 + heavy * self.rng.pareto(2)
            self.now += spent + (cold if calls == 0 else 0.0)
            calls += 1
            return result

        return call


class Array:
    """What a call on the simulated accelerator returns."""


Array.__module__ = "gpu"


class Gpu(Framework, Tensors):
    """An accelerator of that machine: calls queue their work and return before it is done.

    Launching costs the host time, and so does a wait that finds work still going on (`wake`) or
    none (`wait`). The queue holds `depth` pieces of work; who launches into a full one waits.
    """

    name = display = "gpu"

    def __init__(
        self,
        machine: Machine,
        launch: float,
        wait: float = 0.0,
        wake: float = 0.0,
        depth: int = 1000,
        events: bool = True,
    ) -> None:
        self.machine, self.launch = machine, launch
        self.wait_cost, self.wake, self.events = wait, wake, events
        self.ends: deque[float] = deque(maxlen=depth)  # of the latest pieces of work

    @property
    def free_at(self) -> float:
        return self.ends[-1] if self.ends else 0.0

    def queue(self, seconds: float) -> None:
        m = self.machine
        m.now += self.launch
        if len(self.ends) == self.ends.maxlen:
            m.now = max(m.now, self.ends[0])
        self.ends.append(max(self.free_at, m.now) + seconds)

    def kernel(self, seconds: float, noise: float = 0.0) -> Callable[..., Any]:
        result = Array()

        def call(*args: Any) -> Any:
            self.queue(seconds * np.exp(noise * self.machine.rng.standard_normal()))
            return result

        return call

    def synchronize(self) -> None:
        m = self.machine
        m.now = self.free_at + self.wake if self.free_at > m.now else m.now
        m.now += self.wait_cost

    def start_events(self) -> float | None:
        if not self.events:
            return None
        return max(self.free_at, self.machine.now)  # when the device comes to the event

    def device_seconds(self, started: float) -> float | None:
        end = self.free_at
        self.synchronize()
        return end - started

    def version(self) -> str:
        return "1"

    def devices(self) -> list[str]:
        return ["cpu", "gpu"]

    def compute_on(self, device: str) -> float:
        return 8.0

    @property
    def tensors(self) -> "Gpu":
        return self

    def room(self) -> Room:
        return Room(lambda net, *_asked: {"eager": Variant(net)})

    def is_tensor(self, obj: Any) -> bool:
        return False

    def to_raw(self, tensor: Any) -> Raw:
        return Raw.of(np.asarray(tensor))

    def from_raw(self, raw: Raw, options: Any) -> Any:
        return raw.array
