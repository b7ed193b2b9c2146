"""Hooks in a framework, where it has none of its own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import get_ident
from typing import Any


@contextmanager
def replaced(owner: Any, name: str, make: Callable[[Any], Any]) -> Iterator[None]:
    """In the block, ``owner.name`` is what `make` makes of it.

    If there is no such name, nothing is replaced.
    """
    original = getattr(owner, name, None)
    if original is None:
        yield
        return
    setattr(owner, name, make(original))
    try:
        yield
    finally:
        setattr(owner, name, original)


def hooked(owner: Any, name: str, note: Callable[..., object]) -> AbstractContextManager[None]:
    """In this thread, call `note` before each call of ``owner.name``, with the same arguments.

    If there is no such name, nothing is called.
    """
    thread = get_ident()

    def noting(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if get_ident() == thread:
                note(*args, **kwargs)
            return original(*args, **kwargs)

        return call

    return replaced(owner, name, noting)
