"""The formats that PyTorch writes and reads."""

import hashlib
import sys
import uuid
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.compiler import INDUCTOR, find_compiler, has_compiler
from d2lhybrid.errors import ArtifactLoadError, SaveError
from d2lhybrid.frameworks.formats import Format, NativeProgram, Options, Sign, Written
from d2lhybrid.frameworks.onnxruntime import PACKAGE, numpy_callable, open_session
from d2lhybrid.frameworks.processor import processor, require_processor
from d2lhybrid.frameworks.samples import Sample
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.installing import require
from d2lhybrid.tensor import Raw, spec

ONNX_LIMIT = 1_900_000_000  # a protobuf file ends at 2 GB; weights go beside it from here on
_FLAGS = (
    "-std=c++20 -I{0}/include -I{0}/include/torch/csrc/api/include "
    "-L{0}/lib -Wl,-rpath,{0}/lib {keep}-ltorch -ltorch_cpu -lc10"
    # A compiled package asks for libtorch when it is opened, and finds it only if the program has
    # it already: so the linker must not drop it, although the program calls nothing in it.
).replace("{keep}", "" if sys.platform == "darwin" else "-Wl,--no-as-needed ")


def _program(source: str, model: str) -> NativeProgram:
    return NativeProgram(source, "torch", _FLAGS, model, ("tensors.h", "torch_tensors.h"))


def default_format(model: Any) -> str:
    import torch

    return "torchscript" if isinstance(model, torch.jit.ScriptModule) else "torch.export"


class TorchFormat(Format):
    """What PyTorch's formats share."""

    packages: ClassVar[tuple[str, ...]] = ("torch",)
    archive = True

    def function(self, model: Any) -> Any:
        from d2lhybrid.frameworks.torch.programs import eager

        model = eager(model)
        return getattr(model, "forward", model)

    def restorer(self, part: Any) -> Callable[[], None] | None:
        """The buffers, which a model may count or average in."""
        from d2lhybrid.frameworks.torch.programs import buffers_restorer

        return buffers_restorer(part)


