"""Defaults of ``why.py``: nothing is known of why a call takes its time."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding


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
