"""What Gluon makes of a block: which blocks become graphs, and what it refuses."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.frameworks.failures import call_error, from_error, quiet, require_runs
from d2lhybrid.frameworks.mxnet.device import is_numpy, symbol_like
from d2lhybrid.frameworks.mxnet.modules import bind_positional, clone_sharing_parameters
from d2lhybrid.frameworks.mxnet.stages import RecordedBlock, graph_of
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording, nothing_compiled
from d2lhybrid.graphs.graph import Graph

_VERSION = f"MXNet {mx.__version__}"


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a block once, then pass symbols through each block in it that can be a graph.

    Each outermost hybrid block is one graph. A plain ``Block`` runs in Python, and so does a
    hybrid one that defines ``forward``. Gluon knows no graph breaks. Of functions it makes nothing.
    """
    if not isinstance(model, gluon.Block):
        return _of_function(model, args, kwargs)
    blocks = list(_down_to_hybrid(model))
    compilations = sum(block._cached_op is not None for block in blocks if _is_hybrid(block))
    recorded, errors = _recorded(model, args, kwargs)
    return Explanation(
        _VERSION,
        name_of(model),
        compilations,
        graph_count=len(recorded),
        fallbacks=tuple(_place(block) for block in blocks if not _is_hybrid(block)),
        unsupported=tuple(map(from_error, errors)),
        recording=Recording(partial(_graphs, recorded)),
    )


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """The graph of each outermost hybrid block that can be recorded; a function has none."""
    if not isinstance(model, gluon.Block):
        return ()
    recorded, _errors = _recorded(model, args, kwargs)
    return _graphs(recorded)


def _graphs(recorded: Sequence[RecordedBlock]) -> tuple[Graph, ...]:
    with quiet():
        return tuple(graph_of(_VERSION, block) for block in recorded)


def _of_function(function: Any, args: Args, kwargs: Kwargs) -> Explanation:
    require_runs(name_of(function), lambda: (function(*args, **kwargs), mx.nd.waitall()))
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    place = Finding(name_of(function), code.co_filename, code.co_firstlineno)
    note = nothing_compiled(_("MXNet compiles HybridBlocks, and this is a function"))
    return Explanation(_VERSION, name_of(function), 0, 0, fallbacks=(place,), notes=(note,))


def _recorded(
    model: Any, args: Args, kwargs: Kwargs
) -> tuple[list[RecordedBlock], list[Exception]]:
    """Call the model, then each hybrid block that was reached with symbols for its arrays.

    Returns what was recorded of the blocks, and the errors of those that refuse symbols.

    Raises:
        CallFailedError: the mistake is not the compiler's.
    """
    hybrid = [block for block in _down_to_hybrid(model) if _is_hybrid(block)]
    recorded: list[RecordedBlock] = []
    errors: list[Exception] = []
    with quiet():
        reached, failure = _run_once(model, hybrid, args, kwargs)
        for block, given in reached:
            try:
                recorded.append(_record(block, given))
            except Exception as error:
                errors.append(error)
    if failure and errors:
        positional = bind_positional(model, args, kwargs)
        eager = clone_sharing_parameters(model, active=False)
        require_runs(name_of(model), lambda: (eager(*positional), mx.nd.waitall()))
    elif failure:
        raise call_error(name_of(model), failure) from failure
    return recorded, errors


def _record(block: Any, given: Args) -> RecordedBlock:
    """Call a block with symbols for the arrays that it was given."""
    arrays: dict[str, Any] = {}
    outputs = [leaf for _path, leaf in leaves(block(*_symbols_like(given, arrays)))]
    symbol = outputs[0] if len(outputs) == 1 else mx.sym.Group(outputs)
    _require_hybrid(symbol, arrays)
    backend = getattr(block, "_backend", None)
    return RecordedBlock(name_of(block), symbol, arrays, block.collect_params(), backend)


def _require_hybrid(symbol: Any, arrays: dict[str, Any]) -> None:
    """Raise what Gluon raises as soon as it runs a symbol, which is stricter than arrays are."""
    mx.nd.CachedOp(symbol)
    shapes = {name: arrays[name].shape for name in arrays.keys() & set(symbol.list_inputs())}
    with mx.util.np_shape(is_numpy(list(arrays.values()))):
        symbol.infer_shape_partial(**shapes)


def _run_once(model: Any, hybrid: Any, args: Args, kwargs: Kwargs) -> tuple[Any, Exception | None]:
    """Call the model; each hybrid block that was reached with what it was given, and any error."""
    reached: dict[int, Args] = {}

    def note(block: Any, given: Args) -> None:
        reached.setdefault(id(block), given)

    hooks: list[Any] = []
    failure = None
    try:
        hooks.extend(block.register_forward_pre_hook(note) for block in hybrid)
        model(*bind_positional(model, args, kwargs))
        mx.nd.waitall()  # errors of the work come late
    except Exception as error:
        failure = error
    finally:  # after an interrupt, too: these are the user's blocks
        for hook in hooks:
            hook.detach()
    return [(block, reached[id(block)]) for block in hybrid if id(block) in reached], failure


def _is_hybrid(block: Any) -> bool:
    keeps_forward = type(block).forward is gluon.HybridBlock.forward
    return keeps_forward or isinstance(block, gluon.SymbolBlock)


def _down_to_hybrid(block: Any) -> Iterator[Any]:
    """Yield the blocks from here down to the outermost hybrid ones, and these."""
    yield block
    if not _is_hybrid(block):
        for child in block._children.values():
            yield from _down_to_hybrid(child)


def _symbols_like(value: Any, named: dict[str, Any], name: str = "input") -> Any:
    """A symbol of the same style for each array, also in lists; `named` gets the arrays by name."""
    if isinstance(value, (list, tuple)):
        return [_symbols_like(part, named, f"{name}_{place}") for place, part in enumerate(value)]
    if value is None:
        return None
    named[name] = value
    return symbol_like(name, value)


def _place(block: Any) -> Finding:
    """Where the Python code of a block stands."""
    kind, code = type(block), type(block).forward.__code__
    base = "HybridBlock" if isinstance(block, gluon.HybridBlock) else "Block"
    return Finding(f"{kind.__name__}({base}).forward", code.co_filename, code.co_firstlineno)
