"""What d2lhybrid asks of a framework: one object that declares it, and what it can do.

``Framework`` costs no import of the framework; ``Tensors`` is what works once it is imported.
"""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from d2lhybrid.errors import ArgumentError, CannotBuildError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.tensor import Raw

if TYPE_CHECKING:
    from d2lhybrid.frameworks.explanation import Explanation
    from d2lhybrid.frameworks.formats import Format
    from d2lhybrid.frameworks.graph import Graph

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


class Lazy:
    """A callable that is built at its first call, so that building is part of its cold start.

    With `load`, it is compiled ahead of time: ``build()`` is what a release pays once, ``load()``
    what each process pays for what was built. Without, building belongs to the first call.
    What the framework warns of meanwhile (TorchScript's end, say) is no news to the reader.
    """

    def __init__(self, build: Callable[[], Any], load: Callable[[Any], Call] | None = None) -> None:
        self._build, self._load = build, load
        self._product: Any = None
        self.built: Call | None = None

    @property
    def ahead(self) -> bool:
        """Is it compiled ahead of time, so that building and loading are two things?"""
        return self._load is not None

    def anew(self) -> "Lazy":
        """The same, not yet built."""
        return Lazy(self._build, self._load)

    def build(self) -> None:
        """Compile ahead of time; nothing where it is not, or is done."""
        if self._load is not None and self._product is None and self.built is None:
            with _no_warnings():
                self._product = self._build()

    def load(self) -> Call:
        """The callable, loaded from what was built; what is missing is built first."""
        if self.built is None:
            self.build()
            with _no_warnings():
                self.built = self._load(self._product) if self._load else self._build()
        return self.built

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.built is None:
            with _no_warnings():
                return self.load()(*args, **kwargs)
        return self.built(*args, **kwargs)


@contextmanager
def _no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class Variant:
    """One way to run a model: what runs it, or why nothing can; and how to write it by hand.

    `code` computes ``y`` from ``net`` and ``x``, which stands for the model's arguments.
    """

    run: Call | str
    code: str = ""


@dataclass(frozen=True)
class Layer:
    """A dense layer: ``activation(x @ weight + bias)``, in float32.

    `weight` has the shape (inputs, outputs); `activation` is "", or a name from ``ACTIVATIONS``.
    """

    weight: np.ndarray
    bias: np.ndarray
    activation: str = ""


FIRST_STEPS = 3  # of a training: those whose losses are compared
ACTIVATIONS = ("relu", "sigmoid", "tanh")


class Timed(ABC):
    """A callable that another process runs, and whose clock is there, too."""

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output."""

    @abstractmethod
    def timed(self, calls: int, wait_each: bool) -> float:
        """Seconds of so many calls with the latest arguments, on the other process's clock.

        With `wait_each`, each call is waited for; otherwise the last one.
        """


class Framework(ABC):
    """One framework; making the object imports nothing.

    What a framework can do stands in modules beside the one that defines its class: ``TENSORS``
    in ``tensors``, ``variants`` in ``variants``, ``FORMATS`` and ``default_format`` in ``formats``,
    ``explain`` in ``explain``, ``graphs`` in ``graphs``. A subclass may override the properties
    and methods instead.
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
        self, net: Call, args: Args, kwargs: Kwargs, everything: bool, options: Kwargs
    ) -> dict[str, Variant]:
        """Each way to run ``net(*args, **kwargs)``, by name; with `everything`, what experts use.

        `options` are for the compiler; ArgumentError where this one has no such option.
        """
        found: dict[str, Variant] = self._part("variants").variants(
            net, args, kwargs, everything, options
        )
        return found

    def training(
        self, net: Call, loss: Call, optimizer: Any, inputs: Args, target: Any
    ) -> dict[str, Variant]:
        """Each way to train `net` by one step; calls take nothing and return the first losses."""
        found: dict[str, Variant] = self._part("training").training(
            net, loss, optimizer, inputs, target
        )
        return found

    def layers(self, net: Call) -> list[Layer] | None:
        """The dense layers of a model that is nothing else; None for any other."""
        found: list[Layer] | None = self._part("layers").layers(net)
        return found

    def explain(self, model: Call, args: Args, kwargs: Kwargs) -> "Explanation":
        """What its compiler makes of ``model(*args, **kwargs)``."""
        found: Explanation = self._part("explain").explain(model, args, kwargs)
        return found

    def graphs(self, model: Call, args: Args, kwargs: Kwargs) -> "Sequence[Graph]":
        """The graphs that ``model(*args, **kwargs)`` takes, at each stage of its compiler.

        Raises:
            ArgumentError: the room has no ``graphs``.
        """
        if find_spec(f"{type(self).__module__}.graphs") is None:
            text = _(
                "Expected a model of a framework whose graphs d2lhybrid can show. Received: one of "
                "{framework}."
            )
            raise ArgumentError(text.format(framework=self.display))
        found: Sequence[Graph] = self._part("graphs").graphs(model, args, kwargs)
        return found

    def _part(self, name: str) -> Any:
        return import_module(f"{type(self).__module__}.{name}")


def keras_backend() -> str:
    """The name of the framework that Keras computes with in this process."""
    return str(import_module("keras").config.backend())


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
