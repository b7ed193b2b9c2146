"""Every private name of MXNet that this folder uses; there will be no release that renames them."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from traceback import walk_stack
from typing import Any

from mxnet import gluon
from mxnet.gluon import HybridBlock

from d2lhybrid.backends.copies import copied

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


def set_active(blocks: Iterable[Any], active: bool) -> None:
    """Call the graphs of these blocks from now on, or their Python code."""
    for block in blocks:
        block._active = active


def compiled_graph(block: Any) -> Any:
    """What Gluon has compiled of a block; None if it has compiled nothing."""
    return getattr(block, "_cached_op", None)


def forget_graphs(blocks: Iterable[HybridBlock]) -> None:
    """Let the next call of each block compile its graph anew."""
    for block in blocks:
        block._clear_cached_op()


@contextmanager
def graphs_kept(blocks: Iterable[HybridBlock]) -> Iterator[None]:
    """Give these blocks, after this one, the graphs that they had before it, or none."""
    before = [(block, {name: vars(block)[name] for name in _GRAPH}) for block in blocks]
    try:
        yield
    finally:
        for block, held in before:
            vars(block).update(held)


def recorded_graph(block: HybridBlock, given: tuple[Any, ...]) -> tuple[list[Any], Any]:
    """The symbols that stand for a block's inputs, and the symbol that Gluon records of it."""
    inputs, symbol = block._get_graph(*given)
    return inputs, symbol


def backend_of(block: HybridBlock) -> Any:
    """The library that ``hybridize()`` was told; None if it was told none."""
    return block._backend


def activation_of(layer: Any) -> str:
    """The name of what an ``Activation`` computes, or a Dense layer with one behind it."""
    activation = getattr(layer, "act", layer)
    return "" if activation is None else activation._act_type


def is_random_in_training(block: Any) -> bool:
    """Does a block draw random numbers in training?"""
    return any(vars(block).get(rate) for rate in ("_rate", "_dropout"))  # the latter of an LSTM


# Parameters and their trainer


def on_the_cpu(parameter: Any) -> Any:
    """The array of a parameter, as Gluon saves it."""
    return parameter._reduce()


def parameters_of(trainer: Any) -> list[Any]:
    """Those that a trainer updates."""
    return trainer._params


def copied_trainer(trainer: Any, net: Any) -> Any:
    """A trainer with the same settings and state, of the parameters of a copied block."""
    optimizer = copied(trainer._optimizer, {})
    clone = gluon.Trainer(net.collect_params(), optimizer, kvstore=None)
    # Gluon would read it from the optimizer, where each step leaves it divided by the batch size.
    clone._scale = trainer._scale
    for updater in clone._updaters:
        updater.set_states(trainer._updaters[0].get_states(dump_optimizer=False))
    return clone
