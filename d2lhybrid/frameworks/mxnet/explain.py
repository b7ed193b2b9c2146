"""What Gluon makes of a block: which blocks become graphs, and what it refuses."""

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.frameworks.failures import call_error, from_error, quiet, require_runs
from d2lhybrid.frameworks.hooks import hooked
from d2lhybrid.frameworks.mxnet import modules
from d2lhybrid.frameworks.mxnet.device import is_numpy, symbol_like
from d2lhybrid.frameworks.mxnet.stages import VERSION, RecordedBlock, arrays_in, graphs_of
from d2lhybrid.frameworks.mxnet.variants import PLAIN_BLOCK
from d2lhybrid.frameworks.mxnet.why import graphs_put_back
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording, nothing_compiled
from d2lhybrid.graphs.graph import Graph


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a model once, then pass symbols through each block in it that is a graph.

    If nothing in it is hybridized, these are the outermost blocks of which ``hybridize()`` makes
    graphs; otherwise those that somebody hybridized. A block around them runs in Python, as does a
    hybrid block that defines ``forward``. Gluon knows no graph breaks.
    """
    compiled = [getattr(block, "_cached_op", None) for block in modules.blocks_in(model)]
    compilations = sum(program is not None for program in compiled)
    recorded, errors = _recorded(model, args, kwargs)
    notes: tuple[str, ...] = ()
    in_python: list[Finding] = []
    if isinstance(model, gluon.Block):
        is_graph = _kind_of_graphs(model)
        entered = modules.down_to(model, is_graph)
        in_python = [modules.place(block) for block in entered if not is_graph(block)]
        if not (recorded or errors or isinstance(model, gluon.HybridBlock)):
            notes = (nothing_compiled(_(PLAIN_BLOCK)),)
    elif not (recorded or errors):
        in_python = [_place_of_function(model)]
        notes = (nothing_compiled(_("MXNet compiles HybridBlocks, and this is a function")),)
    elif recorded:
        text = _(
            "{model} itself isn't compiled, but it calls compiled code: these are the graphs of "
            "that code. The rest of the call runs in Python."
        )
        notes = (text.format(model=name_of(model)),)
    return Explanation(
        VERSION,
        name_of(model),
        compilations,
        graph_count=len(recorded),
        fallbacks=tuple(in_python),
        unsupported=tuple(map(from_error, errors)),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded)),
    )


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """The graph of each block that ``explain`` finds to be one, if it can be recorded."""
    recorded, _errors = _recorded(model, args, kwargs)
    return graphs_of(recorded)


def _kind_of_graphs(model: Any) -> Callable[[Any], bool]:
    """Which blocks of a model count as graphs.

    A function is never one, so that only what is hybridized in it is compiled.
    """
    would_be = isinstance(model, gluon.Block) and not modules.is_compiled(model)
    return modules.can_be_graph if would_be else modules.is_graph


def _recorded(
    model: Any, args: Args, kwargs: Kwargs
) -> tuple[list[RecordedBlock], list[Exception]]:
    """Call the model, then each block that is a graph and was reached with symbols for its arrays.

    No block has another graph after that than before it. Returns what was recorded of the blocks,
    and the errors of those that refuse symbols.

    Raises:
        CallFailedError: the mistake is not the compiler's.
    """
    recorded: list[RecordedBlock] = []
    errors: list[Exception] = []
    with quiet(), graphs_put_back():
        reached, failure = _run_once(model, args, kwargs)
        for block, given in reached:
            try:
                recorded.append(_record(block, given))
            except Exception as error:
                errors.append(error)
    if failure and errors:
        with modules.eagerly(model):
            require_runs(name_of(model), partial(_call, model), args, kwargs)
    elif failure:
        raise call_error(name_of(model), failure, args, kwargs) from failure
    return recorded, errors


def _call(model: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a block or function, and wait: errors of the work come late."""
    if isinstance(model, gluon.Block):
        args, kwargs = modules.bind_positional(model, args, kwargs), {}
    output = model(*args, **kwargs)
    mx.nd.waitall()
    return output


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


def _run_once(
    model: Any, args: Args, kwargs: Kwargs
) -> tuple[Collection[tuple[Any, Args]], Exception | None]:
    """Make the call: the blocks that are graphs, with what each got first, and how it failed.

    If nothing is hybridized, these are the blocks that would be graphs.
    """
    reached: dict[int, tuple[Any, Args]] = {}
    hooks, failure = [], None

    def reach(block: Any, given: Args) -> None:
        """Note a call of a block. One with symbols is for the graph of a block that it is in."""
        if arrays_in(given):
            reached.setdefault(id(block), (block, given))

    try:
        if _kind_of_graphs(model) is modules.can_be_graph:  # nothing is hybridized
            blocks = filter(modules.can_be_graph, modules.down_to(model, modules.can_be_graph))
            hooks = [block.register_forward_pre_hook(reach) for block in blocks]
        with hooked(
            gluon.HybridBlock, "_call_cached_op", lambda block, *given: reach(block, given)
        ):
            _call(model, *args, **kwargs)
    except Exception as error:
        failure = error
    finally:  # after an interrupt, too: these are the user's blocks
        for hook in hooks:
            hook.detach()
    return reached.values(), failure


def _symbols_like(value: Any, named: dict[str, Any], name: str = "input") -> Any:
    """A symbol of the same style for each array, also in lists; `named` gets the arrays by name."""
    if isinstance(value, (list, tuple)):
        return [_symbols_like(part, named, f"{name}_{place}") for place, part in enumerate(value)]
    if value is None:
        return None
    named[name] = value
    return symbol_like(name, value)


def _place_of_function(function: Any) -> Finding:
    """Where a function stands, or the code of what is called as one."""
    called = function if hasattr(function, "__code__") else type(function).__call__
    code = getattr(called, "__code__", None)  # what is written in C has none
    place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    return Finding(name_of(function), *place)
