"""A step of training in MXNet, eager and hybridized."""

from functools import partial
from typing import Any

import mxnet
import numpy as np
from mxnet import autograd, gluon

from d2lhybrid.backends.checks import require_own, require_trainable
from d2lhybrid.backends.mxnet import private
from d2lhybrid.backends.mxnet.device import is_numpy, semantics
from d2lhybrid.backends.mxnet.modules import dropping_layers, without_graphs
from d2lhybrid.backends.mxnet.variants import HYBRIDIZED, PLAIN_BLOCK, written
from d2lhybrid.backends.state import copied
from d2lhybrid.backends.variant import DeferredBuild, TrainingStep, Variant, VariantsByName
from d2lhybrid.core.arguments import Args, Function, Kwargs

_STEP = """def step():
    with autograd.record():
        l = loss(net(x), y)
    l.backward()
    trainer.step(len(y))
    return l.mean()
y = step()"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the block with a trainer like the one given.

    Raises:
        ArgumentError: the model is no gluon.Block, or the optimizer is no gluon.Trainer or belongs
            to another block.
    """
    models, optimizers = {"gluon.Block": gluon.Block}, {"gluon.Trainer": gluon.Trainer}
    example = 'gluon.Trainer(net.collect_params(), "sgd")'
    require_trainable(net, models, optimizer, optimizers, example)
    require_own(net, net.collect_params().values(), optimizer, private.trained_weights(optimizer))
    numpy_semantics = is_numpy((args, kwargs))
    with semantics(numpy_semantics):
        net(*args, **kwargs)  # Gluon creates the parameters of unknown shapes now

    def build_step(active: bool, **flags: bool) -> Function:
        with semantics(numpy_semantics):
            block, criterion = copied((net, loss), without_graphs(net) | without_graphs(loss))
            _restore_gradients(block)
            for part in (block, criterion):
                if isinstance(part, gluon.Block):  # a loss may be a function, too
                    part.hybridize(active, **flags)
            trainer = private.copied_trainer(optimizer, block)

        def step() -> Any:
            with autograd.record():
                value = criterion(block(*args, **kwargs), target)
            value.backward()
            trainer.step(len(target))
            return value.mean()

        return TrainingStep(step, _stacked, dropping_layers(net))

    by_name = {"eager": Variant(DeferredBuild(partial(build_step, False)), _STEP)}
    for name, flags in HYBRIDIZED.items():
        run: Function | str = PLAIN_BLOCK
        if isinstance(net, gluon.HybridBlock):
            run = DeferredBuild(partial(build_step, True, **flags))
        options = written(flags)
        of_loss = f"loss.hybridize({options})\n" if isinstance(loss, gluon.Block) else ""
        code = f"net.hybridize({options})\n{of_loss}{_STEP}"
        by_name[name] = Variant(run, code)
    return by_name


def _restore_gradients(block: Any) -> None:
    """Allocate the gradients of a copied block: a copy of a parameter has lost its gradient.

    MXNet allocates it where ``grad_req`` changes, so that is switched off and on again.
    """
    for parameter in block.collect_params().values():
        wanted = parameter.grad_req
        parameter.grad_req = "null"
        parameter.grad_req = wanted


def _stacked(losses: list[Any]) -> Any:
    return mxnet.nd.array(np.ravel([loss.asnumpy() for loss in losses]))
