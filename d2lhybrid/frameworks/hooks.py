"""Notes of what a framework calls inside, where it has no hooks for it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, get_ident
from typing import Any

# Held by the thread that notes: the last of two to leave would put back the function of the other.
_noting = RLock()


@contextmanager
def noted(owner: Any, name: str, note: Callable[..., object]) -> Iterator[None]:
    """In this thread, call `note` before each call of ``owner.name``, with the same arguments.

    If there is no such name, nothing is noted.
    """
    original, thread = getattr(owner, name, None), get_ident()
    if original is None:
        yield
        return

    def call(*args: Any, **kwargs: Any) -> Any:
        if get_ident() == thread:
            note(*args, **kwargs)
        return original(*args, **kwargs)

    with _noting:
        setattr(owner, name, call)
        try:
            yield
        finally:
            setattr(owner, name, original)
