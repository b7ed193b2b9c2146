"""What JAX has compiled. Each eager operation is a program, too, compiled when it first runs."""

from collections import Counter
from functools import cache
from typing import Any

import jax

from d2lhybrid.backends.defaults import compiler as defaults
from d2lhybrid.backends.jax.device import LAST_WORK

is_imported = defaults.is_imported
start = defaults.start
use_disk_cache = defaults.use_disk_cache
_COMPILED = "/jax/core/compile/backend_compile_duration"
_events: Counter[str] = Counter()  # that JAX has reported, by their names


@cache
def _count_events() -> None:
    """Count what JAX reports from the first call of this on, but for what we wait by.

    That is compiled in a first call if nothing of JAX ran before, as with inputs of NumPy.
    """

    def count(event: str, *_seconds: float, fun_name: str = "", **_about: Any) -> None:
        if LAST_WORK not in fun_name:
            _events[event] += 1

    jax.monitoring.register_event_listener(count)
    jax.monitoring.register_event_duration_secs_listener(count)


def disk_cache_hits() -> int:
    """JAX reports each program that it finds in the persistent cache."""
    _count_events()
    return _events["/jax/compilation_cache/cache_hits"]


def programs_compiled() -> int:
    """Those that were found in the persistent cache among them: they are traced and loaded."""
    _count_events()
    return _events[_COMPILED]
