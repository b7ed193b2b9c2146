"""What a trace leaves in a model, and how it is taken away again."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from inspect import isfunction
from typing import Any

from d2lhybrid.backends.state import Attributes
from d2lhybrid.core.closures import named_in
from d2lhybrid.core.wording import name_of


def leaving_attributes(run: Callable[..., Any], model: Any) -> Callable[..., Any]:
    """The function, each call of which puts back the attributes of the model that it calls.

    So a trace of it leaves none of its tensors in the model.
    """
    kept = kept_attributes(model)

    def forward(*args: Any, **kwargs: Any) -> Any:
        with kept:
            return run(*args, **kwargs)

    forward.__name__ = name_of(run)
    return forward


class kept_attributes(AbstractContextManager[None]):
    """Put back, after the block, the attributes of a model and of what it is made of."""

    # A class, whose blocks AutoGraph leaves alone; it would rewrite a generator.

    def __init__(self, model: Any) -> None:
        self._models = _owners(model)
        self._blocks: list[Attributes] = []

    def __enter__(self) -> None:
        self._blocks.append(Attributes(self._models))

    def __exit__(self, *_error: object) -> None:
        self._blocks.pop().put_back()


def _owners(model: Any) -> list[Any]:
    """What a call may change: the model, that of a method or wrapper, what a function names."""
    named = named_in(model) if isfunction(model) else ()
    return [model, getattr(model, "__self__", None), getattr(model, "__wrapped__", None), *named]
