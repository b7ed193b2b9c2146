"""What d2lhybrid asks of a framework: one object that declares it, and what it can do.

``Framework`` costs no import of the framework; ``Tensors`` and ``Room`` are what works once it is
imported.
"""

import copy
import os
import shutil
import sys
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.output import silent
from d2lhybrid.core.toolchain import import_uninterrupted
from d2lhybrid.frameworks.device import Args, Function, Kwargs, Tensors as Tensors
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.graphs.explanation import Explanation, Graph


class Folder:
    """A new folder at `path`, deleted when this object is; TemporaryDirectory would warn of it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="d2lhybrid-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class WithCompilerNote:
    """What ``DeferredBuild`` may build: a callable, and what there is to say of it after a call."""

    run: Function
    note: Callable[[], str]


class SelfTimed(ABC):
    """A callable that runs elsewhere, say in a program of its own, and has a clock there."""

    @abstractmethod
    def __call__(self, *args: Any) -> Any:
        """Run once."""

    @abstractmethod
    def timed(self, calls: int) -> float:
        """The seconds of so many calls with the latest arguments."""


class DeferredBuild:
    """A callable that is built at its first call, so that building is part of its cold start.

    With `load`, it is compiled ahead of time: ``build()`` is what a release pays once, ``load()``
    what each process pays for what was built. Without, building belongs to the first call.
    `require_loads` raises CannotBuildError for what was built if loading would end this process.
    What the framework warns of meanwhile (TorchScript's end, say) is no news to the reader.
    """

    def __init__(
        self,
        build: Callable[[], Any],
        load: Function | None = None,
        require_loads: Callable[[Any], None] = lambda _product: None,
    ) -> None:
        self._build, self._load, self._require_loads = build, load, require_loads
        self.ahead = load is not None
        self._loads = False  # is it known that it does?
        self._product: Any = None
        self.built: Function | None = None
        self.note: Callable[[], str] = str  # what there is to say of it after a call
        self.among: list[Any] = []  # the Variants that it has been one of

    def anew(self) -> "DeferredBuild":
        """The same, not yet built."""
        return DeferredBuild(self._build, self._load, self._require_loads)

    def build(self) -> None:
        """Build it, unless that is done."""
        if self._product is None:
            with silent():
                self._product = self._build()

    def require_loads(self) -> None:
        """Raise CannotBuildError if loading it would end this process; else ``load`` may follow.

        To find out is no part of what building or loading costs.
        """
        self.build()
        if not self._loads:
            self._require_loads(self._product)
            self._loads = True

    def load(self) -> Function:
        """The callable, loaded from what was built, which is done first where it is not."""
        if self.built is None:
            self.require_loads()
            with silent():
                made: Any = self._load(self._product) if self._load else self._product
            if isinstance(made, WithCompilerNote):
                made, self.note = made.run, made.note
            self.built = made
        return self.built

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.built is None:
            with silent():
                return self.load()(*args, **kwargs)
        return self.built(*args, **kwargs)


@dataclass(frozen=True)
class Variant:
    """One way to run a model: what runs it, or why nothing can; and how to write it by hand.

    `code` computes ``y`` from ``net`` and ``x``, which stands for the model's arguments.
    `deprecated`: its makers have deprecated it, so it is shown and never recommended.
    """

    run: Function | str
    code: str = ""
    deprecated: bool = False


@dataclass(frozen=True)
class Layer:
    """A dense layer: ``activation(x @ weight + bias)``, in float32.

    `weight` has the shape (inputs, outputs); `activation` is "", or a name from ``ACTIVATIONS``.
    """

    weight: np.ndarray
    bias: np.ndarray
    activation: str = ""


ACTIVATIONS = ("relu", "sigmoid", "tanh")


def chain(parts: Iterable[Layer | str | None]) -> list[Layer] | None:
    """The dense layers with the activations that follow them; None if there is anything else.

    A part is a layer, the name of an activation, "" for what does nothing, or None for the rest.
    """
    found: list[Layer] = []
    for part in parts:
        if isinstance(part, Layer):
            found.append(part)
        elif part in ACTIVATIONS and found and not found[-1].activation:
            found[-1] = replace(found[-1], activation=part)
        elif part != "":
            return None
    return found or None


FIRST_STEPS = 3  # of a training: those whose losses are compared


class TrainingStep:
    """A step of training that returns the losses of the first ones, whenever it is called.

    So what it returns does not tell when it is done.
    """

    def __init__(self, step: Function, stack: Function) -> None:
        """`stack` makes a tensor of the losses."""
        self._step, self._stack = step, stack
        self._first: Any = None

    def __call__(self) -> Any:
        if self._first is None:
            self._first = self._stack([self._step() for _turn in range(FIRST_STEPS)])
        else:
            self._step()
        return self._first


VariantsByName = dict[str, Variant]


@dataclass(frozen=True)
class Room:
    """What can be done with a framework's models; None for what d2lhybrid has not for it.

    `variants`: from a model, its positional and keyword arguments, whether those of experts are
    wanted, and options for the compiler (ArgumentError for one that it does not have) to each way
    to run the model, by name. `training`: from a model, a loss, an optimizer, the arguments and the
    target to each way to train the model by one step (ArgumentError for what is no model or no
    optimizer of the framework). `explain` and `graphs`: what its compiler makes of a call, and the
    graphs that the call takes. `parts`: the dense layers of a model and what is between them, as
    ``chain`` takes them.
    """

    variants: Callable[[Function, Args, Kwargs, bool, Kwargs], VariantsByName]
    training: Callable[[Function, Function, Any, Args, Kwargs, Any], VariantsByName] | None = None
    explain: Callable[[Function, Args, Kwargs], Explanation] | None = None
    graphs: Callable[[Function, Args, Kwargs], Sequence[Graph]] | None = None
    parts: Callable[[Function], Iterable[Layer | str | None]] = lambda _net: (None,)


class Framework(ABC):
    """One framework; making the object imports nothing, and neither do its class attributes.

    A room (``d2lhybrid/frameworks/<name>/``) defines one subclass, whose methods import what stands
    beside it when they are called.
    """

    name: ClassVar[str]  # what Python imports; in records and manifests; of the extra for it
    display: ClassVar[str]  # for people
    order: ClassVar[int] = 100  # among the frameworks, where they are listed
    # Environment variables that the import sets where the user has not: two frameworks that both
    # take a GPU's memory beforehand do not fit into one process.
    environment: ClassVar[Mapping[str, str]] = {}
    # What it writes and reads, by name, the best first; without importing it.
    formats: ClassVar[Mapping[str, Format]] = {}
    _tensors: Tensors | None = None  # once they are imported

    def owns(self, packages: Collection[str]) -> bool:
        """Does something whose classes come from these top-level packages belong to it?"""
        if "keras" in packages:
            return bool(import_uninterrupted("keras").config.backend() == self.name)
        return self.name in packages

    def load(self) -> Any:
        """Import the framework and return it."""
        found = sys.modules.get(self.name)
        if found is not None:  # TorchDynamo can trace this, but no import
            return found
        for name, value in self.environment.items():
            os.environ.setdefault(name, value)
        return import_uninterrupted(self.name)

    def version(self) -> str:
        """Its version; imports it."""
        return str(self.load().__version__)

    @property
    @abstractmethod
    def tensors(self) -> Tensors:
        """Its devices and tensors; imports the framework."""

    @abstractmethod
    def room(self) -> Room:
        """What it can do besides; imports the framework."""

    def able(self, what: str) -> Any:
        """Its formats, or that function of its room; ArgumentError where there is none."""
        found = self.formats if what == "formats" else getattr(self.room(), what)
        if not found:
            text = _("Expected a framework for which d2lhybrid has {what}. Received: {framework}.")
            raise ArgumentError(text.format(what=what, framework=self.display))
        return found


def require_options(compiler: str, options: Kwargs, known: tuple[str, ...]) -> None:
    """Raise ArgumentError for an option that the compiler does not have."""
    for name in options.keys() - set(known):
        text = _("Expected options of {compiler} among {known}. Received: {received!r}.")
        named = text.format(compiler=compiler, known=", ".join(known) or "–", received=name)
        raise ArgumentError(named)


def require_trainable(
    net: Any, models: Mapping[str, type], optimizer: Any, optimizers: Mapping[str, type], code: str
) -> None:
    """Raise ArgumentError unless both are objects of these classes, given by name.

    A function that calls a model is none: a copy of it is the function itself, which goes on
    calling the user's model. `code` makes an optimizer.
    """
    fits = isinstance(net, tuple(models.values()))
    if fits and isinstance(optimizer, tuple(optimizers.values())):
        return
    text = _(
        "Expected a model of the class {models} and an optimizer for it of the class "
        "{optimizers}. Received: {net} and {optimizer}. Pass the model itself, not a function "
        "that calls it (call(net, ...) takes its keyword arguments), and an optimizer such as "
        "{example}."
    )
    names = {"models": ", ".join(models), "optimizers": ", ".join(optimizers), "example": code}
    received = {"net": type(net).__name__, "optimizer": type(optimizer).__name__}
    raise ArgumentError(text.format(**names, **received))


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
            "{said}. Remove what cannot be copied, or compare functions: {example}."
        )
        names = {"example": "compare({'eager': net, 'compiled': ...}, x)", "said": error}
        raise CannotBuildError(text.format(**names, error=type(error).__name__)) from error
