"""What a format for saved models is, and where the formats are found.

A format is one class. Each framework's stand in ``d2lhybrid.frameworks.<framework>.formats`` as a
dictionary ``FORMATS``, by name. Those modules import their framework inside the methods that need
it, so that the list of formats, and with it ``inspect``, costs no framework.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.errors import (
    MissingPackageError,
    UnknownFrameworkError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks import get, names
from d2lhybrid.frameworks.samples import Group, Sample
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command
from d2lhybrid.tensor import Raw

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Written:
    """What a writer knows once it has written.

    Attributes:
        options: What the reader needs. The names that the framework's library gives to inputs and
            outputs, in the order of the call, stand there as ``tensors``.
        groups: Which of the sample's groups of axes may vary in the file.
    """

    options: dict[str, Any] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)


@dataclass(frozen=True)
class NativeProgram:
    """A program in ``d2lhybrid/native`` that runs a format without Python.

    Attributes:
        source: Its file, in C or C++.
        package: The Python package whose library it links with.
        flags: For the compiler; ``{0}`` is the package's folder, ``{1}`` the `library`.
        model: What it takes for the model, in the artifact's folder.
        headers: Files of ours that it includes.
        library: Where in the package its library is, as a pattern, if the flags need it.
        dtypes: Those that it can hand out, where that is not all.
    """

    source: str
    package: str
    flags: str
    model: str
    headers: tuple[str, ...] = ("tensors.h",)
    library: str = ""
    dtypes: tuple[str, ...] = ()

    @property
    def language(self) -> str:
        """The language of the source."""
        return "C" if self.source.endswith(".c") else "C++"


@dataclass(frozen=True)
class Sign:
    """Something inside a file that ``inspect`` tells: bytes that match, in files with this ending.

    `message` may show the first group of the pattern as ``{name}``.
    """

    ending: str
    pattern: bytes
    message: str


class Format(ABC):
    """One way to keep a model.

    A file holds a program from flat tensors to tensors in the order of the model's output, unless
    it is `structured`.
    """

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]  # whose versions are recorded
    risk: ClassVar[str] = ""  # what a hostile file can do when it loads; empty: it holds no code
    note: ClassVar[str] = ""  # for readers of ``inspect``
    weights_only: ClassVar[bool] = False
    structured: ClassVar[bool] = False  # what ``read`` returns is called as the model itself is
    converts: ClassVar[bool] = False  # does it take tensors of others, such as NumPy's arrays?
    file: ClassVar[str]  # the file or folder with the model
    archive: ClassVar[bool] = False  # is that file a zip archive?
    signs: ClassVar[tuple[Sign, ...]] = ()
    native: ClassVar[NativeProgram | None] = None

    @abstractmethod
    def write(self, sample: Sample, folder: Path) -> Written:
        """Write the model into an empty folder."""

    @abstractmethod
    def read(self, folder: Path, options: Options, into: Any = None) -> Any:
        """A callable, or for weights alone what became of them and of ``load``'s `into`."""

    def read_alone(self, folder: Path, package: str) -> Any:
        """A callable of NumPy arrays that needs `package` in place of the framework, or None."""
        return None

    def require(self, options: Options) -> None:  # noqa: B027
        """Raise UnsupportedArtifactError if this machine cannot run the model."""

    def differing(self, model: Any, folder: Path) -> str:
        """Of weights alone: how the file differs from the model, in words; empty if it does not."""
        return ""

    def native_model(
        self, folder: Path, options: Options, inputs: Sequence[Raw], cache: Path
    ) -> Path:
        """What the native program takes for the model; made in `cache` where it must be made."""
        assert self.native is not None
        return folder / self.native.model

    def parameters(self, model: Any) -> list[str]:
        """The names of the model's positional parameters, as far as they are known."""
        return []

    def inner(self, model: Any) -> Any:
        """The model itself, behind a compiler's wrapper."""
        return model

    @contextmanager
    def preserving(self, model: Any) -> Iterator[None]:
        """Put back, at the end, what running the model changes in it."""
        yield


def find(framework: str, name: str) -> Format:
    """The format called `name`.

    Raises:
        UnsupportedArtifactError: There is no such framework, or it has no such format.
    """
    try:
        formats = get(framework).formats
    except UnknownFrameworkError as error:
        raise UnsupportedArtifactError(
            _(
                "Expected an artifact of {frameworks}, received {received!r}; "
                "upgrade d2lhybrid if a newer release wrote it."
            ).format(frameworks=names(), received=framework)
        ) from error
    if name not in formats:
        raise UnsupportedArtifactError(
            _("Expected one of the {framework} formats {formats}, received {received!r}.").format(
                framework=framework, formats=", ".join(formats), received=name
            )
        )
    return formats[name]


def others(framework: str, name: str, fits: Callable[[Format], bool] = lambda one: True) -> str:
    """The other formats of a framework that hold a whole model and fit, for a sentence."""
    found = get(framework).formats.items()
    return ", ".join(n for n, one in found if n != name and not one.weights_only and fits(one))


def by_name(*formats: Format) -> dict[str, Format]:
    """The table of a framework's formats."""
    return {one.name: one for one in formats}


def require(package: str, extra: str) -> Any:
    """Import a package that the user asked for by what they load or save.

    Raises:
        MissingPackageError: It is not installed, with the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise missing(package, extra, error) from error


def missing(package: str, extra: str, error: ImportError) -> MissingPackageError:
    """The error that says how to install a package."""
    return MissingPackageError(
        _(
            "This needs {package}, which does not import ({error}); install it with: {command}"
        ).format(package=package, error=error, command=install_command(extra))
    )
