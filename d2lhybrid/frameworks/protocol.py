"""What d2lhybrid asks of a framework: one object that declares it, and what it can do.

``Framework`` costs no import of the framework; ``Tensors`` is what works once it is imported.
"""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from d2lhybrid.errors import CannotBuildError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw

if TYPE_CHECKING:
    from d2lhybrid.frameworks.explanation import Explanation
    from d2lhybrid.frameworks.formats import Format

Call = Callable[..., Any]
Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Tensors(ABC):
    """Devices and tensors of a framework that is imported."""

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
    def is_tensor(self, obj: Any) -> bool:
        """Is it a tensor of this framework, one that ``to_raw`` can copy?"""

    @abstractmethod
    def to_raw(self, tensor: Any) -> Raw:
        """A copy of a tensor outside the framework."""

    @abstractmethod
    def from_raw(self, raw: Raw, options: Mapping[str, Any]) -> Any:
        """The tensor inside the framework, on the device that `options` name."""

    @abstractmethod
    def doubled(self, tensor: Any, axis: int = 0) -> Any:
        """The tensor twice along an axis; a scalar stays as it is."""

    @abstractmethod
    def infer(self, model: Call, args: Args, kwargs: Kwargs) -> Any:
        """Run the model for inference, without dropout or gradients; what it returns."""

    def is_training(self, model: Any) -> bool:
        """Is the model in training mode, where dropout is on?"""
        return getattr(model, "training", None) is True


class Framework(ABC):
    """One framework; making the object imports nothing.

    What a framework can do stands in modules beside the one that defines its class: ``TENSORS``
    in ``tensors``, ``variants`` in ``variants``, ``FORMATS`` and ``default_format`` in ``formats``,
    ``explain`` in ``explain``. A subclass may override the properties and methods instead.
    """

    name: ClassVar[str]  # in records and manifests; for most, what Python imports
    display: ClassVar[str]  # for people
    packages: ClassVar[tuple[str, ...]]  # as pip may call what is installed
    extra: ClassVar[str]  # of d2lhybrid, that installs it
    order: ClassVar[int] = 100  # among the frameworks, where they are listed

    @property
    def module(self) -> str:
        """What Python imports."""
        return self.name

    def owns(self, packages: Collection[str]) -> bool:
        """Does something whose classes come from these top-level packages belong to it?"""
        if "keras" in packages:
            return keras_backend() == self.name
        return self.module in packages

    def load(self) -> Any:
        """Import the framework and return it."""
        return import_module(self.module)

    @cached_property
    def tensors(self) -> Tensors:
        """Its devices and tensors; imports the framework."""
        self.load()
        found: Tensors = self._part("tensors").TENSORS
        return found

    @property
    def formats(self) -> "Mapping[str, Format]":
        """The formats that it writes and reads, by name; imports nothing."""
        found: Mapping[str, Format] = self._part("formats").FORMATS
        return found

    def default_format(self, model: Any) -> str:
        """The best format for this model today."""
        return str(self._part("formats").default_format(model))

    def variants(
        self, net: Call, args: Args, kwargs: Kwargs, **options: Any
    ) -> dict[str, Call | str]:
        """Each way to run ``net(*args, **kwargs)``, by name: a callable, or why there is none."""
        found: dict[str, Call | str] = self._part("variants").variants(net, args, kwargs, **options)
        return found

    def explain(self, model: Call, args: Args, kwargs: Kwargs) -> "Explanation":
        """What its compiler makes of ``model(*args, **kwargs)``."""
        found: Explanation = self._part("explain").explain(model, args, kwargs)
        return found

    def _part(self, name: str) -> Any:
        return import_module(f"{type(self).__module__}.{name}")


def keras_backend() -> str:
    """The name of the framework that Keras computes with in this process."""
    return str(import_module("keras").config.backend())


class Lazy:
    """A callable that is built at its first call, so that building is part of its cold start.

    What the framework warns of meanwhile (TorchScript's end, say) is no news to the reader.
    """

    def __init__(self, build: Callable[[], Call]) -> None:
        self._build = build
        self.built: Call | None = None

    def anew(self) -> "Lazy":
        """The same, not yet built."""
        return Lazy(self._build)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.built is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.built = self._build()
                return self.built(*args, **kwargs)
        return self.built(*args, **kwargs)


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
