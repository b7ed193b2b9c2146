"""The ways to run a model that MXNet offers."""

from functools import partial
from typing import Any

from mxnet.gluon import Block, HybridBlock, SymbolBlock

from d2lhybrid.backends.call_code import passed, positional
from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.mxnet.modules import clone_sharing_parameters
from d2lhybrid.backends.variant import DeferredBuild, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.i18n import noop as N_

NO_BLOCK = N_("MXNet compiles HybridBlocks, and this is a function")
PLAIN_BLOCK = N_("a plain Block cannot be hybridized; use HybridBlock")
_STATIC: Kwargs = {"static_alloc": True, "static_shape": True}
# The flags of hybridize() by the names of the ways.
HYBRIDIZED: dict[str, Kwargs] = {
    "hybridized": {},
    "static_alloc": {"static_alloc": True},
    "static_shape": _STATIC,
}


def variants(
    net: Any, args: Args, kwargs: Kwargs, include_expert: bool, compiler_options: Kwargs
) -> VariantsByName:
    """Each way by its name: a callable, or the reason why it cannot be built here.

    ``hybridize()`` changes a block for good, so each way has a separate block. They share the
    parameters of the model, which stays as it is.
    """
    require_options("hybridize()", compiler_options, ("backend",))
    run = f"y = net({passed(positional(net, args, kwargs), kwargs)})"
    if not isinstance(net, Block):
        return {"eager": Variant(net, run), "hybridized": Variant(NO_BLOCK)}
    net(*args, **kwargs)  # Gluon creates the parameters of unknown shapes now
    eager_code = f"net.hybridize(False)\n{run}"
    clone = partial(clone_sharing_parameters, net)
    if not isinstance(net, HybridBlock):
        eager = clone(active=False)  # blocks inside of it may be hybridized
        return {"eager": Variant(eager, eager_code), "hybridized": Variant(PLAIN_BLOCK)}
    if isinstance(net, SymbolBlock):
        reason = N_("a SymbolBlock keeps no Python code to run: pass what it was made from")
        by_name = {"eager": Variant(reason, eager_code)}
    else:
        by_name = {"eager": Variant(clone(active=False), eager_code)}
    ways = {name: flags | compiler_options for name, flags in HYBRIDIZED.items()}
    if include_expert:
        ways["hybridized MKLDNN"] = _STATIC | {"backend": "MKLDNN"}
    for name, flags in ways.items():
        code = f"net.hybridize({written(flags)})\n{run}"
        by_name[name] = Variant(DeferredBuild(partial(clone, **flags)), code)
    return by_name


def written(flags: Kwargs) -> str:
    """The flags of ``hybridize`` as code: ``static_alloc=True, static_shape=True``."""
    return ", ".join(f"{name}={value!r}" for name, value in flags.items())
