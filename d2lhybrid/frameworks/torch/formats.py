"""The formats that PyTorch writes and reads. Torch is imported by the functions that need it."""

import contextlib
import inspect
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import ArtifactLoadError
from d2lhybrid.frameworks.formats import Deferred, Format, Written, require
from d2lhybrid.frameworks.onnxruntime import numpy_callable, open_session
from d2lhybrid.frameworks.processor import processor, require_processor
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.tensor import spec

torch = Deferred(lambda: require("torch", "torch"))
parts = Deferred(lambda: import_module("d2lhybrid.frameworks.torch.tensors"))
TORCHSCRIPT, EXPORT, AOTI = "model.pt", "model.pt2", "model.pt2"
ONNX, WEIGHTS = "model.onnx", "model.safetensors"
ONNX_LIMIT = 1_900_000_000  # a protobuf file ends at 2 GB; weights go beside it from here on
_SWITCHING = threading.RLock()


def default_format(model: Any) -> str:
    return "torchscript" if isinstance(model, torch.jit.ScriptModule) else "torch.export"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what torch's exporters say about themselves, such as deprecations inside torch."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _written(model: Any, inputs: tuple[Any, ...]) -> Written:
    """With the names of the parameters of forward, as far as it names them."""
    try:
        wanted = inspect.signature(_eager(model).forward).parameters.values()
        named = [p.name for p in wanted if p.kind is p.POSITIONAL_OR_KEYWORD]
    except (AttributeError, TypeError, ValueError):
        named = []
    names = (named[i] if i < len(named) else f"input_{i}" for i in range(len(inputs)))
    return Written(tuple(names), options=_options(inputs))


def _options(inputs: tuple[Any, ...]) -> dict[str, Any]:
    return {"device": str(inputs[0].device)} if inputs else {}


def _eager(model: Any) -> Any:
    """The module behind ``torch.compile``, or a module around a function."""
    model = getattr(model, "_orig_mod", getattr(model, "_torchdynamo_orig_callable", model))
    if isinstance(model, torch.nn.Module):
        return model

    class Function(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, *args: Any) -> Any:
            return model(*args)

    return Function()


def _export(model: Any, inputs: tuple[Any, ...]) -> Any:
    """An exported program whose first axes may vary where the model lets them."""
    model = _eager(model)
    # A size of 1 would be taken for a constant, so the exporter sees the batch twice.
    twice = tuple(map(parts.TENSORS.doubled, inputs))
    free = tuple({0: torch.export.Dim.AUTO} if t.dim() else None for t in twice)
    varargs = "args" in inspect.signature(model.forward).parameters
    with parts.evaluating(model), torch.no_grad(), _quiet():
        try:
            parts.TENSORS.infer(model, twice, {})
            return torch.export.export(model, twice, dynamic_shapes=(free,) if varargs else free)
        except Exception:  # the model may hold for this batch alone; if not, this raises why
            return torch.export.export(model, inputs)


def _reserve(model: Any, folder: Path, more: int = 1 << 16) -> None:
    """Find out now that the disk is full: where torch finds out, it ends the whole process."""
    held = [*model.state_dict().values()] if hasattr(model, "state_dict") else []
    size = int(1.05 * sum(t.nbytes for t in held if hasattr(t, "nbytes"))) + more
    probe = folder / "probe"
    with open(probe, "wb") as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
    probe.unlink()


