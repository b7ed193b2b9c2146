"""How a call of a model is written by hand: ``net(x, mask=mask)``, as it was given."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from d2lhybrid.backends import known
from d2lhybrid.core.arguments import BY_POSITION, FORWARD, Args, Kwargs, parameters_of

# What the code of the ways names, in any framework: no argument may be called so there.
_OURS = {
    *("net", "fast", "y"),
    *("frozen", "program", "path", "onnxruntime", "session", "names", "arrays", "given", "tensor"),
    *("tf", "Interpreter", "trace", "converter", "result", "others"),
    *("nnx", "graph", "weights", "forward"),
    *(framework.name for framework in known()),
}


def positional(net: Any, args: Args, kwargs: Kwargs) -> list[str]:
    """What code calls the positional arguments: `x`, or if there are several, as the model does.

    >>> positional(pow, (2,), {}), positional(lambda image, path: 0, (1, 2), {})
    (['x'], ['image', 'path_'])
    >>> positional(print, (1, 2), {})
    ['x_0', 'x_1']
    """
    if len(args) == 1 and "x" not in kwargs:
        return ["x"]
    for names in _parameters(net):
        if len(names) >= len(args):
            return [*map(variable, names[: len(args)])]
    return [f"x_{i}" for i in range(len(args))]


def passed(names: Sequence[str], kwargs: Kwargs) -> str:
    """The arguments of a call.

    >>> passed(["x"], {"mask": 1, "graph": 2})
    'x, mask=mask, graph=graph_'
    """
    return ", ".join([*names, *(f"{name}={variable(name)}" for name in kwargs)])


def variable(name: str) -> str:
    """What code calls an argument of this name, which the code may use for something else."""
    return f"{name}_" if name in _OURS else name


def _parameters(net: Any) -> Iterator[list[str]]:
    """The names of those that a model, or its own forward pass, takes by position."""
    for method in FORWARD:
        with suppress(Exception):  # an attribute of that name may be anything
            parameters = parameters_of(getattr(net, method))
            parameters = parameters[method == "hybrid_forward" :]  # MXNet passes it a module first
            yield [p.name for p in parameters if p.kind in BY_POSITION]
    yield [p.name for p in parameters_of(net) if p.kind in BY_POSITION]
