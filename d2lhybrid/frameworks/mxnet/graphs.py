"""The symbols of hybrid blocks, as recorded and as MXNet optimizes them."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mxnet as mx
from mxnet import gluon

from d2lhybrid import quieting
from d2lhybrid.calls import name_of
from d2lhybrid.frameworks.explanation import call_error, quiet
from d2lhybrid.frameworks.fates import judged
from d2lhybrid.frameworks.graph import Graph
from d2lhybrid.frameworks.mxnet.explain import is_hybrid, parts_of, run_once, symbols_like
from d2lhybrid.frameworks.protocol import Args, Kwargs
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.stages import Node, Stage
from d2lhybrid.tensor import leaves


def graphs(model: Any, args: Args, kwargs: Kwargs) -> tuple[Graph, ...]:
    """The graph of each outermost hybrid block that can be recorded; a function has none."""
    if not isinstance(model, gluon.Block):
        return ()
    hybrid = [block for block in parts_of(model) if is_hybrid(block)]
    found = []
    with quiet():
        seen, failure = run_once(model, hybrid, args, kwargs)
        for block, given in seen:
            arrays: dict[str, Any] = {}
            try:
                outputs = [leaf for _path, leaf in leaves(block(*symbols_like(given, arrays)))]
            except Exception:  # not hybrid after all, as explain says
                continue
            symbol = outputs[0] if len(outputs) == 1 else mx.sym.Group(outputs)
            found.append(_graph(block, symbol, arrays))
    if failure and not found:
        raise call_error(name_of(model), failure) from failure
    return tuple(found)


def _graph(block: Any, symbol: Any, arrays: dict[str, Any]) -> Graph:
    stages = (
        _stage(_("recorded as a symbol"), symbol),
        _stage(_("after MXNet's passes"), _optimized(block, symbol, arrays), traced=True),
    )
    return Graph(
        f"MXNet {mx.__version__}",
        name_of(block),
        judged(stages, lambda operation: operation.startswith(("_sg_", "_FusedOp"))),
    )


def _optimized(block: Any, symbol: Any, arrays: dict[str, Any]) -> Any:
    """The symbol as an executor runs it, with the library that `hybridize` was told, if any."""
    used = {name: array for name, array in arrays.items() if name in symbol.list_inputs()}
    shapes = {name: array.shape for name, array in used.items()}
    kinds = {name: array.dtype for name, array in used.items()}
    if getattr(block, "_backend", None):
        symbol = symbol.optimize_for(block._backend)
    first = next(iter(arrays.values()))
    with mx.util.np_shape(isinstance(first, mx.np.ndarray)), _no_other_backend():
        bind = getattr(symbol, "simple_bind", None) or symbol._simple_bind
        executor = bind(first.ctx, grad_req="null", type_dict=kinds, **shapes)
        return executor.get_optimized_symbol()


@contextmanager
def _no_other_backend() -> Iterator[None]:
    """As a hybridized block: an executor applies MKLDNN by itself, or logs that it does not."""
    name = "MXNET_SUBGRAPH_BACKEND"
    before = os.environ.get(name)
    os.environ[name] = "NONE"
    try:
        with quieting.quiet():
            yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _stage(title: str, symbol: Any, traced: bool = False) -> Stage:
    """The nodes of a symbol; if `traced`, with the recorded operations that each computes."""
    graph = json.loads(symbol.tojson())
    names = [node["name"] for node in graph["nodes"]]
    nodes = []
    for node in graph["nodes"]:
        inside = [n for g in node.get("subgraphs", ()) for n in g["nodes"] if n["op"] != "null"]
        nodes.append(
            Node(
                node["name"],
                "" if node["op"] == "null" else node["op"],
                tuple(names[place] for place, *_rest in node["inputs"]),
                _key(node),
                frozenset(n["name"] for n in inside or [node]) if traced else frozenset(),
                tuple(n["op"] for n in inside),
            )
        )
    return Stage(title, tuple(nodes), tuple(names[place] for place, *_rest in graph["heads"]))


def _key(node: dict[str, Any]) -> str:
    if node["op"] == "null":
        return ""
    kept = {key: text for key, text in node.get("attrs", {}).items() if not key.startswith("__")}
    return json.dumps([kept, [place[1] for place in node["inputs"]]], sort_keys=True)
