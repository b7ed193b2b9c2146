"""Defaults of ``models.py``: running a model changes nothing, and there is nothing to warn of."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from d2lhybrid.core.arguments import Args, Function, Kwargs


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (), ()


def snapshot(_parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
    return ()


def warnings(_model: Function, _args: Args, _kwargs: Kwargs) -> Iterable[str]:
    return ()


def donates(_function: Function) -> bool:
    return False
