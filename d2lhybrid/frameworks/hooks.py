"""Hooks around functions of a framework that offers none there."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

# Held by the thread that has hooks: the last to leave would put back the hook of another.
_hooking = RLock()


@contextmanager
def hooked(owner: Any, name: str, hook: Callable[..., Any]) -> Iterator[None]:
    """In this thread, let each call of ``owner.name`` be one of ``hook(original, *arguments)``.

    If there is no such name, nothing is hooked.
    """
    original, thread = getattr(owner, name, None), get_ident()
    if original is None:
        yield
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        if get_ident() != thread:
            return original(*args, **kwargs)
        return hook(original, *args, **kwargs)

    with _hooking:
        setattr(owner, name, call)
        try:
            yield
        finally:
            setattr(owner, name, original)
