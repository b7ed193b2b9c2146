"""The ways to run a model that MXNet offers."""

from collections.abc import Callable, Iterator
from typing import Any

from mxnet.gluon import Block, HybridBlock

from d2lhybrid.frameworks.protocol import Lazy, copied
from d2lhybrid.i18n import noop as N_

Call = Callable[..., Any]


def variants(net: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Call | str]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    hybridize() changes a block for good, so each way gets a block of its own. They share the
    parameters of the model, which is not touched.
    """
    if not isinstance(net, Block):
        return {"eager": net, "hybridized": N_("there is no block to hybridize")}
    net(*args)  # parameters whose shapes were left open get them now
    if not isinstance(net, HybridBlock):
        reason = N_("a plain Block cannot be hybridized; use HybridBlock")
        return {"eager": net, "hybridized": reason}
    return {
        "eager": _twin(net, active=False),
        "hybridized": Lazy(lambda: _twin(net)),
        "static_alloc": Lazy(lambda: _twin(net, static_alloc=True)),
        "static_shape": Lazy(lambda: _twin(net, static_alloc=True, static_shape=True)),
    }


def _twin(net: Any, active: bool = True, **flags: bool) -> Call:
    """A block that shares its parameters with `net`, hybridized for itself."""
    memo = {id(parameter): parameter for parameter in net.collect_params().values()}
    memo |= {id(op): None for block in _blocks(net) if (op := getattr(block, "_cached_op", None))}
    twin = copied(net, memo)
    twin.hybridize(active, **flags)
    return twin


def _blocks(net: Any) -> Iterator[Any]:
    yield net
    for child in net._children.values():
        yield from _blocks(child)
