"""Hooks in a framework, where it has none of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any


@contextmanager
def hooked(owner: Any, name: str, note: Callable[..., object]) -> Iterator[None]:
    """In this thread, call `note` before each call of ``owner.name``, with the same arguments.

    If there is no such name, nothing is called.
    """
    original = getattr(owner, name, None)
    if original is None:
        yield
        return
    thread = get_ident()

    def call(*args: Any, **kwargs: Any) -> Any:
        if get_ident() == thread:
            note(*args, **kwargs)
        return original(*args, **kwargs)

    setattr(owner, name, call)
    try:
        yield
    finally:
        setattr(owner, name, original)
