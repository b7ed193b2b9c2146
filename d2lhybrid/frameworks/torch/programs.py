"""Models of PyTorch as programs that can be written to a file."""

import inspect
import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from d2lhybrid.errors import SaveError, brief
from d2lhybrid.frameworks.samples import Group, Sample, free_axes, held_by
from d2lhybrid.frameworks.torch.tensors import evaluating
from d2lhybrid.i18n import gettext as _
from d2lhybrid.quieting import silent

EXPORTED = ("torch.export", "aotinductor", "onnx")  # the formats that begin with torch.export
# What torch's exporters say about themselves, such as deprecations inside torch.
quiet = partial(silent, logs=logging.WARNING)
_SWITCHING = threading.RLock()


def eager(model: Any) -> Any:
    """The model behind ``torch.compile``, and the module behind its own ``forward``."""
    model = getattr(model, "_orig_mod", getattr(model, "_torchdynamo_orig_callable", model))
    owner = getattr(model, "__self__", None)
    if isinstance(owner, torch.nn.Module) and model.__name__ in ("forward", "__call__"):
        return owner
    return model


def modules_of(model: Any) -> list[torch.nn.Module]:
    """The modules that a model or a function computes with, the outermost alone."""
    model = eager(model)
    if isinstance(model, torch.nn.Module):
        return [model]
    found = [eager(one) for one in held_by(model)]
    modules = [one for one in found if isinstance(one, torch.nn.Module)]
    inner = {id(part) for module in modules for part in list(module.modules())[1:]}
    return list({id(one): one for one in modules if id(one) not in inner}.values())


def weights_of(model: Any) -> torch.nn.Module:
    """The module whose weights are a model's.

    Raises:
        SaveError: A function computes with several modules, or with none.
    """
    found = modules_of(model)
    if len(found) == 1:
        return found[0]
    text = _(
        "Expected a module, or a function that computes with one. Received: a {kind} that "
        "computes with {n}. Hand over the module itself, for its weights to be saved."
    )
    raise SaveError(text, kind=type(model).__name__, n=len(found))


def options(sample: Sample) -> dict[str, Any]:
    """Where the model computes."""
    return {"device": str(sample.inputs[0].device)} if sample.inputs else {}


class Flat(torch.nn.Module):
    """A model that takes the tensors of a sample one by one and returns those of its output."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.model = torch.nn.ModuleList(modules_of(sample.model))
        self._sample = sample

    def forward(self, *tensors: Any) -> Any:
        found = self._sample.flat(*tensors)
        return found[0] if len(found) == 1 else found


def module_of(sample: Sample) -> torch.nn.Module:
    """The model, as a module of flat tensors."""
    model = eager(sample.model)
    return model if sample.plain and isinstance(model, torch.nn.Module) else Flat(sample)


def exported(sample: Sample) -> tuple[Any, list[Group]]:
    """An exported program that runs, and the groups of axes that vary in it.

    Raises:
        SaveError: What the exporter says of the model with fixed sizes.
    """
    module = module_of(sample)
    try:
        with evaluating(sample.model), evaluating(module), torch.no_grad(), quiet():
            return sample.built(lambda groups: _export(module, sample, groups))
    except Exception as error:
        text = _("The exporter of PyTorch, torch.export, does not take this model: {reason}.")
        raise SaveError(text, reason=brief(error), refusing=EXPORTED) from error


def _export(module: torch.nn.Module, sample: Sample, groups: list[Group]) -> Any:
    if not groups:
        return torch.export.export(module, tuple(sample.inputs))
    # A size of 1 would be taken for a constant, so the exporter sees each axis twice.
    twice = tuple(sample.doubled(groups))
    axes = free_axes(groups, len(twice))
    free = tuple(dict.fromkeys(found, torch.export.Dim.AUTO) or None for found in axes)
    kinds = [p.kind for p in inspect.signature(module.forward).parameters.values()]
    varied = inspect.Parameter.VAR_POSITIONAL in kinds
    program = torch.export.export(module, twice, dynamic_shapes=(free,) if varied else free)
    # The exporter may have taken a size for a constant without a word.
    run = program.module()
    for inputs in (sample.inputs, *(sample.doubled([group]) for group in groups)):
        run(*inputs)
    return program


def compile_ahead(program: Any, path: Path) -> None:
    """Let AOTInductor compile an exported program into a package.

    In a folder of its own: left alone, it takes one that is named after the program, and what is
    not needed any more is removed there. Two processes that compile the same program at a time
    could remove each other's.
    """
    with TemporaryDirectory(prefix="d2lhybrid-") as own, quiet(), torch.no_grad():
        config = {"aot_inductor.output_path": own}
        with torch._inductor.config.patch(config):
            torch._inductor.aoti_compile_and_package(program, package_path=str(path))


def scripted(sample: Sample) -> Any:
    """The model in TorchScript."""
    model = eager(sample.model)
    with evaluating(model):
        script = model if isinstance(model, torch.jit.ScriptModule) else torch.jit.script(model)
        if sample.plain:
            return script
        flat = Flat(replace(sample, model=script))
        return torch.jit.trace(flat.eval(), tuple(sample.inputs), check_trace=False)


def reserve(model: Any, folder: Path, more: int = 1 << 16) -> None:
    """Find out now that the disk is full: where torch finds out, it ends the whole process."""
    held = [t for module in modules_of(model) for t in module.state_dict().values()]
    size = int(1.05 * sum(t.nbytes for t in held if hasattr(t, "nbytes"))) + more
    probe = folder / "probe"
    with open(probe, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
    probe.unlink()


def buffers_restorer(part: Any) -> Callable[[], None] | None:
    """What puts back the buffers that a module has now; None for anything else."""
    if not isinstance(part, torch.nn.Module):
        return None
    kept = [(b, b.detach().clone()) for b in part.buffers()]

    def restore() -> None:
        with torch.no_grad():
            for buffer, value in kept:
                buffer.copy_(value)

    return restore


@contextmanager
def weights_only() -> Iterator[None]:
    """Torch's own switch against unpickling, which ``torch.export.load`` does by default."""
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    with _SWITCHING:  # one thread must not take away the other's, nor leave it on for good
        before = os.environ.get(name)
        os.environ[name] = "1"
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before
