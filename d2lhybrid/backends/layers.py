"""A model as a chain of dense layers, of which functions and programs are written by hand."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

ACTIVATIONS = ("relu", "sigmoid", "tanh")


@dataclass(frozen=True)
class Layer:
    """A dense layer: ``activation(x @ weight + bias)``, in float32.

    `weight` has the shape (inputs, outputs); `activation` is "", or a name from ``ACTIVATIONS``.
    """

    weight: np.ndarray
    bias: np.ndarray
    activation: str = ""


def chain(parts: Iterable[Layer | str | None]) -> list[Layer] | None:
    """The dense layers with the activations that follow them; None if there is anything else.

    A part is a layer, the name of an activation, "" for what does nothing, or None for the rest.
    """
    layers: list[Layer] = []
    for part in parts:
        if isinstance(part, Layer):
            layers.append(part)
        elif part in ACTIVATIONS and layers and not layers[-1].activation:
            layers[-1] = replace(layers[-1], activation=part)
        elif part != "":
            return None
    return layers or None