def write_torchscript(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    written = _written(model, inputs)
    _reserve(model, folder)
    with parts.evaluating(model), _quiet():
        scripted = model if isinstance(model, torch.jit.ScriptModule) else torch.jit.script(model)
        scripted.save(str(folder / TORCHSCRIPT))
    return written


def read_torchscript(folder: Path, options: dict[str, Any], into: Any) -> Any:
    with _quiet():
        return torch.jit.load(str(folder / TORCHSCRIPT), map_location=options.get("device", "cpu"))


def write_export(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    program = _export(model, inputs)
    _reserve(_eager(model), folder)
    program.example_inputs = None  # they would be pickled; the manifest has better ones
    with _quiet():
        torch.export.save(program, folder / EXPORT)
    return _written(model, inputs)


def read_export(folder: Path, options: dict[str, Any], into: Any) -> Any:
    with _weights_only(), _quiet():
        return torch.export.load(folder / EXPORT).module()


def write_aoti(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    find_compiler("C++", INDUCTOR)  # Inductor's own search ends in an error without advice
    program = _export(model, inputs)
    _reserve(_eager(model), folder, more=4 << 20)
    with _quiet(), torch.no_grad():
        torch._inductor.aoti_compile_and_package(program, package_path=str(folder / AOTI))
    written = _written(model, inputs)
    written.options["processor"] = processor()
    return written


def read_aoti(folder: Path, options: dict[str, Any], into: Any) -> Any:
    with _weights_only(), _quiet():
        return torch._inductor.aoti_load_package(str(folder / AOTI))


def write_onnx(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    for package in ("onnx", "onnxscript"):
        require(package, "onnx")
    program = _export(model, inputs)
    size = sum(t.nbytes for t in (*program.state_dict.values(), *program.constants.values()))
    with _quiet():
        onnx = torch.onnx.export(program, dynamo=True, verbose=False)
        onnx.save(folder / ONNX, external_data=size > ONNX_LIMIT)
    session = open_session(folder / ONNX)
    return Written(
        tuple(i.name for i in session.get_inputs()),
        tuple(o.name for o in session.get_outputs()),
        _options(inputs),
    )


def read_onnx(folder: Path, options: dict[str, Any], into: Any) -> Callable[..., Any]:
    """ONNX Runtime behind torch tensors."""
    on_arrays = numpy_callable(folder / ONNX)

    def run(*inputs: Any) -> Any:
        found = on_arrays(*(t.detach().cpu().numpy() for t in inputs))
        if isinstance(found, tuple):
            return tuple(map(torch.from_numpy, found))
        return torch.from_numpy(found)

    return run


def write_safetensors(model: Any, inputs: tuple[Any, ...], folder: Path) -> Written:
    require("safetensors.torch", "safetensors").save_model(_eager(model), str(folder / WEIGHTS))
    return _written(model, inputs)


def read_safetensors(folder: Path, options: dict[str, Any], into: Any) -> Any:
    """The weights by name; or, if `into` is a module, that module with the weights loaded."""
    library = require("safetensors.torch", "safetensors")
    if into is None:
        return library.load_file(str(folder / WEIGHTS))
    try:
        library.load_model(_eager(into), str(folder / WEIGHTS))
    except RuntimeError as error:
        raise ArtifactLoadError(
            _(
                "Expected a module with the parameters that were saved, received a {kind} that "
                "differs: {error}"
            ).format(kind=type(into).__name__, error=error)
        ) from error
    return into


def differing_weight(model: Any, folder: Path) -> str:
    """The first tensor in the file that is not the model's, in words; empty if all are.

    The file is opened anew for each tensor, so that no more than one is in memory.
    """
    open_file = require("safetensors", "safetensors").safe_open
    state = _eager(model).state_dict()
    with open_file(folder / WEIGHTS, framework="pt") as file:
        names = list(file.keys())
    for name in names:
        with open_file(folder / WEIGHTS, framework="pt") as file:
            stored, mine = file.get_tensor(name), state[name].detach().cpu()
            if spec(stored) != spec(mine) or not torch.equal(_bytes(stored), _bytes(mine)):
                return _("{name!r} differs").format(name=name)
    return ""


def _bytes(tensor: Any) -> Any:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


@contextlib.contextmanager
def _weights_only() -> Iterator[None]:
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


FORMATS = {
    "torch.export": Format(
        write_export,
        read_export,
        ("torch",),
        risk=N_("Loading parses a program and can unpickle tensors of unusual kinds."),
    ),
    "torchscript": Format(
        write_torchscript,
        read_torchscript,
        ("torch",),
        risk=N_("Loading runs the archive's own __setstate__ code."),
        native="torchscript.cpp",
        note=N_(
            "TorchScript is deprecated since PyTorch 2.10 and ends with Python 3.14; "
            "torch.export and AOTInductor replace it."
        ),
    ),
    "aotinductor": Format(
        write_aoti,
        read_aoti,
        ("torch",),
        require_processor,
        risk=N_("It is native code that loading runs, with everything you may do."),
        native="aotinductor.cpp",
        note=N_("Compiled for this kind of processor and this version of torch."),
    ),
    "onnx": Format(
        write_onnx, read_onnx, ("torch", "onnx", "onnxruntime", "onnxscript"), native="onnx.c"
    ),
    "safetensors": Format(
        write_safetensors,
        read_safetensors,
        ("torch", "safetensors"),
        note=N_("Weights alone: load(path, into=model) puts them into a model that you build."),
        weights_only=True,
        differing=differing_weight,
    ),
}
