"""JAX, and Flax on top of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import numerical_threads, threads_set
from d2lhybrid.frameworks.folder import (
    ExplainModule,
    FolderFramework,
    TrainingModule,
    VariantsModule,
)
from d2lhybrid.frameworks.jax.formats import FORMATS
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding


class JAX(FolderFramework):
    """JAX on the CPU, CUDA, ROCm or a TPU."""

    name = "jax"
    display = "JAX"
    converter = "jax.numpy.asarray"
    busy_bound = 9.5
    order = 3
    formats = FORMATS
    # Read when JAX first uses a GPU, of which it would otherwise take three quarters of the memory.
    environment: ClassVar[Mapping[str, str]] = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    compiles_operations = True
    knows_unfinished_work = True
    companions = ("flax",)

    def __init__(self) -> None:
        self._wait_for: Callable[[Any], None] | None = None

    def owns(self, packages: Collection[str]) -> bool:
        """Also if the class is jaxlib's, as those of arrays and compiled functions are."""
        family = {"jax", "jaxlib", "flax", "optax", "equinox"}
        return super().owns(packages) or not family.isdisjoint(packages)

    def devices(self) -> list[str]:
        self.import_part("device")
        from d2lhybrid.frameworks.jax import device

        return device.devices()

    def compute_on(self, device: str) -> float:
        self.import_part("device")
        from d2lhybrid.frameworks.jax import device as devices

        return devices.compute_on(device)

    def synchronize(self) -> None:
        from d2lhybrid.frameworks.jax import device

        device.synchronize()

    def wait_for(self, output: Any) -> None:
        if self._wait_for is None:  # looked up once: an import at each call would be measured
            from d2lhybrid.frameworks.jax import device

            self._wait_for = device.wait_for
        self._wait_for(output)

    def has_unfinished_work(self) -> bool:
        from d2lhybrid.frameworks.jax import device

        return device.has_unfinished_work()

    def reset_peak_memory(self) -> None:
        from d2lhybrid.frameworks.jax import device

        device.reset_peak_memory()

    def peak_memory_bytes(self) -> int | None:
        from d2lhybrid.frameworks.jax import device

        return device.peak_memory_bytes()

    def disk_cache_hits(self) -> int:
        from d2lhybrid.frameworks.jax import device

        return device.disk_cache_hits()

    def programs_compiled(self) -> int:
        """Each eager operation is a program, too, which JAX compiles when it first runs."""
        from d2lhybrid.frameworks.jax import device

        return device.programs_compiled()

    def switched_off(self) -> str:
        return "jax_disable_jit" if self.load().config.jax_disable_jit else ""

    def is_used(self) -> bool:
        return self.has_threads()  # Keras imports JAX, whatever its backend is

    def has_threads(self) -> bool:
        from d2lhybrid.frameworks.jax import device

        return device.has_threads()

    def accelerators(self) -> list[str]:
        from d2lhybrid.frameworks.jax import device

        return device.accelerators()

    def thread_count(self) -> int | None:
        return threads_set("NPROC")  # None: all cores

    def thread_variables(self, count: int) -> Mapping[str, str]:
        return {**numerical_threads(count), "NPROC": str(count)}

    def cache_variables(self, folder: Path) -> Mapping[str, str | None]:
        # Without a folder, JAX keeps nothing.
        return {**super().cache_variables(folder), "JAX_COMPILATION_CACHE_DIR": None}

    def is_tensor(self, obj: Any) -> bool:
        from d2lhybrid.frameworks.jax import device

        return device.is_tensor(obj)

    def is_accelerated(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.jax import device

        return device.is_accelerated(tensor)

    def to_host(self, tensor: Any) -> HostArray:
        from d2lhybrid.frameworks.jax import device

        return device.to_host(tensor)

    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        self.import_part("device")
        from d2lhybrid.frameworks.jax import device

        return device.from_host(host_array, options)

    def snapshot(self, parts: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        from d2lhybrid.frameworks.jax import device

        return device.snapshot(parts)

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        from d2lhybrid.frameworks.jax.modules import flax

        nnx = flax()
        return ((nnx.Pytree,), ()) if nnx else ((), ())  # whose constructors create all weights

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        from d2lhybrid.frameworks.jax import device

        return device.infer(model, args, kwargs)

    def warnings(self, model: Function, args: Args, kwargs: Kwargs) -> Iterable[str]:
        from d2lhybrid.frameworks.jax import device

        return device.warnings(model, args, kwargs)

    def donates(self, function: Function) -> bool:
        from d2lhybrid.frameworks.jax import modules, private

        return modules.is_jitted(function) and private.donates(function)

    def hint(self, error: Exception) -> str:
        from d2lhybrid.frameworks.jax import why

        return why.hint(error)

    def is_compiled(self, function: Function) -> bool:
        from d2lhybrid.frameworks.jax import why

        return why.is_compiled(function)

    def compiled_again(self, run: Callable[[], Any]) -> Finding | None:
        from d2lhybrid.frameworks.jax import why

        return why.compiled_again(run)

    def apart(self) -> None:
        """None: JAX keeps all programs in one cache."""

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        from d2lhybrid.frameworks.jax import why

        return why.first_call()

    def programs_run(self, run: Function) -> int | None:
        from d2lhybrid.frameworks.jax import why

        return why.programs_run(run)

    def why_not_compiled(self, function: Function) -> str:
        from d2lhybrid.frameworks.jax import why

        return why.why_not_compiled(function)

    def seconds_before(self, run: Function) -> float | None:
        from d2lhybrid.frameworks.jax import why

        return why.seconds_before(run)

    def eager_operation(self) -> Callable[[], Any]:
        from d2lhybrid.frameworks.jax import why

        return why.eager_operation()

    def eager_operations(self, explanation: Explanation) -> int | None:
        from d2lhybrid.frameworks.jax import why

        return why.eager_operations(explanation)


FRAMEWORK = JAX()

if TYPE_CHECKING:  # mypy compares the modules with what the class expects of them
    from d2lhybrid.frameworks.jax import explain, training, variants

    _MODULES: tuple[VariantsModule, TrainingModule, ExplainModule] = (variants, training, explain)
