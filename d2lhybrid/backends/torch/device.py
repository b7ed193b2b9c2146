"""Devices and tensors of PyTorch."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from operator import attrgetter
from typing import Any

import torch

from d2lhybrid.backends.base import tracing_text
from d2lhybrid.backends.defaults import device as defaults
from d2lhybrid.backends.torch.private import constant, cuda_context, is_tracing
from d2lhybrid.core.errors import TracingError
from d2lhybrid.core.host_array import HostArray, dtype_and_shape

has_unfinished_work = defaults.has_unfinished_work
is_started = defaults.is_started


def devices() -> list[str]:
    return ["cpu", *map(str, _devices_in_machine())]


def compute_on(device: str) -> float:
    ones = torch.ones(2, 2, device=device)
    return float((ones @ ones).sum())


def synchronize() -> None:
    in_dynamo = torch.compiler.is_dynamo_compiling() or torch.jit.is_tracing()
    if in_dynamo or (torch.compiler.is_compiling() and is_tracing()):
        raise TracingError(_tracing_text())
    for device in used():
        torch.accelerator.synchronize(device)


def wait_for(_output: Any) -> None:
    synchronize()


def may_return_early(tensor: Any) -> bool:
    return is_accelerated(tensor)


def start_clock() -> Callable[[], float] | None:
    started = [(device, _event(device)) for device in used()]
    return partial(_seconds_since, started) if started else None


def _seconds_since(started: list[tuple[torch.device, Any]]) -> float:
    milliseconds = 0.0
    for device, start in started:
        end = _event(device)
        end.synchronize()
        milliseconds = max(milliseconds, start.elapsed_time(end))
    return milliseconds / 1e3


def reset_peak_memory() -> None:
    for device in used("cuda"):
        torch.cuda.reset_peak_memory_stats(device)


def peak_memory_bytes() -> int | None:
    return sum(map(torch.cuda.max_memory_allocated, used("cuda"))) or None


def thread_count() -> int | None:
    return int(torch.get_num_threads())


def accelerators() -> list[str]:
    names = [torch.cuda.get_device_name(device) for device in used("cuda")]
    return names or [one.type for one in used()[:1]]


def is_tensor(obj: Any) -> bool:
    return isinstance(obj, torch.Tensor)


def is_accelerated(tensor: Any) -> bool:
    return bool(tensor.device.type != "cpu")


def to_host(tensor: Any) -> HostArray:
    plain = torch.as_tensor(tensor).detach().to("cpu", copy=True)
    if plain.is_quantized:
        plain = plain.dequantize()
    dtype, _shape = dtype_and_shape(plain)
    if plain.layout != torch.strided:
        plain = plain.to_dense()
    if "float8" in dtype:
        plain = plain.float()
    plain = plain.resolve_conj().resolve_neg().contiguous()
    if dtype == "bfloat16":
        return HostArray.of(plain.view(torch.int16).numpy().view("uint16"), dtype)
    return HostArray.of(plain.numpy(), dtype)


def from_host(host_array: HostArray, options: Mapping[str, Any]) -> Any:
    half = host_array.dtype == "bfloat16"
    tensor = torch.from_numpy((host_array.array.view("int16") if half else host_array.array).copy())
    return (tensor.view(torch.bfloat16) if half else tensor).to(options.get("device", "cpu"))


@constant  # or TorchDynamo would trace how a catalog is read
def _tracing_text() -> str:
    return tracing_text("PyTorch")


@cache
def _devices_in_machine() -> list[torch.device]:
    """The accelerators in this machine: of CUDA, MPS, XPU, ..."""
    found = torch.accelerator.current_accelerator(check_available=True)
    count = torch.accelerator.device_count() if found else 0
    return [torch.device(found.type, index) for index in range(count)]


def used(kind: str = "") -> list[torch.device]:
    """The accelerators of a kind that this process has used, and that may still have work.

    To ask CUDA about a device without a context would make one, which takes memory there.
    """
    found = [one for one in _devices_in_machine() if one.type == (kind or one.type)]
    return [one for one in found if one.type != "cuda" or cuda_context(one.index)]


def _event(device: torch.device) -> Any:
    event = torch.Event(device=device, enable_timing=True)
    event.record(torch.accelerator.current_stream(device))
    return event


def settings(with_threads: bool) -> Iterable[defaults.Setting]:
    yield torch.set_default_dtype, (torch.get_default_dtype(),)
    yield from _precisions()
    is_deterministic = torch.are_deterministic_algorithms_enabled()
    only_warns = torch.is_deterministic_algorithms_warn_only_enabled()
    yield partial(torch.use_deterministic_algorithms, warn_only=only_warns), (is_deterministic,)
    yield torch.set_grad_enabled, (torch.is_grad_enabled(),)
    for kind in ("cpu", "cuda"):
        if torch.is_autocast_enabled(kind):
            yield torch.set_autocast_dtype, (kind, torch.get_autocast_dtype(kind))
            yield torch.set_autocast_enabled, (kind, True)
    yield torch.backends.mha.set_fastpath_enabled, (torch.backends.mha.get_fastpath_enabled(),)
    for name in ("benchmark", "deterministic"):
        yield _set, ("cudnn", name, getattr(torch.backends.cudnn, name))
    cuda = torch.backends.cuda  # which kernels attention may use
    yield cuda.enable_flash_sdp, (cuda.flash_sdp_enabled(),)
    yield cuda.enable_mem_efficient_sdp, (cuda.mem_efficient_sdp_enabled(),)
    yield cuda.enable_cudnn_sdp, (cuda.cudnn_sdp_enabled(),)
    yield cuda.enable_math_sdp, (cuda.math_sdp_enabled(),)
    device = torch.get_default_device()
    if device != torch.device("cpu"):  # what is set is looked up at each call from then on
        yield torch.set_default_device, (device,)
    if with_threads:
        yield torch.set_num_threads, (torch.get_num_threads(),)


# What has a precision of its own in ``torch.backends``.
_PRECISE = (
    *("cuda.matmul", "cudnn.conv", "cudnn.rnn"),
    *("mkldnn.matmul", "mkldnn.conv", "mkldnn.rnn"),
)


def _precisions() -> Iterable[defaults.Setting]:
    """How exact products of float32 are: in all, or since PyTorch 2.9 in each library.

    What was set for a library alone, PyTorch refuses to tell in all.
    """
    backends = torch.backends
    try:
        precision, allows_tf32 = torch.get_float32_matmul_precision(), backends.cudnn.allow_tf32
    except RuntimeError:
        for part in _PRECISE:
            yield _set, (part, "fp32_precision", attrgetter(part)(backends).fp32_precision)
    else:
        yield torch.set_float32_matmul_precision, (precision,)
        yield _set, ("cudnn", "allow_tf32", allows_tf32)


def _set(part: str, name: str, value: Any) -> None:
    """Set something of a part of ``torch.backends``."""
    setattr(attrgetter(part)(torch.backends), name, value)
