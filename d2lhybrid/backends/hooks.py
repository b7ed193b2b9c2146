"""Hooks in a framework, where it has none of its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

# Held by the thread that hooks: the last of two to leave would put back the function of the other.
_hooking = RLock()


@contextmanager
def hooked(owner: Any, name: str, note: Callable[..., object]) -> Iterator[None]:
    """In this thread, call `note` before each call of ``owner.name``, with the same arguments.

    If there is no such name, nothing is called.
    """
    if getattr(owner, name, None) is None:
        yield
        return
    with _hooking:
        original, thread = getattr(owner, name), get_ident()

        def call(*args: Any, **kwargs: Any) -> Any:
            if get_ident() == thread:
                note(*args, **kwargs)
            return original(*args, **kwargs)

        setattr(owner, name, call)
        try:
            yield
        finally:
            setattr(owner, name, original)
