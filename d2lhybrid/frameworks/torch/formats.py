"""The formats that PyTorch writes and reads. Each begins with a program of ``torch.export``."""

import errno
import hashlib
import os
import shutil
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.errors import SaveError, brief
from d2lhybrid.frameworks.formats import Format, NativeProgram, Option, Options
from d2lhybrid.frameworks.onnxruntime import PACKAGE, library_of, open_session
from d2lhybrid.frameworks.processor import processor, require_processor
from d2lhybrid.frameworks.samples import Sample
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.installing import require
from d2lhybrid.quieting import silent
from d2lhybrid.tensor import Raw

ONNX_LIMIT = 1_900_000_000  # a protobuf file ends at 2 GB; weights go beside it from here on
# What torch's exporters say about themselves, such as deprecations inside torch.
_quiet = partial(silent, "torch.onnx")
_SWITCHING = threading.RLock()
# A compiled package asks for libtorch when it is opened, and finds it only if the program has it
# already: so the linker must not drop it, although the program calls nothing in it.
_KEEP = "" if sys.platform == "darwin" else "-Wl,--no-as-needed "
_NATIVE = NativeProgram(
    "aotinductor.cpp",
    "torch",
    "-std=c++20 -I{0}/include -I{0}/include/torch/csrc/api/include "
    f"-L{{0}}/lib -Wl,-rpath,{{0}}/lib {_KEEP}-ltorch -ltorch_cpu -lc10",
    "model.pt2",
)


class TorchFormat(Format):
    """What PyTorch's formats share."""

    packages: ClassVar[tuple[str, ...]] = ("torch",)

    def function(self, model: Any) -> Any:
        model = _eager(model)
        return getattr(model, "forward", model)

    def options(self, inputs: Sequence[Any]) -> dict[str, Option]:
        return {"device": str(inputs[0].device)} if inputs else {}

    def restorer(self, model: Any) -> Callable[[], None]:
        """The buffers, which a model may count or average in."""
        import torch

        model = _eager(model)
        buffers = list(model.buffers()) if isinstance(model, torch.nn.Module) else []
        kept = [(buffer, buffer.detach().clone()) for buffer in buffers]

        def restore() -> None:
            with torch.no_grad():
                for buffer, value in kept:
                    buffer.copy_(value)

        return restore


def _eager(model: Any) -> Any:
    from d2lhybrid.frameworks.torch.programs import eager

    return eager(model)


def _exported(sample: Sample, folder: Path) -> Any:
    """A program of flat tensors, in which the sample's axes vary.

    Raises:
        SaveError: What the exporter says of the model.
        OSError: The disk has no room for it; torch would find out and end the whole process.
    """
    import torch

    from d2lhybrid.frameworks.torch.tensors import evaluating

    module = _module_of(sample)
    free: Any = tuple(dict.fromkeys(axes, torch.export.Dim.DYNAMIC) or None for axes in sample.axes)
    kinds = [parameter.kind for parameter in signature(module.forward).parameters.values()]
    if Parameter.VAR_POSITIONAL in kinds:
        free = (free,)
    free = free if sample.larger else None
    # The exporter takes a size of 1 for a constant, so it sees the larger example.
    inputs = tuple(sample.larger or sample.inputs)
    try:
        with evaluating(module), torch.no_grad(), _quiet():
            program = torch.export.export(
                module, inputs, dynamic_shapes=free if sample.larger else None
            )
            run = program.module()
            for given in filter(None, (sample.inputs, sample.larger)):
                run(*given)  # there may be a guard that lets one of them alone pass
    except Exception as error:
        text = _("The exporter of PyTorch, torch.export, does not take this model: {reason}.")
        raise SaveError(text, reason=brief(error)) from error
    held = (*program.state_dict.values(), *program.constants.values())
    needed = int(1.05 * sum(getattr(t, "nbytes", 0) for t in held)) + (1 << 16)
    if shutil.disk_usage(folder).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    program.example_inputs = None  # they would be pickled; the manifest has better ones
    return program


