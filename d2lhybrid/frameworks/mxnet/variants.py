"""The ways to run a model that MXNet offers, and the dense layers of a model."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from mxnet.gluon import Block, HybridBlock, SymbolBlock, nn

from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.frameworks.base import copied, require_options
from d2lhybrid.frameworks.layers import Layer, chain
from d2lhybrid.frameworks.mxnet.device import by_position
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    Variant,
    VariantsByName,
)

PLAIN = N_("a plain Block cannot be hybridized; use HybridBlock")
_STATIC = {"static_alloc": True, "static_shape": True}
WAYS = {"hybridized": {}, "static_alloc": {"static_alloc": True}, "static_shape": _STATIC}


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    hybridize() changes a block for good, so each way gets a block of its own. They share the
    parameters of the model, which is not touched.
    """
    require_options("hybridize()", options, ("backend",))
    if not isinstance(net, Block):
        reason = N_("it compiles HybridBlocks, and this is a function")
        return {"eager": Variant(net, "y = net(x)"), "hybridized": Variant(reason)}
    behind = by_position(net, args, kwargs)
    given = (*args, *behind.values())
    net(*given)  # parameters whose shapes were left open get them now
    code = "net.hybridize(False)\ny = net(x)"
    if not isinstance(net, HybridBlock):
        return {"eager": Variant(_taking(net, behind), code), "hybridized": Variant(PLAIN)}
    found = {"eager": Variant(_taking(clone_sharing_parameters(net, active=False), behind), code)}
    if isinstance(net, SymbolBlock):
        reason = N_("a SymbolBlock keeps no Python code to run: pass what it was made from")
        found = {"eager": Variant(reason, code)}
    for name, flags in WAYS.items():
        found[name] = _hybridized(net, given, behind, options.get("backend"), flags)
    if everything:
        found["hybridized MKLDNN"] = _hybridized(net, given, behind, "MKLDNN", _STATIC)
    return found


def _taking(block: Function, behind: Kwargs) -> Function:
    """The block; as a function that takes keyword arguments where there are such."""
    if not behind:
        return block
    return lambda *args, **kwargs: block(*args, *(behind | kwargs).values())


def _hybridized(net: Any, given: Args, behind: Kwargs, backend: Any, flags: Kwargs) -> Variant:
    code = f"net.hybridize({', '.join(written(flags))})"
    if backend is not None:
        code = f"net.optimize_for({', '.join(['x', f'backend={backend!r}', *written(flags)])})"

    def build() -> Function:
        block = clone_sharing_parameters(net, **flags)
        if backend is not None:
            block.optimize_for(*given, backend=backend, **flags)
        return _taking(block, behind)

    return Variant(DeferredBuild(build), f"{code}\ny = net(x)")


def written(flags: dict[str, bool]) -> list[str]:
    """The flags of ``hybridize`` as one writes them."""
    return [f"{name}={value}" for name, value in flags.items()]


def clone_sharing_parameters(net: Any, active: bool = True, **flags: bool) -> Any:
    """A block that shares its parameters with `net`, hybridized for itself."""
    memo = {id(parameter): parameter for parameter in net.collect_params().values()}
    made = copied(net, memo | compiled(net))
    made.hybridize(active, **flags)
    return made


def compiled(net: Any) -> dict[int, Any]:
    """What a copy of the block goes without, by id: graphs, which cannot be copied."""
    blocks: list[Any] = []
    net.apply(blocks.append)
    return {id(op): None for one in blocks if (op := getattr(one, "_cached_op", None))}


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_parts(net))


def _parts(net: Any) -> Iterator[Layer | str | None]:
    """Those of a ``Sequential``, also inside another; a model of any other class is one part."""
    if type(net) in (nn.Sequential, nn.HybridSequential):
        for block in net._children.values():
            yield from _parts(block)
    elif type(net) is nn.Dense and net.weight.dtype in (np.float32, "float32"):
        weight = net.weight.data().asnumpy().T.copy()
        bias = np.zeros(weight.shape[1], np.float32)
        yield Layer(weight, bias if net.bias is None else net.bias.data().asnumpy())
        yield "" if net.act is None else net.act._act_type
    elif type(net) is nn.Dropout:  # nothing in inference
        yield ""
    else:
        yield net._act_type if type(net) is nn.Activation else None
