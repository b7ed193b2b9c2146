"""Defaults of ``device.py``: no accelerator, nothing that it tells of itself."""

from collections.abc import Callable, Iterable
from typing import Any

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
