"""What a format for saved models is.

A format is one class. Each framework's stand in ``d2lhybrid.frameworks.<framework>.formats`` as a
dictionary ``FORMATS``, by name. Those modules import their framework inside the methods that need
it, so that the list of formats, and with it ``inspect``, costs no framework.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.frameworks.samples import Group, Sample, held_by
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

    def may_hold(self, model: Any) -> bool:
        """Could this format hold the model, as far as is known without trying?"""
        return True

    def function(self, model: Any) -> Any:
        """What has the signature of the model's call."""
        return model

    @contextmanager
    def preserving(self, model: Any) -> Iterator[None]:
        """Put back, at the end, what running the model changes in it or in what it holds."""
        kept = [self.restorer(part) for part in held_by(model)]
        try:
            yield
        finally:
            for restore in kept:
                if restore is not None:
                    restore()

    def restorer(self, part: Any) -> Callable[[], None] | None:
        """What puts back the state that `part` has now; None if it keeps none.

        `part` is anything that a model's code can reach: a module, but also a class or a number.
        """
        return None
