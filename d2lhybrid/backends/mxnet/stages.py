"""The stages of a graph of MXNet: the symbol that was recorded, and the optimized one."""

import json
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import mxnet as mx
from mxnet.test_utils import environment

from d2lhybrid.backends.failures import without_logs
from d2lhybrid.backends.mxnet import private
from d2lhybrid.backends.mxnet.device import is_numpy, is_tensor
from d2lhybrid.core import output
from d2lhybrid.core.arguments import Args
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import leaves
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.fates import decide_fates
from d2lhybrid.graphs.graph import Graph
from d2lhybrid.graphs.stages import Node, Part, Stage

VERSION = f"MXNet {mx.__version__}"
# MXNet says of no operation whether it draws random numbers, or runs a user's code.
_EFFECT = re.compile(
    r"_random_(?!pdf)|_sample|shuffle$|dropout|custom|^RNN$|_npx_rnn|_npi_(bernoulli|choice|exponential"
    r"|gamma$|gumbel|logistic|multinomial|normal|pareto|powerd|rayleigh|uniform|weibull)",
    re.IGNORECASE,
)
# Products of matrices, convolutions and attention; a recurrent layer is made of products.
CONTRACTIONS = frozenset({
    "FullyConnected", "Convolution", "Deconvolution", "RNN", "dot", "batch_dot", "khatri_rao",
    "_linalg_gemm", "_linalg_gemm2", "_linalg_syrk", "_linalg_trmm",
    "_np_dot", "_npi_matmul", "_npi_tensordot", "_npi_tensordot_int_axes", "_npi_einsum",
    "_contrib_DeformableConvolution", "_contrib_ModulatedDeformableConvolution",
    "_contrib_interleaved_matmul_selfatt_qk", "_contrib_interleaved_matmul_selfatt_valatt",
    "_contrib_interleaved_matmul_encdec_qk", "_contrib_interleaved_matmul_encdec_valatt",
    "_contrib_quantized_conv", "_contrib_quantized_fully_connected",
    "_sg_mkldnn_conv", "_sg_mkldnn_fully_connected",
    "_sg_mkldnn_selfatt_qk", "_sg_mkldnn_selfatt_valatt",
})  # fmt: skip
CONTROL_FLOW = frozenset({"_foreach", "_while_loop", "_cond"})


@dataclass(frozen=True)
class RecordedBlock:
    """What was recorded of a hybrid block, without the block."""

    name: str
    symbol: Any  # what it computes
    arrays: dict[str, Any]  # its inputs, by their names in the symbol
    parameters: Any  # those of the block, by name
    backend: str | None  # the library that `hybridize` was told


def record(block: Any, given: Args) -> RecordedBlock:
    """What Gluon records of a block that is called with these arguments.

    It calls the first input ``data`` or ``data0``; here it is ``input_0``.
    """
    inputs, symbol, backend = private.recorded_graph(block, given)
    given_arrays = [leaf for _path, leaf in leaves(given) if is_tensor(leaf)]
    arrays = {f"input_{number}": array for number, array in enumerate(given_arrays)}
    used = symbol.list_inputs()
    renamed = {
        one.name: mx.sym.var(name)
        for one, name in zip(inputs, arrays, strict=False)
        if one.name in used
    }
    # A call of a classic symbol copies it; one of the NumPy style would rename Gluon's own inputs.
    symbol = symbol.as_nd_ndarray()(**renamed)
    return RecordedBlock(name_of(block), symbol, arrays, block.collect_params(), backend)


def graphs_of(blocks: Sequence[RecordedBlock]) -> tuple[Graph, ...]:
    """The graph of each block."""
    with without_logs():
        return tuple(map(_graph_of, blocks))


def _graph_of(block: RecordedBlock) -> Graph:
    """The symbol of a block before and after MXNet's passes."""
    recorded = _stage(_("recorded as a symbol"), block.symbol)
    names = frozenset(node.name for node in recorded.nodes)
    try:
        optimized = _stage(_("after MXNet's passes"), _optimized(block), names)
    except mx.MXNetError:  # an executor wants to know all shapes before it runs; a block does not
        text = _(
            "Some shapes are known only when the block runs, so this report lacks MXNet's passes."
        )
        return Graph(VERSION, block.name, (recorded,), (text,))
    stages = decide_fates((recorded, optimized))
    return Graph(VERSION, block.name, stages, contractions=CONTRACTIONS, control_flow=CONTROL_FLOW)


def _optimized(block: RecordedBlock) -> Any:
    """The symbol as an executor runs it, with the library that `hybridize` was told, if any.

    By itself, an executor applies MKLDNN, or logs that it does not.
    """
    symbol, arrays = block.symbol, list(block.arrays.values())
    if block.backend:
        symbol = symbol.optimize_for(block.backend)
    context = arrays[0].ctx
    values = {
        name: block.arrays[name] if name in block.arrays else block.parameters[name].data(context)
        for name in symbol.list_inputs()
    }
    no_backend = environment("MXNET_SUBGRAPH_BACKEND", "NONE")
    with mx.util.np_shape(is_numpy(arrays)), no_backend, output.quiet():
        executor = symbol.bind(context, values, grad_req="null", aux_states=values)
        return executor.get_optimized_symbol()


def _stage(title: str, symbol: Any, recorded: frozenset[str] = frozenset()) -> Stage:
    """The nodes of a symbol; given the names of the `recorded` ones, with what they compute."""
    graph = json.loads(symbol.tojson())
    uses: Counter[str] = Counter()
    names: list[str] = []
    nodes: list[Node] = []
    for node in graph["nodes"]:
        name = node["name"]
        uses[name] += 1  # a block that is called twice has its names twice
        names.append(f"{name} ({uses[name]})" if uses[name] > 1 else name)
        inside = [
            inner
            for subgraph in node.get("subgraphs", ())
            for inner in subgraph["nodes"]
            if inner["op"] != "null"
        ]
        computes = [node] if name in recorded else inside or [node]
        nodes.append(
            Node(
                names[-1],
                "" if node["op"] == "null" else node["op"],
                inputs=tuple(names[place] for place, *_rest in node["inputs"]),
                attributes=_attributes(node),
                parts=_parts(computes, recorded) if recorded else (),
                has_effect=any(_EFFECT.search(part["op"]) for part in (node, *inside)),
            )
        )
    outputs = tuple(names[place] for place, *_rest in graph["heads"])
    return Stage(title, tuple(nodes), outputs)


def _parts(computes: list[dict[str, Any]], recorded: Collection[str]) -> tuple[Part, ...]:
    """What a step computes, with the recorded nodes of the same names.

    A name that was recorded twice doesn't say which of the two it is.
    """
    certain = {name for name in recorded if f"{name} (2)" not in recorded}
    return tuple(Part(node["op"], frozenset({node["name"]} & certain)) for node in computes)


def _attributes(node: dict[str, Any]) -> str:
    if node["op"] == "null":
        return ""
    attributes = node.get("attrs", {})
    public = {name: text for name, text in attributes.items() if not name.startswith("__")}
    outputs = [place[1] for place in node["inputs"]]  # which output of each input
    return json.dumps([public, outputs], sort_keys=True)
