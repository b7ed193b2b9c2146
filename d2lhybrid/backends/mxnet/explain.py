"""What Gluon makes of a block: which blocks become graphs, and what it refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid.backends.failures import quiet, require_runs
from d2lhybrid.backends.mxnet import modules
from d2lhybrid.backends.mxnet.stages import VERSION, RecordedBlock, graphs_of
from d2lhybrid.backends.mxnet.variants import PLAIN_BLOCK
from d2lhybrid.backends.mxnet.why import Call, graphs_put_back
from d2lhybrid.core.arguments import Args, Kwargs, name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.graphs.explanation import Explanation, Finding, Recording, nothing_compiled
from d2lhybrid.graphs.graph import Graph


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a model once, with the blocks in it that are graphs, all of them made anew.

    If nothing in it is hybridized, these are the outermost blocks of which ``hybridize()`` makes
    graphs; otherwise those that somebody hybridized. A block around them runs in Python, as does a
    hybrid block that defines ``forward``. Gluon knows no graph breaks.
    """
    compiled = [getattr(block, "_cached_op", None) for block in modules.blocks_in(model)]
    compilations = sum(program is not None for program in compiled)
    call, refusal = _watched(model, args, kwargs)
    recorded = _recorded(call)
    notes: tuple[str, ...] = ()
    in_python = [*map(modules.place, modules.each_once(call.in_python))]
    if isinstance(model, gluon.Block):
        if not (recorded or refusal or isinstance(model, gluon.HybridBlock)):
            notes = (nothing_compiled(_(PLAIN_BLOCK)),)
    elif not (recorded or refusal):
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
        unsupported=(Finding.of(refusal),) if refusal else (),
        notes=notes,
        recording=Recording(partial(graphs_of, recorded)),
    )


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """The graph of each block that ``explain`` finds to be one, if it can be recorded."""
    call, _refusal = _watched(model, args, kwargs)
    return graphs_of(_recorded(call))


def _recorded(call: Call) -> list[RecordedBlock]:
    """What Gluon has recorded of the blocks that were called as graphs, in their order."""
    called = modules.each_once(call.called)
    return [call.recorded[id(block)] for block in called if id(block) in call.recorded]


def _watched(model: Any, args: Args, kwargs: Kwargs) -> tuple[Call, Exception | None]:
    """Watch a call in which each graph is made anew, and how Gluon refuses to make or run one.

    No block has another graph after that than before it.

    Raises:
        CallFailedError: the call also fails without graphs.
    """
    call, refusal = Call(), None
    with quiet(), graphs_put_back(), _graphs_made_anew(model), call.watched():
        try:
            _call(model, *args, **kwargs)
        except Exception as error:
            refusal = error
    if refusal:
        with modules.eagerly(model):
            require_runs(name_of(model), partial(_call, model), args, kwargs)
        call.called = [block for block in call.called if block is not call.called[-1]]
    return call, refusal


@contextmanager
def _graphs_made_anew(model: Any) -> Iterator[None]:
    """Remove the graphs of the blocks in it; of a block without any, make those that could be.

    A function is never a graph, so that only what is hybridized in it is compiled.
    """
    to_activate: list[Any] = []
    if isinstance(model, gluon.Block) and not modules.is_compiled(model):
        outermost = modules.down_to(model, modules.can_be_graph)
        to_activate += filter(modules.can_be_graph, outermost)
    for block in modules.blocks_in(model):
        if isinstance(block, gluon.HybridBlock):
            block._clear_cached_op()
    try:
        for block in to_activate:
            block._active = True
        yield
    finally:  # after an interrupt, too: these are the user's blocks
        for block in to_activate:
            block._active = False


def _call(model: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a block or function, and wait: errors of the work come late."""
    if isinstance(model, gluon.Block):
        args, kwargs = modules.bind_positional(model, args, kwargs), {}
    output = model(*args, **kwargs)
    mx.nd.waitall()
    return output


def _place_of_function(function: Any) -> Finding:
    """Where a function stands, or the code of what is called as one."""
    called = function if hasattr(function, "__code__") else type(function).__call__
    code = getattr(called, "__code__", None)  # what is written in C has none
    place = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    return Finding(name_of(function), *place)
