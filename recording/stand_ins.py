"""Stand-ins for an accelerator, by framework: what needs a GPU runs without one.

Names and signatures are those of the framework, and the work is done on the CPU. So a run proves
that the code runs and that its names exist, and nothing about a GPU or about times. They are for a
whole process.
"""

import os
import resource
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any
from unittest import mock

# To sizes and programs that a CPU has done in no time, and to a device that there is.
SMALLER = {
    "262144": "64",
    "images(1024)": "images(4)",
    '"cuda"': '"cpu"',
    "range(1000)": "range(10)",
    '"aotinductor"': '"eager"',
}


def smaller(source: str) -> str:
    """Code of a notebook for a process with stand-ins."""
    for old, new in SMALLER.items():
        source = source.replace(old, new)
    return source


def stand_in(owner: Any, name: str, does: Callable[..., Any]) -> None:
    """Let a function or class be another one, with the names and signatures that it has."""
    mock.patch.object(owner, name, autospec=True, side_effect=does).start()


def pytorch() -> None:
    import torch
    import torch._inductor.compile_fx  # whose annotations want the classes themselves
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Recorded(TorchDispatchMode):
        """The calls that were recorded. What they computed meanwhile is nobody's to read."""

        def __init__(self) -> None:
            super().__init__()
            self.calls: list[Any] = []

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.calls.append((func, args, kwargs or {}, func(*args, **kwargs or {})))
            return self.calls[-1][-1]

        def made(self) -> Iterator[tuple[Any, Callable[[], Any]]]:
            """Each output beside what now computes it; a view of something else is none."""
            for func, args, kwargs, output in self.calls:
                places = [one.data_ptr() for one in tree_leaves(args) if torch.is_tensor(one)]
                for at, one in enumerate(tree_leaves(output)):
                    if one.data_ptr() not in places:
                        yield one, partial(again, partial(func, *args, **kwargs), at)

        def __exit__(self, *error: Any) -> None:
            super().__exit__(*error)
            for output, _recomputed in self.made():
                if output.is_floating_point():  # batch normalization also returns bytes
                    output.fill_(float("nan"))

        @torch.no_grad()
        def replay(self) -> None:
            for output, recomputed in self.made():
                output.copy_(recomputed())

    def again(call: Callable[[], Any], at: int) -> Any:
        return tree_leaves(call())[at]

    def recording(*args: Any, **kwargs: Any) -> Any:
        one = mock.create_autospec(graph_class, instance=True)
        one.recorded = Recorded()
        one.replay.side_effect = one.recorded.replay
        return one

    class Event:
        """As a class: PyTorch asks whether something is one. Its own shows no signature."""

        def __init__(self, device: Any = None, *, enable_timing: bool = False) -> None:
            self.at = 0.0

        def record(self, stream: Any = None) -> None:
            self.at = perf_counter()

        def elapsed_time(self, end_event: Any) -> float:
            return (end_event.at - self.at) * 1e3

        def synchronize(self) -> None:
            assert self.at, "an event that was not recorded"

    def outside(function: Any) -> Any:
        """What PyTorch itself asks, it is told the truth."""

        def asked(*args: Any, **kwargs: Any) -> bool:
            frame: Any = sys._getframe()
            while frame.f_code.co_filename in (__file__, mock.__file__, "<string>"):
                frame = frame.f_back
            return not frame.f_globals["__name__"].startswith("torch.")

        return asked

    graph_class, gpu = torch.cuda.CUDAGraph, torch.device("cuda", 0)
    stand_in(torch.cuda, "is_available", outside(torch.cuda.is_available))
    stand_in(torch.cuda, "is_initialized", outside(torch.cuda.is_initialized))
    if hasattr(torch._C, "_cuda_hasPrimaryContext"):  # in a build for CUDA; it shows no signature
        mock.patch.object(torch._C, "_cuda_hasPrimaryContext", return_value=True).start()
    stand_in(torch.cuda, "get_device_name", lambda *_: "stand-in")
    stand_in(torch.cuda, "reset_peak_memory_stats", lambda *_: None)
    stand_in(torch.cuda, "max_memory_allocated", lambda *_: peak())
    stand_in(torch.cuda, "CUDAGraph", recording)
    stand_in(torch.cuda, "graph", lambda one, *_, **__: one.recorded)
    stand_in(torch.accelerator, "current_accelerator", lambda *_, **__: gpu)
    stand_in(torch.accelerator, "device_count", lambda: 1)
    stand_in(torch.accelerator, "synchronize", lambda *_: None)
    stand_in(torch.accelerator, "current_stream", lambda *_: None)
    stand_in(torch.cuda, "synchronize", lambda *_: None)
    assert {one for one in vars(Event) if one[0] != "_"} <= {*dir(torch.Event)}
    torch.Event = torch.cuda.Event = Event


def tensorflow() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")
    stand_in(tf.config, "list_physical_devices", lambda *_: cpu)
    stand_in(tf.config, "list_logical_devices", lambda *_: cpu)
    experimental = tf.config.experimental
    stand_in(experimental, "get_device_details", lambda _device: {"device_name": "stand-in"})
    stand_in(experimental, "get_memory_info", lambda _device: {"current": 0, "peak": peak()})
    stand_in(experimental, "reset_memory_stats", lambda _device: None)


def jax() -> None:
    os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
    import jax

    _first, second = jax.devices()
    jax.config.update("jax_default_device", second)
    gpu = mock.create_autospec(second, instance=True, platform="gpu", device_kind="stand-in")
    stand_in(jax, "devices", lambda *_: [gpu])


def mxnet() -> None:
    from d2lhybrid import import_mxnet

    mx = import_mxnet()
    stand_in(mx.npx, "num_gpus", lambda: 1)
    stand_in(mx.npx, "gpu", lambda *_: mx.cpu(1))


def peak() -> int:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
