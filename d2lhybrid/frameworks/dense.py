"""A chain of dense layers as one plain function, from a template that each framework fills."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from d2lhybrid.frameworks.protocol import Function, Layer


def dense_function(
    layers: Sequence[Layer],
    linear: str,
    activations: Mapping[str, str],
    weights: Callable[[Layer], tuple[Any, Any]],
    modules: Mapping[str, Any],
) -> tuple[Function, str]:
    """The function of x, without modules and loops, and its expression for a reader.

    Args:
        linear: a layer in code, such as ``"F.linear({h}, w{i}, b{i})"``.
        activations: in code by name, such as ``{"relu": "torch.relu({h})"}``.
        weights: from a layer to its weight and bias as the framework's arrays.
        modules: what the code names besides, by the name in the code.
    """
    names, body = dict(modules), "x"
    for i, layer in enumerate(layers):
        names[f"w{i}"], names[f"b{i}"] = weights(layer)
        body = linear.format(h=body, i=i)
        if layer.activation:
            body = activations[layer.activation].format(h=body, i=i)
    exec(f"def plain(x):\n    return {body}\n", names)
    return names["plain"], body
