"""MXNet and Gluon."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.frameworks.base import numerical_threads, threads_set
from d2lhybrid.frameworks.folder import (
    ExplainModule,
    FolderFramework,
    TrainingModule,
    VariantsModule,
)
from d2lhybrid.frameworks.mxnet.compat import import_mxnet, programs_compiled
from d2lhybrid.frameworks.mxnet.formats import FORMATS
from d2lhybrid.frameworks.variant import Args, Function, Kwargs
from d2lhybrid.graphs.explanation import Explanation, Finding


class MXNet(FolderFramework):
    """MXNet on the CPU or CUDA."""

    name = "mxnet"
    display = "MXNet"
    converter = "mx.nd.array"
    inference = "with autograd.predict_mode(): ..."
    busy_bound = 2.5
    order = 9
    formats = FORMATS

    def load(self) -> Any:
        """Import MXNet 1.9.1 so that it runs on today's NumPy."""
        return import_mxnet()

    def devices(self) -> list[str]:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device

        return device.devices()

    def compute_on(self, device: str) -> float:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device as devices

        return devices.compute_on(device)

    def synchronize(self) -> None:
        from d2lhybrid.frameworks.mxnet import device

        device.synchronize()

    def programs_compiled(self) -> int | None:
        return programs_compiled()

    def thread_count(self) -> int | None:
        return threads_set("OMP_NUM_THREADS")  # it does not tell what else it may use

    def thread_variables(self, count: int) -> Mapping[str, str]:
        return {**numerical_threads(count), "MXNET_CPU_WORKER_NTHREADS": "1"}

    def is_tensor(self, obj: Any) -> bool:
        from d2lhybrid.frameworks.mxnet import device

        return device.is_tensor(obj)

    def is_accelerated(self, tensor: Any) -> bool:
        from d2lhybrid.frameworks.mxnet import device

        return device.is_accelerated(tensor)

    def to_host(self, tensor: Any) -> HostArray:
        from d2lhybrid.frameworks.mxnet import device

        return device.to_host(tensor)

    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any:
        self.import_part("device")
        from d2lhybrid.frameworks.mxnet import device

        return device.from_host(host_array, options)

    def classes(self) -> tuple[tuple[type, ...], tuple[type, ...]]:
        gluon = self.load().gluon
        return (gluon.Block,), (gluon.Parameter,)

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        from d2lhybrid.frameworks.mxnet import device

        return device.infer(model, args, kwargs)

    def is_compiled(self, function: Function) -> bool:
        from d2lhybrid.frameworks.mxnet import modules

        return modules.is_hybridized(function)

    def first_call(self) -> AbstractContextManager[Callable[[], Explanation | None]]:
        from d2lhybrid.frameworks.mxnet import why

        return why.first_call()

    def programs_run(self, run: Function) -> int | None:
        from d2lhybrid.frameworks.mxnet import why

        return why.programs_run(run)

    def why_not_compiled(self, function: Function) -> str:
        from d2lhybrid.frameworks.mxnet import why

        return why.why_not_compiled(function)

    def compiled_again(self, run: Callable[[], Any]) -> Finding | None:
        from d2lhybrid.frameworks.mxnet import why

        return why.compiled_again(run)

    def apart(self) -> AbstractContextManager[object]:
        from d2lhybrid.frameworks.mxnet import why

        return why.graphs_put_back()

    def seconds_before(self, run: Function) -> float | None:
        from d2lhybrid.frameworks.mxnet import why

        return why.seconds_before(run)


FRAMEWORK = MXNet()

if TYPE_CHECKING:  # mypy compares the modules with what the class expects of them
    from d2lhybrid.frameworks.mxnet import explain, training, variants

    _MODULES: tuple[VariantsModule, TrainingModule, ExplainModule] = (variants, training, explain)
