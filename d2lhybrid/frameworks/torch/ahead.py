"""PyTorch models compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each is built into a folder, which a release does once, and loaded from it, which each process does.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.frameworks.onnxruntime import open_session
from d2lhybrid.frameworks.protocol import Args, Folder, Function, Kwargs, Lazy, Variant
from d2lhybrid.frameworks.torch.programs import compile_ahead, if_compiler, write_onnx
from d2lhybrid.i18n import gettext as _

_PACKAGE = """program = torch.export.export(net, (x,))
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
"""
_ONNX_BOUND = """torch.onnx.export(net, (x,), dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
y, binding = torch.empty_like(net(x)), session.io_binding()
for bind, value, t in ((binding.bind_input, session.get_inputs()[0], x),
                       (binding.bind_output, session.get_outputs()[0], y)):
    bind(value.name, "cpu", 0, numpy.float32, tuple(t.shape), t.data_ptr())
session.run_with_iobinding(binding)"""


def ahead(net: Any, args: Args, kwargs: Kwargs, everything: bool) -> dict[str, Variant]:
    """These variants of a module by name; with `everything` those that take more than a line."""

    def package(folder: Folder) -> Any:
        return torch._inductor.aoti_load_package(str(folder.path / "model.pt2"))

    def boxed(folder: Folder) -> Function:
        """By the loader, which spares what ``AOTICompiledModel`` does in Python in a call."""
        run = package(folder).loader.boxed_run
        return lambda x: run([x])[0]

    def bound(folder: Folder) -> Function:
        """On tensors that stay where they are, with as many threads as PyTorch."""
        session = open_session(folder.path / "model.onnx", torch.get_num_threads())
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

    def exported(file: str, write: Callable[[Any, Path], None], load: Function) -> Lazy:
        def build() -> Folder:
            folder = Folder()
            with torch.no_grad():
                program = torch.export.export(net, args, kwargs)
                signature = program.graph_signature
                tensors = len(signature.user_inputs), len(signature.user_outputs)
                if load is not package and tensors != (1, 1):
                    text = _("it is written for a model with one input and one output")
                    raise CannotBuildError(text)
                write(program, folder.path / file)
            return folder

        return Lazy(build, load)

    aoti = if_compiler(exported("model.pt2", compile_ahead, package))
    found = {"aotinductor": Variant(aoti, _PACKAGE + "y = fast(x)")}
    if everything:
        aoti = if_compiler(exported("model.pt2", compile_ahead, boxed))
        onnx = exported("model.onnx", write_onnx, bound)
        found["aotinductor boxed"] = Variant(aoti, _PACKAGE + "[y] = fast.loader.boxed_run([x])")
        found["onnxruntime io binding"] = Variant(onnx, _ONNX_BOUND)
    return found
