"""What brings PyTorch's objects and settings to a fresh process."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from d2lhybrid.backends.torch import private
from d2lhybrid.core.arguments import Function, Kwargs


def reduce(obj: Any) -> Any:
    """What ``torch.compile`` has compiled is compiled again there, with the same options."""
    if isinstance(obj, nn.Module) and private.is_compiled_in_place(obj):
        make, args, state, *_items = obj.__reduce_ex__(2)  # without what was compiled
        options = private.compile_options(obj._compiled_call_impl)
        return make, args, (state, options), None, None, _compile_in_place
    options = private.compile_options(obj)
    if options is None:
        return NotImplemented
    return private.compile_with, (private.uncompiled(obj), options)


def _compile_in_place(module: nn.Module, state_and_options: tuple[Any, Kwargs | None]) -> None:
    """Give a new module its state, and compile it as ``module.compile()`` does."""
    state, options = state_and_options
    module.__setstate__(state)
    compiled: Function = private.compile_with(module._call_impl, options or {})
    module._compiled_call_impl = compiled


def settings() -> Mapping[str, Any]:
    device = torch.get_default_device()
    return {
        "threads": torch.get_num_threads(),
        "dtype": torch.get_default_dtype(),
        "device": None if device == torch.device("cpu") else device,
        "precision": torch.get_float32_matmul_precision(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "grad": torch.is_grad_enabled(),
        "fast_path": torch.backends.mha.get_fastpath_enabled(),
        "cudnn": (torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32),
        "compiler": private.changed_settings(),
    }


def apply_settings(settings: Mapping[str, Any]) -> None:
    if "threads" in settings:
        torch.set_num_threads(settings["threads"])
    torch.set_default_dtype(settings["dtype"])
    if settings["device"] is not None:
        torch.set_default_device(settings["device"])
    torch.set_float32_matmul_precision(settings["precision"])
    torch.use_deterministic_algorithms(settings["deterministic"])
    torch.set_grad_enabled(settings["grad"])
    torch.backends.mha.set_fastpath_enabled(settings["fast_path"])
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = settings["cudnn"]
    private.change_settings(settings["compiler"])
