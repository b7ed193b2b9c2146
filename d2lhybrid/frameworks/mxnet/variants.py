"""The ways to run a model that MXNet offers."""

from typing import Any

from mxnet.gluon import Block, HybridBlock, SymbolBlock

from d2lhybrid.frameworks.mxnet.tensors import by_position
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Lazy,
    Variant,
    copied,
    require_options,
)
from d2lhybrid.i18n import noop as N_

_EAGER = "net.hybridize(False)\ny = net(x)"
_STATIC = {"static_alloc": True, "static_shape": True}


def variants(
    net: Any, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
) -> dict[str, Variant]:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    hybridize() changes a block for good, so each way gets a block of its own. They share the
    parameters of the model, which is not touched.
    """
    require_options("hybridize()", options, ("backend",))
    if not isinstance(net, Block):
        reason = N_("there is no block to hybridize")
        return {"eager": Variant(net, "y = net(x)"), "hybridized": Variant(reason)}
    behind = by_position(net, args, kwargs) if kwargs else {}
    given = (*args, *behind.values())
    net(*given)  # parameters whose shapes were left open get them now
    if not isinstance(net, HybridBlock):
        reason = N_("a plain Block cannot be hybridized; use HybridBlock")
        return {"eager": Variant(_taking(net, behind), _EAGER), "hybridized": Variant(reason)}
    eager: Function | str = N_(
        "a SymbolBlock keeps no Python code to run: hand over what it was made from"
    )
    if not isinstance(net, SymbolBlock):
        eager = _taking(twin(net, active=False), behind)
    backend = options.get("backend")
    found = {
        "eager": Variant(eager, _EAGER),
        "hybridized": _hybridized(net, given, behind, backend),
        "static_alloc": _hybridized(net, given, behind, backend, static_alloc=True),
        "static_shape": _hybridized(net, given, behind, backend, **_STATIC),
    }
    if everything:
        found["hybridized MKLDNN"] = _hybridized(net, given, behind, "MKLDNN", **_STATIC)
    return found


def _taking(block: Function, behind: Kwargs) -> Function:
    """The block; as a function that takes keyword arguments where there are such."""
    if not behind:
        return block
    return lambda *args, **kwargs: block(*args, *(behind | kwargs).values())


def _hybridized(
    net: Any, given: Args, behind: Kwargs, backend: str | None, **flags: bool
) -> Variant:
    written = [f"{name}={value}" for name, value in flags.items()]
    code = f"net.hybridize({', '.join(written)})"
    if backend is not None:
        code = f"net.optimize_for({', '.join(['x', f'backend={backend!r}', *written])})"

    def build() -> Function:
        block = twin(net, **flags)
        if backend is not None:
            block.optimize_for(*given, backend=backend, **flags)
        return _taking(block, behind)

    return Variant(Lazy(build), f"{code}\ny = net(x)")


def twin(net: Any, active: bool = True, **flags: bool) -> Any:
    """A block that shares its parameters with `net`, hybridized for itself."""
    memo = {id(parameter): parameter for parameter in net.collect_params().values()}
    blocks: list[Any] = []
    net.apply(blocks.append)
    memo |= {id(op): None for one in blocks if (op := getattr(one, "_cached_op", None))}
    made = copied(net, memo)
    made.hybridize(active, **flags)
    return made
