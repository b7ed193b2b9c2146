"""TensorFlow, and Keras on top of it."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import numerical_threads
from d2lhybrid.frameworks.folder import (
    ExplainModule,
    FolderFramework,
    TrainingModule,
    VariantsModule,
)
from d2lhybrid.frameworks.tensorflow.formats import FORMATS
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding


class TensorFlow(FolderFramework):
    """TensorFlow on the CPU or CUDA."""

    name = "tensorflow"
    display = "TensorFlow"
    converter = "tf.convert_to_tensor"
    inference = "net(x, training=False)"
    busy_bound = 3.9
    order = 2
    formats = FORMATS
    # TensorFlow reads its own when it first uses a GPU, of which it would otherwise take all the
    # memory. JAX, which Keras imports, would take three quarters.
    environment: ClassVar[Mapping[str, str]] = {
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }

    def load(self) -> Any:
        """Import TensorFlow, and before it Triton if it is installed, as PyTorch for GPUs has it.

        Both contain an LLVM that registers its options with the process. If TensorFlow comes first,
        Triton aborts the process when PyTorch first compiles.
        """
        if "tensorflow" not in sys.modules:
            with suppress(ImportError):
                import_module("triton")
        return super().load()

    def devices(self) -> list[str]:
        self.import_part("device")
        from d2lhybrid.frameworks.tensorflow import device

        return device.devices()

    def compute_on(self, device: str) -> float:
        self.import_part("device")
        from d2lhybrid.frameworks.tensorflow import device as devices

        return devices.compute_on(device)

    def synchronize(self) -> None:
        from d2lhybrid.frameworks.tensorflow import device

        device.synchronize()

    def may_return_early(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.tensorflow import device

        return device.may_return_early(tensor)

    def reset_peak_memory(self) -> None:
        from d2lhybrid.frameworks.tensorflow import device

        device.reset_peak_memory()

    def peak_memory_bytes(self) -> int | None:
        from d2lhybrid.frameworks.tensorflow import device

        return device.peak_memory_bytes()

    def has_threads(self) -> bool:
        from d2lhybrid.frameworks.tensorflow import device

        return device.has_threads()

    def thread_count(self) -> int | None:
        from d2lhybrid.frameworks.tensorflow import device

        return device.thread_count()

    def accelerators(self) -> list[str]:
        from d2lhybrid.frameworks.tensorflow import device

        return device.accelerators()

    def thread_variables(self, count: int) -> Mapping[str, str]:
        return {
            **numerical_threads(count),
            "TF_NUM_INTRAOP_THREADS": str(count),
            "TF_NUM_INTEROP_THREADS": str(count),
        }

    def is_tensor(self, obj: Any) -> bool:
        from d2lhybrid.frameworks.tensorflow import device

        return device.is_tensor(obj)

    def is_accelerated(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.tensorflow import device

        return device.is_accelerated(tensor)

    def to_host(self, tensor: Any) -> HostArray:
        from d2lhybrid.frameworks.tensorflow import device

        return device.to_host(tensor)

    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        self.import_part("device")
        from d2lhybrid.frameworks.tensorflow import device

        return device.from_host(host_array, options)

    def snapshot(self, parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        from d2lhybrid.frameworks.tensorflow import device

        return device.snapshot(parts)

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        from d2lhybrid.frameworks.tensorflow import modules

        return (*modules.MODULES, modules.SEEDS), modules.VARIABLES

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        from d2lhybrid.frameworks.tensorflow import device

        return device.infer(model, args, kwargs)

    def unchanged(
        self, model: Function, args: Args, kwargs: Kwargs
    ) -> AbstractContextManager[object]:
        self.import_part("modules")
        from d2lhybrid.frameworks.tensorflow import modules

        return modules.unchanged(model, args, kwargs)

    def warnings(self, model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
        from d2lhybrid.frameworks.tensorflow import device

        return device.warnings(model, args, kwargs)

    def programs_compiled(self) -> int | None:
        """The traces since this was first asked.

        XLA may compile one of them many times, which no counter shows.
        """
        from d2lhybrid.frameworks.tensorflow import why

        return why.traces_made()

    def is_compiled(self, function: Function) -> bool:
        self.import_part("modules")
        from d2lhybrid.frameworks.tensorflow import modules

        return bool(modules.compiled_in(function))

    def compiled_again(self, run: Callable[[], Any]) -> Finding | None:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.compiled_again(run)

    def apart(self) -> AbstractContextManager[object]:
        from d2lhybrid.frameworks.tensorflow import private

        return private.apart()

    def compiled_again_apart(self, model: Function, args: Args, kwargs: Kwargs) -> Finding | None:
        """Not asked of what is compiled itself, because the same arguments find their trace."""
        self.import_part("modules")
        from d2lhybrid.frameworks.tensorflow import modules

        is_asked = not modules.is_compiled_itself(model)
        return super().compiled_again_apart(model, args, kwargs) if is_asked else None

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.first_call()

    def programs_run(self, run: Function) -> int | None:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.programs_run(run)

    def why_not_compiled(self, function: Function) -> str:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.why_not_compiled(function)

    def seconds_before(self, run: Function) -> float | None:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.seconds_before(run)

    def eager_operations(self, explanation: Explanation) -> int | None:
        self.import_part("why")
        from d2lhybrid.frameworks.tensorflow import why

        return why.eager_operations(explanation)


FRAMEWORK = TensorFlow()

if TYPE_CHECKING:  # mypy compares the modules with what the class expects of them
    from d2lhybrid.frameworks.tensorflow import explain, training, variants

    _MODULES: tuple[VariantsModule, TrainingModule, ExplainModule] = (variants, training, explain)
