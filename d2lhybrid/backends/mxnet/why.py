"""What Gluon compiles in a call, and why again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import neg
from time import perf_counter
from typing import Any

import mxnet as mx
from mxnet.gluon import HybridBlock

from d2lhybrid.backends.defaults import why as defaults
from d2lhybrid.backends.hooks import hooked
from d2lhybrid.backends.mxnet import modules, private
from d2lhybrid.backends.mxnet.calls import WatchedBlocks, watch
from d2lhybrid.backends.mxnet.device import semantics
from d2lhybrid.backends.mxnet.variants import PLAIN_BLOCK
from d2lhybrid.backends.overhead import seconds_until_noted
from d2lhybrid.core.arguments import Function
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import name_of
from d2lhybrid.graphs.explanation import Explanation, Finding, never_reached
from d2lhybrid.graphs.facts import WatchedCall

eager_operations = defaults.eager_operations
hint = defaults.hint
is_compiled = modules.is_compiled


@contextmanager
def first_call() -> Iterator[Callable[[], Explanation | None]]:
    """As ``WhyModule.first_call`` says."""
    call = WatchedBlocks()
    with call.watched():
        yield call.explanation


def watched_call(run: Function) -> WatchedCall:
    first, second = watch(run), watch(run)
    return WatchedCall(len(second.called), _why_again(first, second))


def _why_again(first: WatchedBlocks, second: WatchedBlocks) -> Finding | None:
    """Why the second of two calls compiles a block, and the line that makes it do so."""
    if not second.compiled:
        return None
    block, place = second.compiled[0]
    text = _("{block} is compiled again in each call")
    if any(block is made for made in second.made):
        text = _("each call creates a new {block}, so its graph is compiled again")
    for other, line in (*first.cleared, *second.cleared):
        if other is block:
            text, place = _("this line removes the graph of {block}, which is compiled again"), line
    return Finding(text.format(block=name_of(block)), *place)


def why_not_compiled(function: Any) -> str:
    """A sentence; empty if there is no block in the function, or if none was hybridized."""
    blocks = modules.blocks_in(function)
    if blocks and not any(isinstance(block, HybridBlock) for block in blocks):
        text = _("hybridize() passes {block} by: {reason}.")
        return text.format(block=name_of(blocks[0]), reason=_(PLAIN_BLOCK))
    for block in blocks:
        if private.is_active(block) and not modules.can_be_graph(block):
            text = _(
                "{block} defines forward, so hybridize() makes no graph of it. Define "
                "hybrid_forward in its place."
            )
            return text.format(block=name_of(block))
    if graphs := modules.outermost(function, modules.is_graph):
        return never_reached([name_of(graphs[0])])
    return ""


def eager_operation() -> Callable[[], Any]:
    with semantics(False):
        return partial(neg, mx.nd.ones(1))


def seconds_before(run: Function) -> float | None:
    """Seconds from the beginning of a call to that of its first graph, the least of some."""
    begun: list[float] = []
    with hooked(mx.nd.CachedOp, "__call__", lambda *_given: begun.append(perf_counter())):
        return seconds_until_noted(begun, run, mx.nd.waitall)
