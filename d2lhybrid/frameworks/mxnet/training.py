"""A step of training in MXNet, eager and hybridized."""

from functools import partial
from typing import Any

import mxnet
import numpy as np
from mxnet import autograd, gluon

from d2lhybrid.frameworks.base import copied, require_trainable
from d2lhybrid.frameworks.mxnet.device import by_position, is_numpy, semantics
from d2lhybrid.frameworks.mxnet.variants import PLAIN, WAYS, compiled, written
from d2lhybrid.frameworks.variant import (
    Args,
    DeferredBuild,
    Function,
    Kwargs,
    TrainingStep,
    Variant,
    VariantsByName,
)

_STEP = """def step():
    with autograd.record():
        l = loss(net(x), y)
    l.backward()
    trainer.step(len(y))
    return l.mean()
y = step()"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, y: Any
) -> VariantsByName:
    """Each way by its name; each trains a copy of the block with a trainer like the one given.

    Raises:
        ArgumentError: the model is no gluon.Block, or the optimizer is no gluon.Trainer.
    """
    models, optimizers = {"gluon.Block": gluon.Block}, {"gluon.Trainer": gluon.Trainer}
    example = 'gluon.Trainer(net.collect_params(), "sgd")'
    require_trainable(net, models, optimizer, optimizers, example)
    inputs = (*args, *by_position(net, args, kwargs).values())
    with semantics(is_numpy(inputs)):
        net(*inputs)  # parameters whose shapes were left open get them now

    def make(active: bool, **flags: bool) -> Function:
        with semantics(is_numpy(inputs)):
            own, criterion = copied((net, loss), compiled(net))
            for parameter in own.collect_params().values():
                wanted = parameter.grad_req  # a copy has lost its gradient: switch it on anew
                parameter.grad_req, parameter.grad_req = "null", wanted
            for block in (own, criterion):
                if isinstance(block, gluon.Block):
                    block.hybridize(active, **flags)
            trainer = _copied_trainer(optimizer, own)

        def step() -> Any:
            with autograd.record():
                value = criterion(own(*inputs), y)
            value.backward()
            trainer.step(len(y))
            return value.mean()

        return TrainingStep(step, _stacked)

    found = {"eager": Variant(DeferredBuild(partial(make, False)), _STEP)}
    hybrid = isinstance(net, gluon.HybridBlock)
    for name, flags in WAYS.items():
        run: Function | str = DeferredBuild(partial(make, True, **flags)) if hybrid else PLAIN
        options = ", ".join(written(flags))
        found[name] = Variant(run, f"net.hybridize({options})\nloss.hybridize({options})\n{_STEP}")
    return found


def _copied_trainer(trainer: Any, net: Any) -> Any:
    """A trainer of the copied parameters with the same settings and state."""
    made = gluon.Trainer(net.collect_params(), copied(trainer._optimizer, {}), kvstore=None)
    made._scale = trainer._scale  # a step leaves it in the optimizer divided by the batch size
    for updater in made._updaters:
        updater.set_states(trainer._updaters[0].get_states(dump_optimizer=False))
    return made


def _stacked(losses: list[Any]) -> Any:
    return mxnet.nd.array(np.ravel([loss.asnumpy() for loss in losses]))
