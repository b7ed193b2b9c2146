"""Every way in which a model's framework can run it, by name."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from d2lhybrid.errors import ArgumentError, CannotBuildError
from d2lhybrid.frameworks import of
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measure.measuring import call_failed, name_of, require_one_device


class Variants(Mapping[str, Callable[..., Any]]):
    """Callables by name; ``unavailable`` says of the others why they cannot be built here."""

    def __init__(
        self, callables: Mapping[str, Callable[..., Any]], unavailable: Mapping[str, str]
    ) -> None:
        self._callables, self.unavailable = dict(callables), dict(unavailable)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._callables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._callables)

    def __len__(self) -> int:
        return len(self._callables)

    def only(self, *names: str) -> "Variants":
        """These alone, in this order; raises ArgumentError for an unknown name."""
        for name in names:
            if name not in self._callables and name not in self.unavailable:
                known = ", ".join(map(repr, [*self, *self.unavailable]))
                text = _("Expected names among {names}. Received: {received!r}.")
                raise ArgumentError(text.format(names=known, received=name))
        reasons = {name: self.unavailable[name] for name in names if name in self.unavailable}
        return Variants({n: self[n] for n in names if n in self._callables}, reasons)

    def __repr__(self) -> str:
        there = [f"  {name}" for name in self]
        not_there = [f"  {name}: {_(reason)}" for name, reason in self.unavailable.items()]
        return "\n".join(["Variants", *there, *not_there])


def variants(net: Callable[..., Any], *args: Any, **kwargs: Any) -> Variants:
    """Every way in which the framework of `net` runs ``net(*args)``, eager first.

    The compiled ones are built at their first call, so that ``compare`` sees what building costs.
    The model is called once now, or its first eager call would be charged with what the process
    does only once, such as loading kernels and giving layers their shapes.
    `net` is left as it was: its mode, its parameters, hybridized or not. What cannot be built on
    this machine stands in ``.unavailable`` with the reason.

    Returns:
        Variants, a mapping from name to callable, as ``compare`` takes it; ``.only(...)`` chooses.

    Raises:
        UnknownFrameworkError: neither `net` nor an argument belongs to a known framework.
        CallFailedError: model and arguments are on different devices.
        CallFailedError: ``net(*args)`` raised.
        CannotBuildError: the model cannot be copied.

    >>> import torch
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> list(variants(net, x).only("eager", "inference_mode"))
    ['eager', 'inference_mode']
    """
    framework = of(net, args, kwargs)
    require_one_device(net, args)
    try:
        ways = framework.variants(net, args, kwargs)
        ways["eager"](*args, **kwargs)  # type: ignore[operator]
    except CannotBuildError:
        raise
    except Exception as error:
        raise call_failed(name_of(net), error) from error
    callables = {name: way for name, way in ways.items() if not isinstance(way, str)}
    return Variants(callables, {name: way for name, way in ways.items() if isinstance(way, str)})
