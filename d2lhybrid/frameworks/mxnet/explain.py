"""What Gluon makes of a block: which parts become graphs, and these graphs as symbols."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import mxnet as mx
from mxnet import gluon
from mxnet.test_utils import environment

from d2lhybrid.core import output as quieting
from d2lhybrid.core.arguments import name_of
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.display.graph_svg import Node, Part, Stage
from d2lhybrid.frameworks.failures import call_error, from_error, quiet, require_runs
from d2lhybrid.frameworks.mxnet.device import is_numpy, symbol_like
from d2lhybrid.frameworks.mxnet.modules import bind_positional, clone_sharing_parameters
from d2lhybrid.frameworks.variant import Args, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding, Graph, Graphs, nothing_compiled
from d2lhybrid.graphs.fates import judged

_VERSION = f"MXNet {mx.__version__}"
# MXNet says of no operation whether it draws random numbers, or runs a user's code.
_EFFECT = re.compile(
    r"_random_(?!pdf)|_sample|shuffle$|dropout|custom|^RNN$|_npx_rnn|_npi_(bernoulli|choice|exponential"
    r"|gamma$|gumbel|logistic|multinomial|normal|pareto|powerd|rayleigh|uniform|weibull)",
    re.IGNORECASE,
)


def explain(model: Any, args: Args, kwargs: Kwargs) -> Explanation:
    """Run a block once, then pass symbols through each part of it that can be a graph.

    Each outermost hybrid block is one graph. A plain ``Block`` runs in Python, and so does a
    hybrid one that defines ``forward``. Gluon knows no graph breaks. Of functions it makes nothing.
    """
    if not isinstance(model, gluon.Block):
        return _of_function(model, args, kwargs)
    parts = list(_parts_of(model))
    hybrid = [block for block in parts if _is_hybrid(block)]
    compilations = sum(block._cached_op is not None for block in hybrid)
    recorded = _recorded(model, args, kwargs)  # of the blocks that the call reaches
    errors = [result for *_given, result in recorded if isinstance(result, Exception)]
    graphs = Graphs(len(recorded) - len(errors), lambda: _made(recorded))
    report = Explanation(_VERSION, name_of(model), compilations, graphs)
    fallbacks = tuple(_place(block) for block in parts if not _is_hybrid(block))
    return replace(report, fallbacks=fallbacks, unsupported=tuple(map(from_error, errors)))


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """The graph of each outermost hybrid block that can be recorded; a function has none."""
    if not isinstance(model, gluon.Block):
        return ()
    return _made(_recorded(model, args, kwargs))


def _made(recorded: list[tuple[Any, dict[str, Any], Any]]) -> tuple[Graph, ...]:
    with quiet():
        return tuple(_graph(*one) for one in recorded if not isinstance(one[-1], Exception))


def _of_function(function: Any, args: Args, kwargs: Kwargs) -> Explanation:
    require_runs(name_of(function), lambda: (function(*args, **kwargs), mx.nd.waitall()))
    code = getattr(function, "__code__", None) or type(function).__call__.__code__
    place = Finding(name_of(function), code.co_filename, code.co_firstlineno)
    note = nothing_compiled(_("MXNet compiles HybridBlocks, and this is a function"))
    return Explanation(_VERSION, name_of(function), 0, 0, fallbacks=(place,), notes=(note,))


def _recorded(model: Any, args: Args, kwargs: Kwargs) -> list[tuple[Any, dict[str, Any], Any]]:
    """Call the model, then each hybrid block that was reached with symbols for its arrays.

    Returns each block, the arrays by the names of their symbols, and a symbol or an error.

    Raises:
        CallFailedError: the mistake is not the compiler's.
    """
    hybrid = [block for block in _parts_of(model) if _is_hybrid(block)]
    found: list[tuple[Any, dict[str, Any], Any]] = []
    with quiet():
        seen, failure = _run_once(model, hybrid, args, kwargs)
        for block, given in seen:
            arrays: dict[str, Any] = {}
            try:
                outputs = [leaf for _path, leaf in leaves(block(*_symbols_like(given, arrays)))]
                result = outputs[0] if len(outputs) == 1 else mx.sym.Group(outputs)
                _require_hybrid(result, arrays)
            except Exception as error:
                result = error
            found.append((block, arrays, result))
    if failure and any(isinstance(result, Exception) for _block, _arrays, result in found):
        given = bind_positional(model, args, kwargs)
        eager = clone_sharing_parameters(model, active=False)
        require_runs(name_of(model), lambda: (eager(*given), mx.nd.waitall()))
    elif failure:
        raise call_error(name_of(model), failure) from failure
    return found


def _require_hybrid(symbol: Any, arrays: dict[str, Any]) -> None:
    """Raise what Gluon raises as soon as it runs a symbol, which is stricter than arrays are."""
    mx.nd.CachedOp(symbol)
    shapes = {name: arrays[name].shape for name in arrays.keys() & set(symbol.list_inputs())}
    with mx.util.np_shape(is_numpy(list(arrays.values()))):
        symbol.infer_shape_partial(**shapes)


def _run_once(model: Any, hybrid: Any, args: Args, kwargs: Kwargs) -> tuple[Any, Exception | None]:
    """Call the model; each hybrid block that was reached with what it was given, and any error."""
    seen: dict[int, Args] = {}

    def note(block: Any, given: Args) -> None:
        seen.setdefault(id(block), given)

    hooks = [block.register_forward_pre_hook(note) for block in hybrid]
    failure = None
    try:
        model(*bind_positional(model, args, kwargs))
        mx.nd.waitall()  # errors of the work come late
    except Exception as error:
        failure = error
    finally:  # after an interrupt, too: these are the user's blocks
        for hook in hooks:
            hook.detach()
    return [(block, seen[id(block)]) for block in hybrid if id(block) in seen], failure


def _is_hybrid(block: Any) -> bool:
    plain_forward = type(block).forward is gluon.HybridBlock.forward
    return plain_forward or isinstance(block, gluon.SymbolBlock)


def _parts_of(block: Any) -> Iterator[Any]:
    """Yield the blocks from here down to the outermost hybrid ones, and these."""
    yield block
    if not _is_hybrid(block):
        for child in block._children.values():
            yield from _parts_of(child)


def _symbols_like(value: Any, named: dict[str, Any], name: str = "input") -> Any:
    """A symbol of the same style for each array, also in lists; `named` gets the arrays by name."""
    if isinstance(value, (list, tuple)):
        return [_symbols_like(part, named, f"{name}_{place}") for place, part in enumerate(value)]
    if value is None:
        return None
    named[name] = value
    return symbol_like(name, value)


def _place(block: Any) -> Finding:
    """Say where the Python code of a block stands."""
    kind, code = type(block), type(block).forward.__code__
    base = "HybridBlock" if isinstance(block, gluon.HybridBlock) else "Block"
    return Finding(f"{kind.__name__}({base}).forward", code.co_filename, code.co_firstlineno)


def _graph(block: Any, arrays: dict[str, Any], symbol: Any) -> Graph:
    stages, notes = [_stage(_("recorded as a symbol"), symbol)], []
    try:
        names = frozenset(node.name for node in stages[0].nodes)
        optimized = _optimized(block, symbol, arrays)
        stages.append(_stage(_("after MXNet's passes"), optimized, names))
    except mx.MXNetError:  # an executor wants to know all shapes before it runs; a block does not
        text = _(
            "Some shapes are known only when the block runs, so this report lacks MXNet's passes."
        )
        notes.append(text)
    return Graph(_VERSION, name_of(block), judged(stages), tuple(notes))


def _optimized(block: Any, symbol: Any, arrays: dict[str, Any]) -> Any:
    """The symbol as an executor runs it, with the library that `hybridize` was told, if any.

    By itself, an executor applies MKLDNN, or logs that it does not.
    """
    if getattr(block, "_backend", None):
        symbol = symbol.optimize_for(block._backend)
    given = list(arrays.values())
    context, parameters = given[0].ctx, block.collect_params()
    values = {
        name: arrays[name] if name in arrays else parameters[name].data(context)
        for name in symbol.list_inputs()
    }
    alone = environment("MXNET_SUBGRAPH_BACKEND", "NONE")
    with mx.util.np_shape(is_numpy(given)), alone, quieting.quiet():
        executor = symbol.bind(context, values, grad_req="null", aux_states=values)
        return executor.get_optimized_symbol()


def _stage(title: str, symbol: Any, recorded: frozenset[str] = frozenset()) -> Stage:
    """The nodes of a symbol; given the names of the `recorded` ones, with what they compute."""
    graph = json.loads(symbol.tojson())
    times: Counter[str] = Counter()
    names, nodes = [], []
    for node in graph["nodes"]:
        name, operation = node["name"], node["op"] if node["op"] != "null" else ""
        times[name] += 1  # a block that is called twice has its names twice
        names.append(f"{name} ({times[name]})" if times[name] > 1 else name)
        inside = [n for g in node.get("subgraphs", ()) for n in g["nodes"] if n["op"] != "null"]
        own = [node] if name in recorded else inside or [node]  # a library's call is its parts
        known = recorded.intersection(n["name"] for n in own if f"{n['name']} (2)" not in recorded)
        inputs = tuple(names[place] for place, *_rest in node["inputs"])
        parts = tuple(Part(n["op"], known & {n["name"]}) for n in own) if recorded else ()
        effect = any(_EFFECT.search(n["op"]) for n in (node, *inside))
        nodes.append(Node(names[-1], operation, inputs, _key(node), parts=parts, effect=effect))
    return Stage(title, tuple(nodes), tuple(names[place] for place, *_rest in graph["heads"]))


def _key(node: dict[str, Any]) -> str:
    if node["op"] == "null":
        return ""
    kept = {key: text for key, text in node.get("attrs", {}).items() if not key.startswith("__")}
    return json.dumps([kept, [place[1] for place in node["inputs"]]], sort_keys=True)
