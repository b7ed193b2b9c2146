"""PyTorch models compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each is built into a folder, which a release does once, and loaded from it, which each process does.
"""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.frameworks.folder import Folder
from d2lhybrid.frameworks.onnxruntime import open_session
from d2lhybrid.frameworks.protocol import Args, Function, Kwargs, Lazy
from d2lhybrid.frameworks.torch import private
from d2lhybrid.frameworks.torch.programs import compile_ahead
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import require
from d2lhybrid.quieting import silent

_PACKAGE = """program = torch.export.export(net, (x,))
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
"""
PACKAGE = _PACKAGE + "y = fast(x)"
BOXED = _PACKAGE + "[y] = fast.loader.boxed_run([x])"
ONNX_BOUND = """torch.onnx.export(net, (x,), dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
y, binding = torch.empty_like(net(x)), session.io_binding()
for bind, value, t in ((binding.bind_input, session.get_inputs()[0], x),
                       (binding.bind_output, session.get_outputs()[0], y)):
    bind(value.name, "cpu", 0, numpy.float32, tuple(t.shape), t.data_ptr())
session.run_with_iobinding(binding)"""


def package(net: torch.nn.Module, args: Args, kwargs: Kwargs) -> Lazy:
    """An AOTInductor package, called as it is loaded."""
    return _lazy(net, args, kwargs, "model.pt2", compile_ahead, _loaded)


def boxed(net: torch.nn.Module, args: Args, kwargs: Kwargs) -> Lazy:
    """The same by its loader, which spares what ``AOTICompiledModel`` does in Python in a call."""

    def load(path: Path) -> Function:
        run = private.boxed_call(_loaded(path))
        return lambda x: run([x])[0]

    return _lazy(net, args, kwargs, "model.pt2", compile_ahead, load, plain=True)


def onnx_bound(net: torch.nn.Module, args: Args, kwargs: Kwargs) -> Lazy:
    """ONNX Runtime, with as many threads as PyTorch, on tensors that stay where they are."""

    def load(path: Path) -> Function:
        session = open_session(path, torch.get_num_threads())
        binding, (x,) = session.io_binding(), args
        with torch.no_grad():
            kept, found = (t.detach().clone().contiguous() for t in (x, net(x)))
        for bind, value, tensor in (
            (binding.bind_input, session.get_inputs()[0], kept),
            (binding.bind_output, session.get_outputs()[0], found),
        ):
            dtype = tensor.numpy().dtype.type
            bind(value.name, "cpu", 0, dtype, tuple(tensor.shape), tensor.data_ptr())

        def call(x: Any) -> Any:
            kept.copy_(x)
            session.run_with_iobinding(binding)
            return found

        return call

    return _lazy(net, args, kwargs, "model.onnx", _write_onnx, load, plain=True)


def _lazy(
    net: torch.nn.Module,
    args: Args,
    kwargs: Kwargs,
    file: str,
    write: Callable[[Any, Path], None],
    load: Callable[[Path], Function],
    plain: bool = False,
) -> Lazy:
    """Export, and write into a file; where it is `plain`, one tensor to one tensor alone."""

    def build() -> Folder:
        folder = Folder()
        with torch.no_grad():
            program = torch.export.export(net, args, kwargs)
            signature = program.graph_signature
            if plain and (len(signature.user_inputs), len(signature.user_outputs)) != (1, 1):
                text = _("it is written for a model with one input and one output")
                raise CannotBuildError(text)
            write(program, folder.path / file)
        return folder

    return Lazy(build, lambda folder: load(folder.path / file))


def _loaded(path: Path) -> Any:
    return torch._inductor.aoti_load_package(str(path))


def _write_onnx(program: Any, path: Path) -> None:
    require("onnxscript", "onnx")
    with silent(logs=logging.WARNING, prints=True):
        torch.onnx.export(program, dynamo=True, verbose=False).save(path)
