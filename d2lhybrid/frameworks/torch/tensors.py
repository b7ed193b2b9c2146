"""Devices and tensors of PyTorch."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

from d2lhybrid.errors import TracingError
from d2lhybrid.frameworks.protocol import Args, Function, Kwargs, Tensors
from d2lhybrid.frameworks.torch.private import cuda_context
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw, spec


class TorchTensors(Tensors):
    """PyTorch on the CPU, CUDA, MPS or XPU."""

    def version(self) -> str:
        return str(torch.__version__)

    def devices(self) -> list[str]:
        kind = _accelerator()
        count = torch.accelerator.device_count() if kind else 0
        return ["cpu", *(f"{kind}:{index}" for index in range(count))]

    def compute_on(self, device: str) -> float:
        ones = torch.ones(2, 2, device=device)
        return float((ones @ ones).sum())

    def synchronize(self) -> None:
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            raise TracingError(_tracing_text())
        for device in _busy():
            torch.accelerator.synchronize(device)

    def queues(self, tensor: Any) -> bool:
        return bool(tensor.device.type != "cpu")

    def start_events(self) -> Any:
        return [(device, _event(device)) for device in _busy()] or None

    def device_seconds(self, started: Any) -> float | None:
        if started is None:
            return None
        milliseconds = 0.0
        for device, start in started:
            end = _event(device)
            end.synchronize()
            milliseconds = max(milliseconds, start.elapsed_time(end))
        return milliseconds / 1e3

    def reset_peak(self) -> None:
        for device in _busy_cuda():
            torch.cuda.reset_peak_memory_stats(device)

    def peak_bytes(self) -> int | None:
        return sum(map(torch.cuda.max_memory_allocated, _busy_cuda())) or None

    def threads(self) -> int | None:
        return torch.get_num_threads()

    def accelerators(self) -> list[str]:
        names = {device: torch.cuda.get_device_name(device) for device in _busy_cuda()}
        return list(names.values()) or [one.type for one in _busy()[:1]]

    def is_tensor(self, obj: Any) -> bool:
        return isinstance(obj, torch.Tensor)

    def to_raw(self, tensor: Any) -> Raw:
        plain = torch.as_tensor(tensor).detach().to("cpu", copy=True)
        dtype, _shape = spec(plain)
        if plain.layout != torch.strided:
            plain = plain.to_dense()
        if "float8" in dtype:
            plain = plain.float()
        plain = plain.resolve_conj().resolve_neg().contiguous()
        if dtype == "bfloat16":
            return Raw.of(plain.view(torch.int16).numpy().view("uint16"), dtype)
        return Raw.of(plain.numpy(), dtype)

    def from_raw(self, raw: Raw, options: Mapping[str, Any]) -> Any:
        if raw.dtype == "bfloat16":
            tensor = torch.from_numpy(raw.array.view("int16").copy()).view(torch.bfloat16)
        else:
            tensor = torch.from_numpy(raw.array.copy())
        return tensor.to(options.get("device", "cpu"))

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        with evaluating(model), torch.no_grad():
            return model(*args, **kwargs)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Inference mode for every module, and each one's own mode again afterwards."""
    modules = [one for one in getattr(model, "modules", tuple)() if one.training]
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        for module in modules:
            module.training = True


@torch.compiler.assume_constant_result  # Dynamo takes the text as it is: it traces no catalog
def _tracing_text() -> str:
    return _(
        "Expected code that runs now. Received: code that PyTorch is tracing, where no "
        "device works yet. Measure outside the compiled function, around its call."
    )


@cache
def _accelerator() -> str | None:
    """The kind of accelerator in this machine: cuda, mps, xpu, ... or None."""
    found = torch.accelerator.current_accelerator(check_available=True)
    return found.type if found else None


@torch.compiler.disable  # after a graph break, Dynamo would look into these functions too
def _busy() -> list[torch.device]:
    """The accelerators that have been used and may still have work."""
    kind = _accelerator()
    if kind == "cuda":
        return _busy_cuda()
    count = torch.accelerator.device_count() if kind else 0
    return [torch.device(str(kind), index) for index in range(count)]


@torch.compiler.disable
def _busy_cuda() -> list[torch.device]:
    """The CUDA devices with a context. Asking others for anything would make one: 300 MB each."""
    if not torch.cuda.is_initialized():
        return []
    indices = range(torch.cuda.device_count())
    return [torch.device("cuda", index) for index in indices if cuda_context(index)]


def _event(device: torch.device) -> Any:
    event = torch.Event(device=device, enable_timing=True)
    event.record(torch.accelerator.current_stream(device))
    return event


TENSORS = TorchTensors()
