"""Blocks of Gluon: which of them are compiled, and their copies."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mxnet.gluon import Block, HybridBlock, SymbolBlock

from d2lhybrid.backends.callables import callables_in
from d2lhybrid.backends.mxnet import private
from d2lhybrid.backends.state import copied
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.user_code import place_of
from d2lhybrid.graphs.explanation import Finding


def can_be_graph(block: Any) -> bool:
    """Does ``hybridize()`` make a graph of it? Not if it has a forward pass of its own."""
    keeps_forward = type(block).forward is HybridBlock.forward
    return keeps_forward or isinstance(block, SymbolBlock)


def is_graph(block: Any) -> bool:
    """Is a call of it a call of its graph?"""
    return can_be_graph(block) and (private.is_active(block) or isinstance(block, SymbolBlock))


def called_by(function: Function) -> list[Any]:
    """The block itself, or the blocks that a function may call; not those that are in them."""
    found = callables_in(function, lambda thing: () if isinstance(thing, Block) else None)
    return [each for each in found if isinstance(each, Block)]


def blocks_in(function: Function) -> list[Any]:
    """These, and all that are in them."""
    blocks: list[Any] = []
    for block in called_by(function):
        block.apply(blocks.append)
    return each_once(blocks)


def outermost(function: Function, is_of_kind: Callable[[Any], bool]) -> list[Any]:
    """The blocks of a kind that a call enters, without those inside of them."""

    def entered(block: Any) -> Iterator[Any]:
        if is_of_kind(block):
            yield block
        else:
            for child in private.children(block):
                yield from entered(child)

    return each_once(inner for block in called_by(function) for inner in entered(block))


def each_once(blocks: Iterable[Any]) -> list[Any]:
    """The same blocks, each at its first place."""
    return list({id(block): block for block in blocks}.values())


def is_compiled(function: Function) -> bool:
    """Is any block in it a graph, or hybridized although it can't be one?"""
    return any(is_graph(block) or private.is_active(block) for block in blocks_in(function))


def dropping_layers(model: Any) -> list[Any]:
    """The blocks of a model that drop in training, so that what it computes is random."""
    return [block for block in blocks_in(model) if private.drops(block)]


def place(block: Any) -> Finding:
    """Where the Python code of a block stands."""
    kind = type(block)
    if can_be_graph(block):
        forward = kind.hybrid_forward
        reason = _("{block} isn't hybridized").format(block=kind.__name__)
    else:
        forward, base = kind.forward, HybridBlock if isinstance(block, HybridBlock) else Block
        reason = f"{kind.__name__}({base.__name__}).forward"
    return Finding(reason, *place_of(forward))


def clone_sharing_parameters(net: Any, active: bool = True, **options: Any) -> Any:
    """A copy that shares its parameters with `net`, and is hybridized independently of it."""
    shared = {id(parameter): parameter for parameter in net.collect_params().values()}
    clone = copied(net, shared | without_graphs(net))
    # Of these alone, because a plain ``Sequential`` warns that it is none.
    for block in outermost(clone, lambda block: isinstance(block, HybridBlock)):
        block.hybridize(active, **options)
    return clone


def without_graphs(net: Any) -> dict[int, Any]:
    """What a deep copy of the block has to leave out, by id: its graphs, which can't be copied."""
    graphs = map(private.compiled_graph, blocks_in(net))
    return {id(graph): None for graph in graphs if graph}
