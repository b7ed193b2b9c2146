"""Models of MXNet: how they are run."""

from typing import Any

from mxnet.gluon import Block, Parameter

from d2lhybrid.core.output import silent
from d2lhybrid.frameworks import defaults
from d2lhybrid.frameworks.mxnet.device import is_numpy, semantics
from d2lhybrid.frameworks.mxnet.modules import bind_positional
from d2lhybrid.frameworks.variant import Args, Function, Kwargs

donates = defaults.donates
snapshot = defaults.snapshot
warnings = defaults.warnings


def classes() -> tuple[tuple[type, ...], tuple[type, ...]]:
    return (Block,), (Parameter,)


def infer(model: Function, args: Args, kwargs: Kwargs) -> Any:
    if isinstance(model, Block):
        args, kwargs = bind_positional(model, args, kwargs), {}
    with semantics(is_numpy(args)), silent():
        return model(*args, **kwargs)
