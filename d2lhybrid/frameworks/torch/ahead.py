"""PyTorch models compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each class builds into a folder, which a release does once, and loads from it, which each process
does.
"""

import logging
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch.utils import _pytree as pytree

from d2lhybrid.frameworks.folder import Folder
from d2lhybrid.frameworks.protocol import Args, Function, Kwargs
from d2lhybrid.frameworks.torch.programs import compile_ahead
from d2lhybrid.installing import require
from d2lhybrid.quieting import silent

_COMPILED = """program = torch.export.export(net, (x,))
path = torch._inductor.aoti_compile_and_package(program)
fast = torch._inductor.aoti_load_package(path)
"""
COMPILED = _COMPILED + "y = fast(x)"
BOXED = _COMPILED + "[y] = fast.loader.boxed_run([x])"
_ONNX = """torch.onnx.export(net, (x,), dynamo=True).save("model.onnx")
session = onnxruntime.InferenceSession("model.onnx")
"""
ONNX = _ONNX + "[y] = session.run(None, {session.get_inputs()[0].name: x.numpy()})"
ONNX_BOUND = (
    _ONNX
    + """y, binding = torch.empty_like(net(x)), session.io_binding()
for bind, value, t in ((binding.bind_input, session.get_inputs()[0], x),
                       (binding.bind_output, session.get_outputs()[0], y)):
    bind(value.name, "cpu", 0, numpy.float32, tuple(t.shape), t.data_ptr())
session.run_with_iobinding(binding)"""
)


class Ahead(ABC):
    """One way to compile a model ahead, and to load what was compiled."""

    needs_compiler = False

    def __init__(self, net: torch.nn.Module, args: Args, kwargs: Kwargs) -> None:
        self.net, self.args, self.kwargs = net, args, kwargs

    def build(self) -> Any:
        folder = Folder()
        with torch.no_grad():
            program = torch.export.export(self.net, self.args, self.kwargs)
            self.write(program, folder.path)
        return folder, program.call_spec

    @abstractmethod
    def write(self, program: Any, folder: Path) -> None:
        """Compile an exported program into a folder."""

    def load(self, product: Any) -> Function:
        folder, spec = product
        return self.read(folder.path, spec)

    @abstractmethod
    def read(self, folder: Path, spec: Any) -> Function:
        """Load what was compiled there; `spec` tells how arguments and output are structured."""


class Compiled(Ahead):
    """An AOTInductor package, called as it is loaded."""

    needs_compiler = True

    def write(self, program: Any, folder: Path) -> None:
        compile_ahead(program, folder / "model.pt2")

    def read(self, folder: Path, spec: Any) -> Function:
        found: Function = torch._inductor.aoti_load_package(str(folder / "model.pt2"))
        return found


class Boxed(Compiled):
    """The same by its loader, which spares what ``AOTICompiledModel`` does in Python in a call."""

    def read(self, folder: Path, spec: Any) -> Function:
        run = super().read(folder, spec).loader.boxed_run  # type: ignore[attr-defined]
        if _is_plain(spec):

            def run_one(x: Any) -> Any:
                return run([x])[0]

            return run_one

        def run_any(*args: Any, **kwargs: Any) -> Any:
            return pytree.tree_unflatten(run(_tensors(args, kwargs, spec)), spec.out_spec)

        return run_any


class Onnx(Ahead):
    """ONNX Runtime, with the number of threads that PyTorch has."""

    def write(self, program: Any, folder: Path) -> None:
        require("onnxscript", "onnx")
        with silent(logs=logging.WARNING, prints=True):
            torch.onnx.export(program, dynamo=True, verbose=False).save(folder / "model.onnx")

    def read(self, folder: Path, spec: Any) -> Function:
        session = self.session(folder)
        names = [value.name for value in session.get_inputs()]
        if _is_plain(spec):
            (name,) = names

            def run_one(x: Any) -> Any:
                return session.run(None, {name: x.detach().numpy()})[0]

            return run_one

        def run_any(*args: Any, **kwargs: Any) -> Any:
            arrays = [tensor.detach().numpy() for tensor in _tensors(args, kwargs, spec)]
            found = session.run(None, dict(zip(names, arrays, strict=True)))
            return pytree.tree_unflatten(found, spec.out_spec)

        return run_any

    def session(self, folder: Path) -> Any:
        runtime = require("onnxruntime", "onnx")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = torch.get_num_threads()
        path = str(folder / "model.onnx")
        return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class OnnxBound(Onnx):
    """ONNX Runtime that reads and writes tensors in place: those that were given at first."""

    def read(self, folder: Path, spec: Any) -> Function:
        session = self.session(folder)
        binding = session.io_binding()
        latest = _tensors(self.args, self.kwargs, spec)
        inputs = [tensor.detach().clone().contiguous() for tensor in latest]
        with torch.no_grad():
            outputs = pytree.tree_leaves(self.net(*self.args, **self.kwargs))
        outputs = [tensor.detach().clone().contiguous() for tensor in outputs]
        for bind, values, tensors in (
            (binding.bind_input, session.get_inputs(), inputs),
            (binding.bind_output, session.get_outputs(), outputs),
        ):
            for value, tensor in zip(values, tensors, strict=True):
                dtype = tensor.numpy().dtype.type
                bind(value.name, "cpu", 0, dtype, tuple(tensor.shape), tensor.data_ptr())
        run = session.run_with_iobinding
        found = pytree.tree_unflatten(outputs, spec.out_spec)
        if _is_plain(spec):
            (kept,), (given,) = inputs, latest

            def run_one(x: Any) -> Any:
                nonlocal given
                if x is not given:
                    kept.copy_(x)
                    given = x
                run(binding)
                return found

            return run_one

        def run_any(*args: Any, **kwargs: Any) -> Any:
            for kept, tensor in zip(inputs, _tensors(args, kwargs, spec), strict=True):
                kept.copy_(tensor)
            run(binding)
            return found

        return run_any


def _is_plain(spec: Any) -> bool:
    """Is it one tensor to one tensor, which need not be taken apart and put together?"""
    args, kwargs = spec.in_spec.child(0), spec.in_spec.child(1)
    one = args.num_children == 1 and args.child(0).is_leaf() and kwargs.num_leaves == 0
    return bool(one and spec.out_spec.is_leaf())


def _tensors(args: Args, kwargs: Kwargs, spec: Any) -> list[Any]:
    """The tensors among the arguments, in the order of the exported program."""
    ordered = {name: kwargs[name] for name in spec.in_spec.child(1).context}
    leaves = pytree.tree_leaves((args, ordered))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
