"""What d2lhybrid asks of a framework; one subclass a framework, each in a file of its own."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar


class Adapter(ABC):
    """A framework that is already imported."""

    name: ClassVar[str]

    @abstractmethod
    def version(self) -> str:
        """The framework's version."""

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
