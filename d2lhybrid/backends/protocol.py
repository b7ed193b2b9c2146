"""What d2lhybrid asks of a framework; one subclass a framework, each in a file of its own."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.i18n import gettext as _


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

    def flush_cache(self) -> None:  # noqa: B027
        """Fill the accelerator's last-level cache with something else; nothing without one."""

    def threads(self) -> int | None:
        """How many threads one operation may use; None where the framework does not tell."""
        return None

    def accelerators(self) -> list[str]:
        """The models of the accelerators that it has used, such as 'NVIDIA H200'."""
        return []

    @abstractmethod
    def places(self, obj: Any) -> set[str]:
        """The devices of a tensor, or of a model's parameters; empty where it does not matter."""

    @abstractmethod
    def to_numpy(self, tensor: Any) -> tuple[np.ndarray, str]:
        """A copy of a tensor, and its own dtype's name; bfloat16 comes as float32."""


class Lazy:
    """A callable that is built at its first call, so that building is part of its cold start.

    What the framework warns of meanwhile (TorchScript's end, say) is no news to the reader.
    """

    def __init__(self, build: Callable[[], Callable[..., Any]]) -> None:
        self._build = build
        self.built: Callable[..., Any] | None = None

    def anew(self) -> "Lazy":
        """The same, not yet built."""
        return Lazy(self._build)

    def __call__(self, *args: Any) -> Any:
        if self.built is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.built = self._build()
                return self.built(*args)
        return self.built(*args)


def copied(net: Any, shared: dict[int, Any]) -> Any:
    """A copy of a model, without what it shares with the copy, by id.

    Raises:
        CannotBuildError: Something in the model cannot be copied, such as a lock or an open file.
    """
    try:
        return copy.deepcopy(net, shared)
    except Exception as error:
        text = _(
            "Expected a model that can be copied, so that yours stays as it is. Received: {error}: "
            "{said}. Take out of it what cannot be copied, or compare functions: {example}."
        )
        example = "compare({'eager': net, 'compiled': ...}, x)"
        raise CannotBuildError(
            text.format(error=type(error).__name__, said=error, example=example)
        ) from error
