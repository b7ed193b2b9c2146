"""Layers of ``torch.nn`` that act as in training."""

from typing import Any

import torch


def trained_layers(model: Any) -> list[torch.nn.Module]:
    """The layers of a module that act as in training: they normalize by batches, or drop."""
    owner = getattr(model, "__self__", model)
    modules = owner.modules() if isinstance(owner, torch.nn.Module) else ()
    return [module for module in modules if module.training and _acts_in_training(module)]


def dropping_layers(model: Any) -> list[torch.nn.Module]:
    """Those of them that drop, so that what the model computes is random."""
    return [layer for layer in trained_layers(model) if _drops(layer)]


def _acts_in_training(module: torch.nn.Module) -> bool:
    return isinstance(module, torch.nn.modules.batchnorm._BatchNorm) or _drops(module)


def _drops(module: torch.nn.Module) -> bool:
    if isinstance(module, torch.nn.modules.dropout._DropoutNd):
        return bool(module.p > 0)
    drops_inside = isinstance(module, torch.nn.RNNBase | torch.nn.MultiheadAttention)
    return bool(drops_inside and module.dropout > 0)
