"""A machine for tests: a clock that only moves when a function says how long it took."""

from collections.abc import Callable
from typing import Any

import numpy as np


class Machine:
    """Simulated time. Callables made by `function` take as long as they are told, with noise."""

    def __init__(self, seed: int = 0) -> None:
        self.now = 0.0
        self.rng = np.random.default_rng(seed)

    def clock(self) -> float:
        return self.now

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