class Exported(TorchFormat):
    """A program of ``torch.export``."""

    name = "torch.export"
    risk = N_("Loading parses a program and can unpickle tensors of unusual kinds.")
    file = "model.pt2"
    native = _program("aotinductor.cpp", "model.pt2")

    def write(self, sample: Sample, folder: Path) -> Written:
        import torch

        from d2lhybrid.frameworks.torch.programs import exported, options, quiet, reserve

        program, groups = exported(sample)
        reserve(sample.model, folder)
        program.example_inputs = None  # they would be pickled; the manifest has better ones
        with quiet():
            torch.export.save(program, folder / self.file)
        return Written(options(sample), groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        return self._program(folder).module()

    def _program(self, folder: Path) -> Any:
        import torch

        from d2lhybrid.frameworks.torch.programs import quiet, weights_only

        with weights_only(), quiet():
            return torch.export.load(folder / self.file)

    def native_model(
        self, folder: Path, options: Options, inputs: Sequence[Raw], cache: Path
    ) -> Path:
        """The program compiled by AOTInductor, which is kept in the cache."""
        import torch

        from d2lhybrid.frameworks.torch.programs import compile_ahead
        from d2lhybrid.frameworks.torch.tensors import TENSORS

        find_compiler("C++", INDUCTOR)
        digest = hashlib.sha256((folder / self.file).read_bytes())
        digest.update(repr((torch.__version__, processor())).encode())
        made = cache / "compiled" / f"{digest.hexdigest()[:24]}.pt2"
        if not made.exists():
            made.parent.mkdir(parents=True, exist_ok=True)
            program = self._program(folder)
            example = tuple(TENSORS.from_raw(raw, options) for raw in inputs)
            program.example_inputs = (example, {})
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
    file = "model.pt2"
    native = _program("aotinductor.cpp", "model.pt2")

    def may_hold(self, model: Any) -> bool:
        return has_compiler()

    def write(self, sample: Sample, folder: Path) -> Written:
        from d2lhybrid.frameworks.torch.programs import compile_ahead, exported, options, reserve

        find_compiler("C++", INDUCTOR)  # Inductor's own search ends in an error without advice
        program, groups = exported(sample)
        reserve(sample.model, folder, more=4 << 20)
        compile_ahead(program, folder / self.file)
        return Written({**options(sample), "processor": processor()}, groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        import torch

        from d2lhybrid.frameworks.torch.programs import quiet, weights_only

        with weights_only(), quiet():
            return torch._inductor.aoti_load_package(str(folder / self.file))

    def require(self, options: Options) -> None:
        require_processor(options)


class TorchScript(TorchFormat):
    """A TorchScript archive."""

    name = "torchscript"
    risk = N_("Loading runs the archive's own __setstate__ code.")
    note = N_(
        "TorchScript is deprecated since PyTorch 2.10 and ends with Python 3.14; "
        "torch.export and AOTInductor replace it."
    )
    file = "model.pt"
    signs = (Sign(".py", b"__setstate__", N_("code that runs at load (__setstate__)")),)
    native = _program("torchscript.cpp", "model.pt")

    def write(self, sample: Sample, folder: Path) -> Written:
        from d2lhybrid.frameworks.torch.programs import options, quiet, reserve, scripted

        reserve(sample.model, folder)
        with quiet():
            scripted(sample).save(str(folder / self.file))
        return Written(options(sample), sample.groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        import torch

        from d2lhybrid.frameworks.torch.programs import quiet

        with quiet():
            device = options.get("device", "cpu")
            return torch.jit.load(str(folder / self.file), map_location=device)


class Onnx(TorchFormat):
    """An ONNX file, which ONNX Runtime runs."""

    name = "onnx"
    packages = ("torch", "onnx", "onnxruntime", "onnxscript")
    file = "model.onnx"
    archive = False
    native = NativeProgram(
        "onnx.c", PACKAGE, "'-DONNXRUNTIME=\"{1}\"' -ldl", "model.onnx",
        library="capi/libonnxruntime.*",
    )  # fmt: skip

    def may_hold(self, model: Any) -> bool:
        return all(map(find_spec, self.packages))

    def write(self, sample: Sample, folder: Path) -> Written:
        import torch

        from d2lhybrid.frameworks.torch.programs import exported, options, quiet

        for package in ("onnx", "onnxscript"):
            require(package, "onnx")
        program, groups = exported(sample)
        size = sum(t.nbytes for t in (*program.state_dict.values(), *program.constants.values()))
        names = {"input_names": sample.names, "output_names": sample.outputs}
        with quiet():
            try:
                onnx = torch.onnx.export(program, dynamo=True, verbose=False, **names)
            except torch.onnx.OnnxExporterError as error:
                raise (error.__cause__ or error) from None  # its own text is a list of advice
            onnx.save(folder / self.file, external_data=size > ONNX_LIMIT)
        session = open_session(folder / self.file)
        theirs = [t.name for t in (*session.get_inputs(), *session.get_outputs())]
        return Written({**options(sample), "tensors": theirs}, groups)

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        """ONNX Runtime behind torch tensors."""
        import torch

        on_arrays = numpy_callable(folder / self.file)

        def run(*inputs: Any) -> Any:
            found = on_arrays(*(t.detach().cpu().numpy() for t in inputs))
            if isinstance(found, tuple):
                return tuple(map(torch.from_numpy, found))
            return torch.from_numpy(found)

        return run

    def read_alone(self, folder: Path, package: str) -> Any:
        return numpy_callable(folder / self.file) if package == PACKAGE else None


class Weights(TorchFormat):
    """The weights alone."""

    name = "safetensors"
    packages = ("torch", "safetensors")
    note = N_("Weights alone: load(path, into=model) puts them into a model that you build.")
    weights_only = True
    file = "model.safetensors"
    archive = False

    def write(self, sample: Sample, folder: Path) -> Written:
        from d2lhybrid.frameworks.torch.programs import options, weights_of

        library = require("safetensors.torch", "safetensors")
        library.save_model(weights_of(sample.model), str(folder / self.file))
        return Written(options(sample))

    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        """The weights by name; or, if `into` is a module, that module with the weights loaded."""
        from d2lhybrid.frameworks.torch.programs import eager

        library = require("safetensors.torch", "safetensors")
        if into is None:
            return library.load_file(str(folder / self.file))
        try:
            library.load_model(eager(into), str(folder / self.file))
        except RuntimeError as error:
            text = _(
                "Expected a module with the parameters that were saved, received a {kind} that "
                "differs: {error}"
            )
            raise ArtifactLoadError(text, kind=type(into).__name__, error=error) from error
        return into

    def differing(self, model: Any, folder: Path) -> str:
        """The first tensor in the file that is not the model's, in words."""
        import torch

        from d2lhybrid.frameworks.torch.programs import weights_of

        state = weights_of(model).state_dict()
        with require("safetensors", "safetensors").safe_open(folder / self.file, "pt") as file:
            for name in file.keys():  # noqa: SIM118  # it is no dictionary
                stored, mine = file.get_tensor(name), state[name].detach().cpu()
                bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (stored, mine)]
                if spec(stored) != spec(mine) or not torch.equal(*bits):
                    return _("{name!r} differs").format(name=name)
            if not file.keys():
                raise SaveError(_("The model has no weights, so there is nothing to save."))
        return ""


FORMATS: dict[str, Format] = {
    one.name: one for one in (Exported(), TorchScript(), AOTInductor(), Onnx(), Weights())
}
