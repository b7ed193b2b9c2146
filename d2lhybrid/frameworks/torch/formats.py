"""The formats that PyTorch writes and reads. Each begins with a program of ``torch.export``."""

import hashlib
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.compiler import INDUCTOR, find_compiler
from d2lhybrid.frameworks.formats import Format, NativeProgram, Option, Options, Sample
from d2lhybrid.frameworks.onnxruntime import LIBRARY, PACKAGE, open_session
from d2lhybrid.frameworks.processor import processor, require_processor
from d2lhybrid.i18n import noop as N_
from d2lhybrid.quieting import silent
from d2lhybrid.tensor import Raw

# What torch's exporters say about themselves, such as deprecations inside torch.
_quiet = partial(silent, logs=logging.WARNING)
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
        model = _eager(model)
        buffers = list(model.buffers()) if hasattr(model, "buffers") else []
        kept = [buffer.detach().clone() for buffer in buffers]

        def restore() -> None:
            for buffer, value in zip(buffers, kept, strict=True):
                buffer.detach().copy_(value)

        return restore


def _eager(model: Any) -> Any:
    from d2lhybrid.frameworks.torch.programs import eager

    return eager(model)


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

        from d2lhybrid.frameworks.torch.programs import exported

        program = exported(sample, folder)
        program.example_inputs = None  # they would be pickled; the manifest has better ones
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
            compile_ahead(program, made)
        return made


class AOTInductor(TorchFormat):
    """A package of native code."""

    name = "aotinductor"
    risk = N_("It is native code that loading runs, with everything you may do.")
    note = N_("Compiled for this kind of processor and this version of torch.")
    native = _NATIVE

    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        from d2lhybrid.frameworks.torch.programs import compile_ahead, exported

        find_compiler("C++", INDUCTOR)  # Inductor's own search ends in an error without advice
        compile_ahead(exported(sample, folder), folder / "model.pt2")
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
    native = NativeProgram(
        "onnx.c", PACKAGE, "-ldl '-DONNXRUNTIME=\"{1}\"'", "model.onnx", library=LIBRARY
    )

    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        from d2lhybrid.frameworks.torch.programs import exported, write_onnx

        names = {"input_names": sample.names, "output_names": sample.outputs}
        write_onnx(exported(sample, folder), folder / "model.onnx", **names)
        session = open_session(folder / "model.onnx")
        return {"tensors": tuple(t.name for t in (*session.get_inputs(), *session.get_outputs()))}

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


FORMATS: dict[str, Format] = {one.name: one for one in (Exported(), AOTInductor(), Onnx())}
