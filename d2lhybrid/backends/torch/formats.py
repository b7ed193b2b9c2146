"""The formats that PyTorch writes and reads. Each begins with a program of ``torch.export``.

What needs torch itself is imported where a model is written or read.
"""

import hashlib
import logging
import platform
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from d2lhybrid.backends.formats import (
    ExampleCall,
    Format,
    HostArrays,
    NativeProgram,
    Option,
    Options,
)
from d2lhybrid.core.errors import D2LHybridError, NativeRunError, UnsupportedArtifactError, brief
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.output import silent
from d2lhybrid.core.permissions import explain_unwritable
from d2lhybrid.core.toolchain import require
from d2lhybrid.core.variables import variable_set

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

    def function(self, model: Any) -> Any:
        from d2lhybrid.backends.torch.modules import eager

        model = eager(model)
        return getattr(model, "forward", model)

    def options(self, inputs: Sequence[Any]) -> dict[str, Option]:
        return {"device": str(inputs[0].device)} if inputs else {}


class Exported(TorchFormat):
    """A program of ``torch.export``."""

    name = "torch.export"
    risk = N_("Loading it parses a program and can unpickle unusual kinds of tensors.")
    native = _NATIVE

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        from d2lhybrid.backends.torch import export

        program = export.exported(example, folder)
        export.write_program(program, folder)
        return {"sizes": export.sizes(program)}

    def read(self, folder: Path, options: Options) -> Any:
        return self._program(folder).module()

    def _program(self, folder: Path) -> Any:
        """Read with torch's own switch against unpickling, which it does by default."""
        import torch

        with variable_set("TORCH_FORCE_WEIGHTS_ONLY_LOAD"), silent(logs=logging.WARNING):
            return torch.export.load(folder / "model.pt2")

    def native_model(self, folder: Path, options: Options, inputs: HostArrays, cache: Path) -> Path:
        """The program compiled by AOTInductor, which is kept in the cache."""
        from d2lhybrid.backends.torch import export

        _require_cpu(options)
        torch = require("torch", "torch")
        from d2lhybrid.backends.torch.device import from_host

        digest = hashlib.sha256((folder / "model.pt2").read_bytes())
        digest.update(repr((torch.__version__, processor())).encode())
        compiled = cache / "compiled" / digest.hexdigest()[:24]
        with explain_unwritable(compiled, "D2LHYBRID_CACHE"):
            compiled.mkdir(parents=True, exist_ok=True)
        if not (compiled / "model.pt2").exists():
            program = self._program(folder)
            program.example_inputs = (tuple(from_host(raw, options) for raw in inputs), {})
            try:
                export.compile_ahead(program, compiled)
            except D2LHybridError:
                raise
            except Exception as error:  # of the compiler, which says nothing of the file
                text, failure = "{failure}: {error}", _("Could not compile the program")
                raise NativeRunError(text, failure=failure, error=brief(error)) from error
        return compiled / "model.pt2"


class AOTInductor(TorchFormat):
    """A package of native code."""

    name = "aotinductor"
    risk = N_("Loading it runs native code with all of your permissions.")
    lasts = N_("Compiled for this kind of CPU and this version of torch.")
    native = _NATIVE

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        from d2lhybrid.backends.torch import export

        program = export.exported(example, folder)
        export.compile_ahead(program, folder)
        return processor() | {"sizes": export.sizes(program)}

    def read(self, folder: Path, options: Options) -> Any:
        from d2lhybrid.backends.torch import export

        require_processor(options)
        if reason := export.no_packages():
            text = _("Nothing was loaded: {reason}. Save the model as {format!r} instead.")
            raise UnsupportedArtifactError(text, reason=reason, format=Exported.name)
        with silent(logs=logging.WARNING):
            package = export.load_package(folder)
        # It looks at no strides, and was compiled for contiguous tensors.
        return lambda *inputs: package(*(x.resolve_neg().contiguous() for x in inputs))

    def native_model(self, folder: Path, options: Options, inputs: HostArrays, cache: Path) -> Path:
        _require_cpu(options)
        require_processor(options)
        return folder / "model.pt2"


def _require_cpu(options: Options) -> None:
    """Raise UnsupportedArtifactError if a program stays on another device; ours are on the CPU."""
    if (device := options.get("device", "cpu")) != "cpu":
        text = _(
            "Expected a model saved on the CPU, received one on {device!r}: load it in Python, or "
            "move the model to the CPU and save it again."
        )
        raise UnsupportedArtifactError(text, device=device)


CPUINFO = Path("/proc/cpuinfo")  # PyTorch names fewer sets than a compiler uses, and from 2.11 on
# Of all that Linux lists, what a compiler uses when it compiles for the machine that it is on.
_INSTRUCTIONS = re.compile(
    r"(s?sse|avx|amx|bmi|fma|sve|sme|asimd)\w*|fp(hp)?|v?aes|v?pclmulqdq|abm|adx|f16c|gfni|movbe|"
    "popcnt|sha_ni|atomics|bf16|crc32|fcma|i8mm|jscvt|lrcpc"
)


def processor() -> dict[str, Any]:
    """This machine's kind, and behind it its instruction sets where the system tells (Linux)."""
    words = CPUINFO.read_text().split() if CPUINFO.exists() else []
    names = sorted({*filter(_INSTRUCTIONS.fullmatch, words)})
    return {"processor": (platform.machine().lower(), *names)}


def require_processor(options: Options) -> None:
    """Raise UnsupportedArtifactError if code for the processor in `options` cannot run here.

    An instruction that a processor does not know would end the whole process.
    """
    needed, here = options.get("processor", ("?",)), processor()["processor"]
    if len(here) == 1:  # this system doesn't report its instruction sets, so the kind decides
        needed = needed[:1]
    if lacking := {*needed} - {*here}:
        text = _(
            "This model was compiled for a CPU with {instructions}, which this one lacks. Nothing "
            "was run; save the model again on this machine, or in a format that isn't compiled for "
            "a CPU."
        )
        raise UnsupportedArtifactError(text, instructions=", ".join(sorted(lacking)))


class Onnx(TorchFormat):
    """An ONNX file, which ONNX Runtime runs."""

    name = "onnx"
    packages = ("onnx", "onnxruntime", "onnxscript")
    unsupported = ("bfloat16",)  # ONNX Runtime gets and gives NumPy's arrays
    native = NativeProgram(
        "onnx.c", "onnxruntime", "-ldl '-DONNXRUNTIME=\"{1}\"'", "model.onnx",
        library="capi/libonnxruntime.*",
    )  # fmt: skip

    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        from d2lhybrid.backends.torch import export

        names = {"input_names": example.input_names, "output_names": example.output_names}
        program = export.exported(example, folder)
        export.write_onnx(program, folder, **names)
        session = export.open_session(folder)
        tensors = tuple(t.name for t in (*session.get_inputs(), *session.get_outputs()))
        return {"tensors": tensors, "sizes": export.sizes(program)}

    def read(self, folder: Path, options: Options) -> Any:
        """ONNX Runtime behind torch tensors."""
        import torch

        from d2lhybrid.backends.torch import export

        session = export.open_strangers_session(folder)
        names = [node.name for node in session.get_inputs()]

        def run(*inputs: Any) -> Any:
            arrays = (tensor.detach().cpu().numpy() for tensor in inputs)
            outputs = session.run(None, dict(zip(names, arrays, strict=True)))
            return tuple(map(torch.from_numpy, outputs))

        return run


FORMATS: dict[str, Format] = {chosen.name: chosen for chosen in (Exported(), AOTInductor(), Onnx())}
