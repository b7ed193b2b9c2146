"""Defaults of ``why.py``: nothing is known of why a call takes its time."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from d2lhybrid.core.arguments import Function
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.facts import WatchedCall


def is_compiled(_function: Function) -> bool:
    return False


def hint(_error: Exception) -> str:
    return ""


def first_call() -> AbstractContextManager[Callable[[], Explanation | None]]:
    return nullcontext(lambda: None)


def watched_call(_run: Function) -> WatchedCall:
    return WatchedCall(programs=None, again=None)


def why_not_compiled(_function: Function) -> str:
    return ""


def seconds_before(_run: Function) -> float | None:
    return None


def eager_operation() -> Callable[[], Any] | None:
    return None


def eager_operations(explanation: Explanation) -> int | None:
    """As many as were counted while it was recorded, or all but what only arranges elements."""
    recording = explanation.recording
    if recording is not None and recording.eager_operations is not None:
        return recording.eager_operations
    program = explanation.program
    return program.recorded - program.free if program else None
