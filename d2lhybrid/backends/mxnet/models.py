"""Models of MXNet: how they are run."""

from typing import Any

from mxnet.gluon import Block, Parameter

from d2lhybrid.backends.defaults import models as defaults
from d2lhybrid.backends.mxnet.device import is_numpy, semantics
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.output import silent

donates = defaults.donates
snapshot = defaults.snapshot
layers_in_training = defaults.layers_in_training


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (Block,), (Parameter,)


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    with semantics(is_numpy((args, kwargs))), silent():
        return model(*args, **kwargs)
