"""A model of PyTorch as Python runs it, compiled just in time or ahead, and as an ONNX file."""

import copy
import errno
import logging
import os
import shutil
from dataclasses import replace
from inspect import Parameter, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import CompilerMissingError, SaveError, brief
from d2lhybrid.frameworks.formats import Sample
from d2lhybrid.frameworks.protocol import Function, Lazy, copied
from d2lhybrid.frameworks.torch.private import is_compiled_in_place, original
from d2lhybrid.frameworks.torch.tensors import evaluating
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import require
from d2lhybrid.quieting import silent


def eager(model: Any) -> Any:
    """The module or function that Python runs; of a module's own ``forward``, the module.

    Where ``module.compile()`` was called, it is a copy that shares everything.
    """
    model = original(model)
    owner = getattr(model, "__self__", None)
    if isinstance(owner, torch.nn.Module) and model.__name__ in ("forward", "__call__"):
        return eager(owner)
    return copy.copy(model) if is_compiled_in_place(model) else model


def twin(net: torch.nn.Module) -> torch.nn.Module:
    """A copy that shares its tensors with the model; not in training mode, which changes them.

    Its parts are eager, too.
    """
    tensors = [] if net.training else [*net.parameters()]
    # What a forward left behind (the weight of weight_norm, a last activation) cannot be copied.
    left = (value for module in net.modules() for value in vars(module).values())
    tensors += [v for v in left if isinstance(v, torch.Tensor) and not v.is_leaf]
    made: torch.nn.Module = copied(net, {id(tensor): tensor for tensor in tensors})
    for path, part in reversed([*made.named_modules(remove_duplicate=False)]):
        if original(part) is not part:
            made.set_submodule(path, original(part))
    return made


def compiled(net: Function, **options: Any) -> Function:
    """torch.compile with a cache of its own, or what was compiled before would be taken again.

    A PyTorch that cannot do that shares one cache among all models whose code is the same, up to
    eight programs in all; behind these it runs them eagerly.
    """
    if "isolate_recompiles" in signature(torch.compile).parameters:
        options["isolate_recompiles"] = True
    return torch.compile(net, **options)


def exported(sample: Sample, folder: Path) -> Any:
    """A program of flat tensors, in which the sample's axes vary; with example inputs.

    Raises:
        SaveError: What the exporter says of the model.
        OSError: The disk has no room for it; torch would find out and end the whole process.
    """
    plain = replace(sample, model=eager(sample.model))

    class Flat(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = plain.model  # so that its tensors are the program's

        def forward(self, *tensors: Any) -> Any:
            return plain.flat(*tensors)

    axes: Any = tuple(dict.fromkeys(free, torch.export.Dim.DYNAMIC) or None for free in sample.axes)
    module, axes = Flat(), (axes,)
    if sample.plain and isinstance(plain.model, torch.nn.Module):  # readable without our help
        module = plain.model
        kinds = [one.kind for one in signature(module.forward).parameters.values()]
        axes = axes if Parameter.VAR_POSITIONAL in kinds else axes[0]
    # The exporter takes a size of 1 for a constant, so it sees the larger example.
    inputs = tuple(sample.larger or sample.inputs)
    try:
        with evaluating(module), torch.no_grad(), silent(logs=logging.WARNING):
            program: Any = torch.export.export(
                module, inputs, dynamic_shapes=axes if sample.larger else None
            )
            program.module()(*sample.inputs)  # there may be a guard that lets the larger pass alone
    except Exception as error:
        text = _("The exporter of PyTorch, torch.export, does not take this model: {reason}.")
        raise SaveError(text, reason=brief(error)) from error
    held = (*program.state_dict.values(), *program.constants.values())
    needed = int(1.05 * sum(getattr(t, "nbytes", 0) for t in held)) + (1 << 16)
    if shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return program


def if_compiler(variant: Lazy) -> Function | str:
    """The variant, or why there is none: no compiler for the C++ that Inductor writes."""
    try:
        find_compiler("C++", INDUCTOR)
    except CompilerMissingError as error:
        return str(error)
    return variant


def compile_ahead(program: Any, path: Path) -> None:
    """Let AOTInductor compile an exported program into a package.

    In a folder of its own: left alone, it takes one that is named after the program, and what is
    not needed any more is removed there. Two processes that compile the same program at a time
    could remove each other's. The package appears at `path` when it is whole.
    """
    with TemporaryDirectory(dir=path.parent) as own, silent(), torch.no_grad():
        whole = Path(own, "whole.pt2")
        with torch._inductor.config.patch({"aot_inductor.output_path": own}):
            torch._inductor.aoti_compile_and_package(program, package_path=str(whole))
        whole.replace(path)


def write_onnx(program: Any, path: Path, **names: Any) -> None:
    """Write an exported program as an ONNX file, with `names` for its inputs and outputs."""
    require("onnxscript", "onnx")
    with silent(logs=logging.WARNING, prints=True):
        try:
            torch.onnx.export(program, dynamo=True, verbose=False, **names).save(path)
        except torch.onnx.OnnxExporterError as error:
            raise (error.__cause__ or error) from None  # its own text is a list of advice
