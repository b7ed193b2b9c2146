"""Blocks of Gluon: how their arguments are passed, and copies that share their parameters."""

from functools import partial
from inspect import signature
from typing import Any

from mxnet.gluon import HybridBlock

from d2lhybrid.frameworks.base import copied
from d2lhybrid.frameworks.variant import Args, Kwargs


def bind_positional(block: Any, args: Args, kwargs: Kwargs) -> Args:
    """All the arguments of a block by position, because Gluon takes no keyword arguments.

    Raises:
        TypeError: they do not fit the block's forward.
    """
    return (*args, *keywords_in_order(block, args, kwargs).values())


def keywords_in_order(block: Any, args: Args, kwargs: Kwargs) -> Kwargs:
    """What has to follow `args`, by name and in order: `kwargs`, and defaults between them.

    Defaults behind the last of `kwargs` are left out, because a compiled block takes no number in
    place of an array.

    Raises:
        TypeError: they do not fit the block's forward.
    """
    if not kwargs:
        return {}
    forward = block.forward
    if type(block).forward is HybridBlock.forward:
        forward = partial(block.hybrid_forward, None)  # whose first parameter is the module F
    bound = signature(forward).bind_partial(*args, **kwargs)
    bound.apply_defaults()
    names = list(bound.arguments)
    last = max(position for position, name in enumerate(names) if name in kwargs)
    return {name: bound.arguments[name] for name in names[len(args) : last + 1]}


def clone_sharing_parameters(net: Any, active: bool = True, **flags: bool) -> Any:
    """A copy that shares its parameters with `net`, and is hybridized independently of it."""
    shared = {id(parameter): parameter for parameter in net.collect_params().values()}
    clone = copied(net, shared | without_graphs(net))
    clone.hybridize(active, **flags)
    return clone


def without_graphs(net: Any) -> dict[int, Any]:
    """What a deep copy of the block has to leave out, by id: its graphs, which can't be copied."""
    blocks: list[Any] = []
    net.apply(blocks.append)
    graphs = [getattr(block, "_cached_op", None) for block in blocks]
    return {id(graph): None for graph in graphs if graph}