def _module_of(sample: Sample) -> Any:
    """The model, as a module that takes and returns flat tensors."""
    import torch

    model = _eager(sample.model)
    if sample.plain and isinstance(model, torch.nn.Module):
        return model
    flat = replace(sample, model=model).flat

    class Flat(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            found = flat(*tensors)
            return found[0] if len(found) == 1 else found

    return Flat()


@contextmanager
def _weights_only() -> Iterator[None]:
    """Torch's own switch against unpickling, which ``torch.export.load`` does by default."""
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    with _SWITCHING, _quiet():  # one thread must not take away the other's
        before = os.environ.get(name)
        os.environ[name] = "1"
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before


class Exported(TorchFormat):
    """A program of ``torch.export``."""

    name = "torch.export"
    risk = N_("Loading parses a program and can unpickle tensors of unusual kinds.")
    native = _NATIVE

    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        import torch

        program = _exported(sample, folder)
        with _quiet():
            torch.export.save(program, folder / "model.pt2")
        return {}

    def read(self, folder: Path, options: Options) -> Any:
        return self._program(folder).module()

    def _program(self, folder: Path) -> Any:
        import torch

        with _weights_only():
            return torch.export.load(folder / "model.pt2")

    def native_model(
        self, folder: Path, options: Options, inputs: Sequence[Raw], cache: Path
    ) -> Path:
        """The program compiled by AOTInductor, which is kept in the cache."""
        import torch

        from d2lhybrid.frameworks.torch.programs import compile_ahead
        from d2lhybrid.frameworks.torch.tensors import TENSORS

        find_compiler("C++", INDUCTOR)
        digest = hashlib.sha256((folder / "model.pt2").read_bytes())
        digest.update(repr((torch.__version__, processor())).encode())
        made = cache / "compiled" / f"{digest.hexdigest()[:24]}.pt2"
        if not made.exists():
            made.parent.mkdir(parents=True, exist_ok=True)
            program = self._program(folder)
            program.example_inputs = (tuple(TENSORS.from_raw(raw, options) for raw in inputs), {})
            working = made.with_name(f"{uuid.uuid4().hex}.pt2")
            try:
                compile_ahead(program, working)
                working.replace(made)
            finally:
                working.unlink(missing_ok=True)
        return made


class AOTInductor(TorchFormat):
    """A package of native code."""

    name = "aotinductor"
    risk = N_("It is native code that loading runs, with everything you may do.")
    note = N_("Compiled for this kind of processor and this version of torch.")
    native = _NATIVE

    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        from d2lhybrid.frameworks.torch.programs import compile_ahead

        find_compiler("C++", INDUCTOR)  # Inductor's own search ends in an error without advice
        program = _exported(sample, folder)
        program.example_inputs = (tuple(sample.larger or sample.inputs), {})
        compile_ahead(program, folder / "model.pt2")
        return processor()

    def read(self, folder: Path, options: Options) -> Any:
        import torch

        require_processor(options)
        with _weights_only():
            return torch._inductor.aoti_load_package(str(folder / "model.pt2"))

    def native_model(
        self, folder: Path, options: Options, inputs: Sequence[Raw], cache: Path
    ) -> Path:
        require_processor(options)
        return folder / "model.pt2"


class Onnx(TorchFormat):
    """An ONNX file, which ONNX Runtime runs."""

    name = "onnx"
    packages = ("torch", "onnx", "onnxruntime", "onnxscript")
    native = NativeProgram("onnx.c", PACKAGE, "-ldl", "model.onnx")

    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        import torch

        for package in ("onnx", "onnxscript"):
            require(package, "onnx")
        program = _exported(sample, folder)
        size = sum(t.nbytes for t in (*program.state_dict.values(), *program.constants.values()))
        names = {"input_names": sample.names, "output_names": sample.outputs}
        with _quiet():
            try:
                onnx = torch.onnx.export(program, dynamo=True, verbose=False, **names)
            except torch.onnx.OnnxExporterError as error:
                raise (error.__cause__ or error) from None  # its own text is a list of advice
            onnx.save(folder / "model.onnx", external_data=size > ONNX_LIMIT)
        session = open_session(folder / "model.onnx")
        names_there = (one.name for one in (*session.get_inputs(), *session.get_outputs()))
        return {"tensors": tuple(names_there)}

    def read(self, folder: Path, options: Options) -> Any:
        """ONNX Runtime behind torch tensors."""
        import torch

        session = open_session(folder / "model.onnx")
        names = [one.name for one in session.get_inputs()]

        def run(*inputs: Any) -> Any:
            arrays = (tensor.detach().cpu().numpy() for tensor in inputs)
            found = session.run(None, dict(zip(names, arrays, strict=True)))
            return tuple(map(torch.from_numpy, found))

        return run

    def native_flags(self, package: Path) -> str:
        return f"'-DONNXRUNTIME=\"{library_of(package)}\"'"


FORMATS: dict[str, Format] = {one.name: one for one in (Exported(), AOTInductor(), Onnx())}
