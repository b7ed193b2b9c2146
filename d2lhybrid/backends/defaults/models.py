"""Defaults of ``models.py``: running a model changes nothing."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from d2lhybrid.core.arguments import Function


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (), ()


def snapshot(_parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    return ()


def layers_in_training(_model: Function) -> Iterable[Any]:
    return ()


def donates(_function: Function) -> bool:
    return False
