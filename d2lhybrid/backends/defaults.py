"""What is taken for a framework that can't do something, or doesn't tell.

A module of a framework's folder takes from here, by name, what it lacks. If the folder has no
``compiler.py`` or ``why.py``, this module stands in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a module that only waits for a device needs none of these
    from pathlib import Path

    from d2lhybrid.backends.variant import Args, Function, Kwargs
    from d2lhybrid.graphs.explanation import Explanation, Finding

# Of `device.py`

# A function that cloudpickle can send, and the values with which it sets something again.
Setting = tuple[Callable[..., object], tuple[Any, ...]]


def may_return_early(_tensor: Any) -> bool:
    return True


def has_unfinished_work() -> bool | None:
    return None


def start_clock() -> Callable[[], float] | None:
    return None


def reset_peak_memory() -> None:
    pass


def peak_memory_bytes() -> int | None:
    return None


def is_started() -> bool | None:
    return None


def thread_count() -> int | None:
    return None


def accelerators() -> list[str]:
    return []


def settings(_with_threads: bool) -> Iterable[Setting]:
    return ()


# Of `models.py`


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (), ()


def snapshot(_parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    return ()


def warnings(_model: Function, _args: Args, _kwargs: Kwargs) -> Iterable[str]:
    return ()


def donates(_function: Function) -> bool:
    return False


# `compiler.py`


def start(_function: Function) -> tuple[str, float | None]:
    return "", None


def programs_compiled() -> int | None:
    return None


def disk_cache_hits() -> int:
    return 0


def use_disk_cache(_folder: Path) -> None:
    pass


# `why.py`


def is_compiled(_function: Function) -> bool:
    return False


def switched_off() -> str:
    return ""


def hint(_error: Exception) -> str:
    return ""


def first_call() -> AbstractContextManager[Callable[[], Explanation | None]]:
    return nullcontext(lambda: None)


def programs_run(_run: Function) -> int | None:
    return None


def why_not_compiled(_function: Function) -> str:
    return ""


def limit_reached(_function: Function) -> str:
    return ""


def compiled_again(_run: Callable[[], Any]) -> Finding | None:
    return None


def apart(_model: Function, _args: Args, _kwargs: Kwargs) -> AbstractContextManager[object] | None:
    return None


def seconds_before(_run: Function) -> float | None:
    return None


def eager_operation() -> Callable[[], Any] | None:
    return None


def eager_operations(explanation: Explanation) -> int | None:
    """All that were recorded, but for those that only arrange elements."""
    program = explanation.program
    return program.recorded - program.free if program else None
