"""Devices and tensors of a framework, as the rest of the package handles them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _

Function = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def tracing_text(framework: str) -> str:
    """What a TracingError says."""
    text = _(
        "Expected code that runs now. Received: code that {framework} is tracing, where no device "
        "works yet. Measure outside the compiled function, around its call."
    )
    return text.format(framework=framework)


class Tensors(ABC):
    """Devices and tensors of a framework that is imported."""

    @abstractmethod
    def devices(self) -> list[str]:
        """The devices that it can compute on, the CPU first, as the framework writes them."""

    @abstractmethod
    def compute_on(self, device: str) -> float:
        """Multiply two 2x2 matrices of ones on `device` and add up the product: 8.0."""

    @abstractmethod
    def synchronize(self) -> None:
        """Wait until every device has finished the work it was given.

        A device that has done nothing yet is left alone: waking it takes seconds and memory.

        Raises:
            TracingError: a graph is being traced, so there is no work to wait for.
        """

    def wait(self, output: Any) -> None:
        """Wait for the output of a call, and for what the same thread gave its device before.

        That is how one waits who uses the output; ``synchronize`` knows none, and may take longer.
        """
        self.synchronize()

    def is_busy(self) -> bool:
        """Is there work left that ``wait`` for an output did not wait for?"""
        return False

    def queues(self, tensor: Any) -> bool:
        """May a call return this tensor before it is computed?"""
        return True

    def start_events(self) -> Any:
        """Mark the beginning of a stretch of device work; None where there is no accelerator."""
        return None

    def device_seconds(self, started: Any) -> float | None:
        """Device time since `started`, which `start_events` returned; waits for the device."""
        return None

    def reset_peak(self) -> None:  # noqa: B027
        """Begin a new record of peak device memory."""

    def peak_bytes(self) -> int | None:
        """Peak device memory since `reset_peak`, over all devices; None where it is not known."""
        return None

    def has_threads(self) -> bool:
        """Has this process, or the one that forked it, started the threads that it works with?"""
        return False

    def threads(self) -> int | None:
        """How many threads one operation may use; None where the framework does not tell."""
        return None

    def accelerators(self) -> list[str]:
        """The models of the accelerators that it has used, such as 'NVIDIA H200'."""
        return []

    @abstractmethod
    def is_tensor(self, obj: Any) -> bool:
        """Is it a tensor of this framework, one that ``to_raw`` can copy?"""

    def is_accelerated(self, tensor: Any) -> bool:
        """Does the tensor come from an accelerator, not from the CPU?"""
        return False

    @abstractmethod
    def to_raw(self, tensor: Any) -> HostArray:
        """A copy of a tensor outside the framework."""

    @abstractmethod
    def from_raw(self, raw: HostArray, options: Mapping[str, Any]) -> Any:
        """The tensor inside the framework, on the device that `options` name."""

    def kept(self, models: Sequence[Any]) -> Iterable[Callable[[], Any]]:
        """What puts back, when it is called, all that running models changes beside their output.

        That is the framework's random state, where it can be read, and what its models among these
        hold that is no weight, such as running means.
        """
        return ()

    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any:
        """Run the model for inference, without dropout or gradients; what it returns."""
        return model(*args, **kwargs)
