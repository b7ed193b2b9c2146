"""Every private name of MXNet that this folder uses; there will be no release that renames them."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from traceback import walk_stack
from typing import Any

from mxnet import gluon
from mxnet.gluon import HybridBlock

from d2lhybrid.backends.hooks import hooked
from d2lhybrid.backends.state import copied
from d2lhybrid.core.arguments import Args, Function

# The attributes in which a block holds its graph, and whether it is called.
_GRAPH = ("_cached_graph", "_cached_op", "_cached_op_args", "_in_format", "_out_format", "_active")
_RECORDING = HybridBlock._get_graph.__code__


def is_tracing() -> bool:
    """Is this called while a HybridBlock builds its graph?

    MXNet has no flag for that, so we look for its tracing function on the stack.
    """
    frames = walk_stack(sys._getframe())
    return any(frame.f_code is _RECORDING for frame, _line in frames)


# Blocks and their graphs


def children(block: Any) -> list[Any]:
    """The blocks directly inside a block."""
    return list(block._children.values())


def is_active(block: Any) -> bool:
    """Did ``hybridize()`` reach this block? It passes a plain Block by."""
    return getattr(block, "_active", False)


def compiled_graph(block: Any) -> Any:
    """What Gluon has compiled of a block; None if it has compiled nothing."""
    return getattr(block, "_cached_op", None)


@contextmanager
def graphs_anew(blocks: Collection[HybridBlock], active: Collection[Any]) -> Iterator[None]:
    """In this block, those of `blocks` that are `active` are called as graphs, compiled anew.

    After it, all have the graphs that they had before it, or none.
    """
    active_ids = {*map(id, active)}
    before = [(block, {name: vars(block)[name] for name in _GRAPH}) for block in blocks]
    try:
        for block in blocks:
            block._clear_cached_op()
            block._active = id(block) in active_ids
        yield
    finally:
        for block, held in before:
            vars(block).update(held)


@contextmanager
def graphs_heard(compiled: Function, cleared: Function, called: Function) -> Iterator[None]:
    """Before Gluon compiles, removes or calls a graph in this thread, say so, with its block.

    What the block is called with follows.
    """
    with (
        hooked(HybridBlock, "_build_cache", compiled),
        hooked(HybridBlock, "_clear_cached_op", cleared),
        hooked(HybridBlock, "_call_cached_op", called),
    ):
        yield


def recorded_graph(block: HybridBlock, given: Args) -> tuple[list[Any], Any, str | None]:
    """The symbols of a block's inputs, the symbol that Gluon records of it, and the library for it.

    That is the backend that ``hybridize()`` was told, if any.
    """
    inputs, symbol = block._get_graph(*given)
    return inputs, symbol, block._backend


def drops(block: Any) -> bool:
    """Does a block drop, and so draw random numbers, in training?"""
    return any(vars(block).get(rate) for rate in ("_rate", "_dropout"))  # the latter of an LSTM


# Parameters and their trainer


def trained_weights(trainer: Any) -> list[Any]:
    """Those that a trainer updates."""
    return list(trainer._params)


def copied_trainer(trainer: Any, net: Any) -> Any:
    """A trainer with the same settings and state, of the same parameters in a copied block."""
    optimizer, own = copied(trainer._optimizer, {}), net.collect_params()
    of_trainer = [own[parameter.name] for parameter in trainer._params]
    clone = gluon.Trainer(of_trainer, optimizer, kvstore=None)
    # Gluon would read it from the optimizer, where each step leaves it divided by the batch size.
    clone._scale = trainer._scale
    for updater in clone._updaters:
        updater.set_states(trainer._updaters[0].get_states(dump_optimizer=False))
    return clone
