"""A step of training in MXNet, eager and hybridized."""

from functools import partial
from typing import Any

import mxnet
import numpy as np
from mxnet import autograd, gluon

from d2lhybrid.frameworks.mxnet.tensors import by_position, is_numpy, semantics
from d2lhybrid.frameworks.protocol import (
    Args,
    Function,
    Kwargs,
    Lazy,
    Step,
    Variant,
    copied,
    require_trainable,
)
from d2lhybrid.i18n import noop as N_

_STEP = """def step():
    with autograd.record():
        l = loss(net(x), y)
    l.backward()
    trainer.step(len(y))
    return l.mean()
"""


def training(
    net: Any, loss: Function, optimizer: Any, args: Args, kwargs: Kwargs, target: Any
) -> dict[str, Variant]:
    """Each way by its name; each trains a copy of the block with a trainer like the one given.

    Raises:
        ArgumentError: the model is no gluon.Block, or the optimizer is no gluon.Trainer.
    """
    require_trainable(
        net,
        {"gluon.Block": gluon.Block},
        optimizer,
        {"gluon.Trainer": gluon.Trainer},
        'gluon.Trainer(net.collect_params(), "sgd")',
    )
    inputs = (*args, *by_position(net, args, kwargs).values()) if kwargs else args
    with semantics(is_numpy(inputs)):
        net(*inputs)  # parameters whose shapes were left open get them now

    def make(**flags: bool) -> Function:
        with semantics(is_numpy(inputs)):
            own, criterion = copied((net, loss), {})
            for parameter in own.collect_params().values():
                wanted = parameter.grad_req  # a copy has lost its gradient: switch it on anew
                parameter.grad_req, parameter.grad_req = "null", wanted
            own.hybridize(bool(flags), **flags)
            if isinstance(criterion, gluon.HybridBlock):
                criterion.hybridize(bool(flags), **flags)
            trainer = _copied_trainer(optimizer, own)

        def step() -> Any:
            with autograd.record():
                value = criterion(own(*inputs), target)
            value.backward()
            trainer.step(len(target))
            return value.mean()

        return Step(step, _stacked)

    found = {"eager": Variant(Lazy(make), _STEP + "y = step()")}
    for name, flags in (
        ("hybridized", {"static_alloc": False}),
        ("static_alloc", {"static_alloc": True}),
        ("static_shape", {"static_alloc": True, "static_shape": True}),
    ):
        written = ", ".join(f"{flag}={value}" for flag, value in flags.items() if value)
        code = f"net.hybridize({written})\nloss.hybridize({written})\n{_STEP}y = step()"
        run: Function | str = Lazy(partial(make, **flags))
        if not isinstance(net, gluon.HybridBlock):
            run = N_("a plain Block cannot be hybridized; use HybridBlock")
        found[name] = Variant(run, code)
    return found


def _copied_trainer(trainer: Any, net: Any) -> Any:
    """A trainer of the copied parameters with the same settings and state."""
    optimizer = trainer._optimizer
    parameters, optimizer.param_dict = optimizer.param_dict, {}  # those of the user's model
    try:
        made = gluon.Trainer(net.collect_params(), copied(optimizer, {}), kvstore=None)
    finally:
        optimizer.param_dict = parameters
    if trainer._kv_initialized and trainer._updaters[0].states:
        for updater in made._updaters:
            updater.set_states(trainer._updaters[0].get_states(dump_optimizer=False))
    return made


def _stacked(losses: list[Any]) -> Any:
    return mxnet.nd.array(np.ravel([loss.asnumpy() for loss in losses]))
