"""What Gluon makes of a block: which parts become graphs, and which stay in Python."""

from collections.abc import Iterator
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import (
    Explanation,
    Finding,
    call_error,
    from_error,
    nothing_compiled,
    quiet,
    require_runs,
)
from d2lhybrid.frameworks.mxnet.tensors import by_position
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.i18n import gettext as _


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a block once, then pass symbols through each part of it that can be a graph.

    Each outermost hybrid block is one graph. A plain ``Block`` runs in Python, and so does a
    hybrid one that defines ``forward``. Gluon knows no graph breaks. Of functions it makes nothing.
    """
    if not isinstance(model, gluon.Block):
        return _of_function(model, args, kwargs)
    parts = list(parts_of(model))
    hybrid = [block for block in parts if is_hybrid(block)]
    compilations = sum(block._cached_op is not None for block in hybrid)
    unsupported = []
    with quiet():
        seen, failure = run_once(model, hybrid, args, kwargs)
        for block, given in seen:
            try:
                block(*symbols_like(given, {}))
            except Exception as error:
                unsupported.append(from_error(error))
    if failure and not unsupported:  # the mistake is not the compiler's
        raise call_error(name_of(model), failure) from failure
    return Explanation(
        framework=f"MXNet {mx.__version__}",
        model=name_of(model),
        compilations=compilations,
        graphs=len(hybrid) - len(unsupported),
        fallbacks=tuple(_place(block) for block in parts if not is_hybrid(block)),
        unsupported=tuple(unsupported),
    )


def _of_function(function: Any, args: Args, kwargs: Kwargs) -> Explanation:
    with quiet():
        require_runs(name_of(function), lambda: (function(*args, **kwargs), mx.nd.waitall()))
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    return Explanation(
        framework=f"MXNet {mx.__version__}",
        model=name_of(function),
        compilations=0,
        graphs=0,
        fallbacks=(Finding(name_of(function), code.co_filename, code.co_firstlineno),),
        notes=(nothing_compiled(_("MXNet compiles HybridBlocks, and this is a function")),),
    )


def run_once(
    model: Any, hybrid: list[Any], args: Args, kwargs: Kwargs
) -> tuple[list[tuple[Any, Args]], Exception | None]:
    """Call the model; each hybrid block that was reached with what it was given, and any error.

    Raises:
        CallFailedError: the model does not take these arguments.
    """
    if kwargs:
        try:
            args = (*args, *by_position(model, args, kwargs).values())
        except TypeError as error:
            raise call_error(name_of(model), error) from error
    seen: dict[int, Args] = {id(model): args}
    hooks = [
        block.register_forward_pre_hook(lambda b, given: seen.setdefault(id(b), given))
        for block in hybrid
    ]
    failure = None
    try:
        model(*args)
        mx.nd.waitall()  # errors of the work come late
    except Exception as error:
        failure = error
    for hook in hooks:
        hook.detach()
    return [(block, seen[id(block)]) for block in hybrid if id(block) in seen], failure


def is_hybrid(block: Any) -> bool:
    plain_forward = type(block).forward is gluon.HybridBlock.forward
    return isinstance(block, gluon.SymbolBlock) or (
        isinstance(block, gluon.HybridBlock) and plain_forward
    )


def parts_of(block: Any) -> Iterator[Any]:
    """Yield the blocks from here down to the outermost hybrid ones, and these."""
    yield block
    if not is_hybrid(block):
        for child in block._children.values():
            yield from parts_of(child)


def symbols_like(values: Any, named: dict[str, Any], prefix: str = "input") -> list[Any]:
    """A symbol of the same style for each array, also in lists; `named` gets the arrays by name."""
    symbols = []
    for number, value in enumerate(values):
        name = f"{prefix}_{number}"
        if isinstance(value, (list, tuple)):
            symbols.append(symbols_like(value, named, name))
        else:
            named[name] = value
            symbol = mx.sym.var(name)
            symbols.append(symbol.as_np_ndarray() if isinstance(value, mx.np.ndarray) else symbol)
    return symbols


def _place(block: Any) -> Finding:
    """Say where the Python code of a block stands."""
    kind, code = type(block), type(block).forward.__code__
    base = "HybridBlock" if isinstance(block, gluon.HybridBlock) else "Block"
    return Finding(f"{kind.__name__}({base}).forward", code.co_filename, code.co_firstlineno)
