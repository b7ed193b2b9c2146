"""What a comparison warns of, in words that the frameworks share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from d2lhybrid.core.arguments import Args, Kwargs, name_of
from d2lhybrid.core.i18n import gettext as _, names
from d2lhybrid.core.pytree import leaves


def in_training_mode(model: Any, layers: Iterable[Any], code: str) -> list[str]:
    """A warning if a model has layers that act as in training; `code` puts it into inference."""
    text = _(
        "{model} is in training mode, which matters for {layers}. To measure inference, call "
        "{code} first."
    )
    return _of_layers(text, model, layers, code)


def called_for_training(model: Any, layers: Iterable[Any], code: str) -> list[str]:
    """A warning if a call has layers that act as in training, because of its argument `code`."""
    text = _(
        "{model} is called with {code}, which matters for {layers}. To measure inference, leave it "
        "out."
    )
    return _of_layers(text, model, layers, code)


def _of_layers(text: str, model: Any, layers: Iterable[Any], code: str) -> list[str]:
    kinds = list(dict.fromkeys(type(layer).__name__ for layer in layers))
    return [text.format(model=name_of(model), layers=names(kinds), code=code)] if kinds else []


def on_other_devices(
    model: Any,
    weights: Iterable[Any],
    args: Args,
    kwargs: Kwargs,
    devices_of: Callable[[Any], frozenset[str]],
) -> Iterator[str]:
    """A warning for each argument that is on none of the model's devices.

    The first argument with a device stands for a model without weights. This is for frameworks that
    copy such an argument in each call and say nothing of it.

    Args:
        devices_of: the names of the devices of a tensor; none of anything else.
    """
    home, owner = frozenset[str]().union(*map(devices_of, weights)), name_of(model)
    argument = _("argument {number}")
    numbered = [(argument.format(number=n), arg) for n, arg in enumerate(args, 1)]
    for name, given in [*numbered, *kwargs.items()]:
        here = frozenset[str]().union(*(devices_of(leaf) for _path, leaf in leaves(given)))
        if not home:
            home, owner = here, name
        elif here - home:
            text = _(
                "{name} is on {device}, but {owner} is on {home}, so each call copies it. Copy it "
                "to that device once, before you compare."
            )
            device, devices = names(sorted(here - home)), names(sorted(home))
            yield text.format(name=name, device=device, owner=owner, home=devices)
