"""What a format has to offer, and where the formats are found.

Each framework's formats stand in ``d2lhybrid.backends.<framework>_formats`` as a dictionary
``FORMATS``. Those modules import their framework inside the functions that need it, so a table of
formats, and with it ``inspect``, costs no framework.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from d2lhybrid.errors import FrameworkMissingError, UnknownFrameworkError, UnsupportedArtifactError
from d2lhybrid.i18n import gettext as _

FRAMEWORKS = ("torch", "tensorflow", "mxnet")


@dataclass(frozen=True)
class Raw:
    """A tensor outside any framework.

    NumPy has no bfloat16, so such a tensor is kept as the uint16 array of its bits.
    """

    dtype: str
    array: np.ndarray

    @classmethod
    def of(cls, array: Any, dtype: str | None = None) -> "Raw":
        """From anything that NumPy reads; ``ml_dtypes.bfloat16`` arrays are understood."""
        array = np.asarray(array, order="C")
        name = dtype or str(array.dtype)
        if str(array.dtype) == "bfloat16":
            array = array.view(np.uint16)
        return cls(name, array)

    def values(self) -> np.ndarray:
        """The numbers as NumPy can compute with them."""
        if self.dtype == "bfloat16":
            return (self.array.astype(np.uint32) << 16).view(np.float32)
        return self.array


@dataclass(frozen=True)
class Written:
    """What a writer knows once it has written: names in call order, and what its reader needs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One way to keep a model.

    `write` gets the model, example inputs and an empty folder; `read` gets the folder, the options
    that `write` returned and what the caller gave as ``into``, and returns a callable. `require`
    gets the options too, and raises if this machine cannot run the model. `risk` says what a
    hostile file of this format could do when loaded, and is empty if it holds no code. `native`
    names the program in ``d2lhybrid/native`` that runs it. `note` is for readers of ``inspect``.
    """

    write: Callable[[Any, tuple[Any, ...], Path], Written]
    read: Callable[[Path, dict[str, Any], Any], Any]
    packages: tuple[str, ...]
    require: Callable[[dict[str, Any]], None] = lambda options: None
    risk: str = ""
    native: str = ""
    note: str = ""
    weights_only: bool = False


class Adapter(Protocol):
    """The module ``d2lhybrid.backends.<framework>_formats``."""

    FORMATS: dict[str, Format]

    def default_format(self, model: Any) -> str:
        """The best format for this model today."""

    def call(self, model: Any, inputs: tuple[Any, ...]) -> list[Raw]:
        """Run the model for inference; its outputs, flat."""

    def to_raw(self, tensor: Any) -> Raw:
        """A copy outside the framework."""

    def from_raw(self, raw: Raw, options: dict[str, Any]) -> Any:
        """The tensor inside the framework, on the device that `options` name."""

    def doubled(self, tensor: Any) -> Any:
        """The tensor twice along its first axis."""

    def differing_weight(self, model: Any, folder: Path) -> str:
        """What the weights alone in a folder have other than the model; empty if nothing."""


def adapter(framework: str) -> Adapter:
    """The adapter of a framework that has formats."""
    if framework not in FRAMEWORKS:
        raise UnsupportedArtifactError(
            _(
                "Expected an artifact of {frameworks}, received {received!r}; "
                "upgrade d2lhybrid if a newer release wrote it."
            ).format(frameworks=", ".join(FRAMEWORKS), received=framework)
        )
    return import_module(f"d2lhybrid.backends.{framework}_formats")


def find(framework: str, name: str) -> Format:
    """The format called `name`.

    Raises:
        UnsupportedArtifactError: The framework has no such format.
    """
    formats = adapter(framework).FORMATS
    if name not in formats:
        raise UnsupportedArtifactError(
            _("Expected one of the {framework} formats {formats}, received {received!r}.").format(
                framework=framework, formats=", ".join(formats), received=name
            )
        )
    return formats[name]


def framework_of(model: Any, inputs: tuple[Any, ...]) -> str:
    """The framework that the model, or else its example input, belongs to."""
    for thing in (model, *inputs):
        for kind in type(thing).__mro__:
            name = kind.__module__.partition(".")[0]
            if name in (*FRAMEWORKS, "keras"):
                return "tensorflow" if name == "keras" else name
    raise UnknownFrameworkError(
        _(
            "Expected a model of {frameworks}, received a {kind}; "
            "pass the network itself, and tensors of its framework as example inputs."
        ).format(frameworks=", ".join(FRAMEWORKS), kind=type(model).__name__)
    )


def require(package: str, extra: str) -> Any:
    """Import a package that the user asked for by what they load or save.

    Raises:
        FrameworkMissingError: It is not installed, with the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise FrameworkMissingError(
            _(
                "This needs {package}, which does not import ({error}); install it with: {command}"
            ).format(package=package, error=error, command=f'pip install "d2lhybrid[{extra}]"')
        ) from error


class Lazy:
    """A package that is imported when it is used for the first time."""

    def __init__(self, load: Callable[[], Any]):
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


def spec(tensor: Any) -> tuple[str, tuple[int, ...]]:
    """Dtype and shape of any framework's tensor; raises AttributeError for anything else."""
    kind = tensor.dtype  # an object with a name, a class of NumPy's, or torch's own
    name = getattr(kind, "name", None) or getattr(kind, "__name__", None) or str(kind)
    return name.removeprefix("torch.").removesuffix("_"), tuple(tensor.shape)


def flatten(outputs: Any, *, by_key: bool = True) -> Iterator[Any]:
    """The tensors in nested tuples, lists and dictionaries, in order.

    TensorFlow takes a dictionary in the order of its keys (`by_key`), PyTorch in its own.
    """
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in (sorted(outputs) if by_key else outputs)]
    if isinstance(outputs, list | tuple):
        for item in outputs:
            yield from flatten(item, by_key=by_key)
    elif outputs is not None:
        yield outputs
