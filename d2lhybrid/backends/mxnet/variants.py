"""The ways to run a model that MXNet offers, and the dense layers of a model."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from mxnet.gluon import Block, HybridBlock, SymbolBlock, nn

from d2lhybrid.backends.checks import require_options
from d2lhybrid.backends.layers import Layer, chain
from d2lhybrid.backends.mxnet import private
from d2lhybrid.backends.mxnet.modules import clone_sharing_parameters, keywords_in_order
from d2lhybrid.backends.variant import DeferredBuild, Variant, VariantsByName
from d2lhybrid.backends.written import passed, positional
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.i18n import noop as N_

PLAIN_BLOCK = N_("a plain Block cannot be hybridized; use HybridBlock")
_STATIC = {"static_alloc": True, "static_shape": True}
# The flags of hybridize() by the names of the ways.
HYBRIDIZED: dict[str, dict[str, bool]] = {
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
    if not isinstance(net, Block):
        reason = N_("it compiles HybridBlocks, and this is a function")
        code = f"y = net({passed(positional(net, args, kwargs), kwargs)})"
        return {"eager": Variant(net, code), "hybridized": Variant(reason)}
    keywords = keywords_in_order(net, args, kwargs)
    inputs = (*args, *keywords.values())
    net(*inputs)  # Gluon creates the parameters of unknown shapes now
    # A block takes none by name, so the code passes them by position, too.
    written_inputs = passed([*positional(net, args, keywords), *keywords], {})
    eager_code = f"net.hybridize(False)\ny = net({written_inputs})"
    if not isinstance(net, HybridBlock):
        plain = Variant(_taking_keywords(net, keywords), eager_code)
        return {"eager": plain, "hybridized": Variant(PLAIN_BLOCK)}

    eager: Function | str = N_(
        "a SymbolBlock keeps no Python code to run: pass what it was made from"
    )
    eager_block = net
    if not isinstance(net, SymbolBlock):
        eager_block = clone_sharing_parameters(net, active=False)
        eager = _taking_keywords(eager_block, keywords)

    def hybridized(flags: dict[str, bool], backend: str | None) -> Variant:
        def build() -> Function:
            block = clone_sharing_parameters(net, **flags)
            if backend is not None:
                block.optimize_for(*inputs, backend=backend, **flags)
            return _taking_keywords(block, keywords)

        code = _hybridized_code(flags, backend, written_inputs)
        return Variant(DeferredBuild(build), code)

    by_name = {"eager": Variant(eager, eager_code)}
    for name, flags in HYBRIDIZED.items():
        by_name[name] = hybridized(flags, compiler_options.get("backend"))
    if include_expert:
        by_name["hybridized MKLDNN"] = hybridized(_STATIC, "MKLDNN")
    return by_name


def _taking_keywords(block: Function, keywords: Kwargs) -> Function:
    """The block, as a function that passes these keyword arguments by position if there are any.

    What a call gives for one of them replaces the value here.
    """
    if not keywords:
        return block
    return lambda *args, **kwargs: block(*args, *(keywords | kwargs).values())


def _hybridized_code(flags: Mapping[str, bool], backend: str | None, inputs: str) -> str:
    if backend is None:
        return f"net.hybridize({written(flags)})\ny = net({inputs})"
    options = ", ".join(filter(None, [inputs, f"backend={backend!r}", written(flags)]))
    return f"net.optimize_for({options})\ny = net({inputs})"


def written(flags: Mapping[str, bool]) -> str:
    """The flags of ``hybridize`` as code: ``static_alloc=True, static_shape=True``."""
    return ", ".join(f"{name}={value}" for name, value in flags.items())


def dense_layers(net: Any) -> list[Layer] | None:
    """The model as a chain of dense layers; None if it is anything else."""
    return chain(_chain_parts(net))


def _chain_parts(net: Any) -> Iterator[Layer | str | None]:
    """What ``chain`` takes: of a ``Sequential`` the parts of each block, also if it is nested."""
    if type(net) in (nn.Sequential, nn.HybridSequential):
        for block in private.children(net):
            yield from _chain_parts(block)
    elif type(net) is nn.Dense and net.weight.dtype in (np.float32, "float32"):
        weight = net.weight.data().asnumpy().T.copy()
        bias = np.zeros(weight.shape[1], np.float32)
        yield Layer(weight, bias if net.bias is None else net.bias.data().asnumpy())
        yield private.activation_of(net)
    elif type(net) is nn.Dropout:  # which does nothing in inference
        yield ""
    elif type(net) is nn.Activation:
        yield private.activation_of(net)
    else:
        yield None
