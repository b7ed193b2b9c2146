"""PyTorch."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import numerical_threads
from d2lhybrid.frameworks.cautions import in_training_mode
from d2lhybrid.frameworks.folder import (
    ExplainModule,
    FolderFramework,
    TrainingModule,
    VariantsModule,
)
from d2lhybrid.frameworks.torch.formats import FORMATS
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding


class PyTorch(FolderFramework):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    name = "torch"
    display = "PyTorch"
    converter = "torch.as_tensor"
    busy_bound = 1.6
    order = 1
    formats = FORMATS

    def devices(self) -> list[str]:
        self.import_part("device")
        from d2lhybrid.frameworks.torch import device

        return device.devices()

    def compute_on(self, device: str) -> float:
        self.import_part("device")
        from d2lhybrid.frameworks.torch import device as devices

        return devices.compute_on(device)

    def synchronize(self) -> None:
        from d2lhybrid.frameworks.torch import device

        device.synchronize()

    def may_return_early(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.torch import device

        return device.may_return_early(tensor)

    def start_events(self) -> Any:
        from d2lhybrid.frameworks.torch import device

        return device.start_events()

    def device_seconds(self, started: Any) -> float | None:
        from d2lhybrid.frameworks.torch import device

        return device.device_seconds(started)

    def reset_peak_memory(self) -> None:
        from d2lhybrid.frameworks.torch import device

        device.reset_peak_memory()

    def peak_memory_bytes(self) -> int | None:
        from d2lhybrid.frameworks.torch import device

        return device.peak_memory_bytes()

    def thread_count(self) -> int | None:
        from d2lhybrid.frameworks.torch import device

        return device.thread_count()

    def accelerators(self) -> list[str]:
        from d2lhybrid.frameworks.torch import device

        return device.accelerators()

    def start_compiler(self, function: Function) -> tuple[str, float | None]:
        from d2lhybrid.frameworks.torch import compilers

        return compilers.start(function)

    def disk_cache_hits(self) -> int:
        from d2lhybrid.frameworks.torch import private

        return private.disk_cache_hits()

    def programs_compiled(self) -> int | None:
        from d2lhybrid.frameworks.torch import private

        return private.graphs_made()

    def use_disk_cache(self, folder: Path) -> None:
        from d2lhybrid.frameworks.torch import private

        for name, path in self.cache_variables(folder).items():
            os.environ[name] = str(path)
        private.forget_programs()

    def thread_variables(self, count: int) -> Mapping[str, str]:
        return numerical_threads(count)

    def cache_variables(self, folder: Path) -> Mapping[str, str | None]:
        folders = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
        folders["PYTORCH_KERNEL_CACHE_PATH"] = "kernels"  # of operations on CUDA
        own = {name: str(folder / "torch" / part) for name, part in folders.items()}
        return {**super().cache_variables(folder), **own}

    def is_tensor(self, obj: Any) -> bool:
        from d2lhybrid.frameworks.torch import device

        return device.is_tensor(obj)

    def is_accelerated(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.torch import device

        return device.is_accelerated(tensor)

    def to_host(self, tensor: Any) -> HostArray:
        from d2lhybrid.frameworks.torch import device

        return device.to_host(tensor)

    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        self.import_part("device")
        from d2lhybrid.frameworks.torch import device

        return device.from_host(host_array, options)

    def snapshot(self, parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        from d2lhybrid.frameworks.torch import device

        return device.snapshot(parts)

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        import torch

        return (torch.nn.Module,), (torch.nn.Parameter,)

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        from d2lhybrid.frameworks.torch import device

        return device.infer(model, args, kwargs)

    def warnings(self, model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
        from d2lhybrid.frameworks.torch import parts

        return in_training_mode(model, parts.trained_layers(model), "net.eval()")

    def switched_off(self) -> str:
        from d2lhybrid.frameworks.torch import private

        return private.switched_off()

    def is_compiled(self, function: Function) -> bool:
        from d2lhybrid.frameworks.torch import parts

        return parts.is_compiled(function)

    def compiled_again(self, run: Callable[[], Any]) -> Finding | None:
        from d2lhybrid.frameworks.torch import why

        return why.compiled_again(run)

    def apart(self) -> AbstractContextManager[object] | None:
        from d2lhybrid.frameworks.torch import why

        return why.apart()

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        from d2lhybrid.frameworks.torch import why

        return why.first_call()

    def programs_run(self, run: Function) -> int | None:
        from d2lhybrid.frameworks.torch import why

        return why.programs_run(run)

    def why_not_compiled(self, function: Function) -> str:
        from d2lhybrid.frameworks.torch import why

        return why.why_not_compiled(function)

    def limit_reached(self, function: Function) -> str:
        from d2lhybrid.frameworks.torch import why

        return why.limit_reached(function)

    def eager_operations(self, explanation: Explanation) -> int | None:
        from d2lhybrid.frameworks.torch import why

        return why.eager_operations(explanation)

    def seconds_before(self, run: Function) -> float | None:
        from d2lhybrid.frameworks.torch import why

        return why.seconds_before(run)


FRAMEWORK = PyTorch()

if TYPE_CHECKING:  # mypy compares the modules with what the class expects of them
    from d2lhybrid.frameworks.torch import explain, training, variants

    _MODULES: tuple[VariantsModule, TrainingModule, ExplainModule] = (variants, training, explain)
