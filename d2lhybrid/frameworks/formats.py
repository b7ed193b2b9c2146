"""What a format for saved models is.

A format is one class. Each framework's stand in ``d2lhybrid.frameworks.<framework>.formats`` as a
dictionary ``FORMATS``, by name. Those modules import their framework inside the methods that need
it, so that the list of formats, and with it ``inspect``, costs no framework.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.frameworks.samples import Sample
from d2lhybrid.tensor import Raw

Option = bool | str | tuple[str, ...]
Options = Mapping[str, Any]


@dataclass(frozen=True)
class NativeProgram:
    """A program in ``d2lhybrid/native`` that runs a format without Python.

    Attributes:
        source: Its file, in C or C++.
        package: The Python package whose library it links with.
        flags: For the compiler; ``{0}`` is the package's folder.
        model: What it takes for the model, in the artifact's folder.
        dtypes: Those that it can hand out, where that is not all.
    """

    source: str
    package: str
    flags: str
    model: str
    dtypes: tuple[str, ...] = ()


class Format(ABC):
    """One way to keep a model: a program from flat tensors to the tensors of its output."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]]  # whose versions are recorded
    risk: ClassVar[str] = ""  # what a hostile file can do when it loads; empty: it holds no code
    note: ClassVar[str] = ""  # for readers of ``inspect``
    converts: ClassVar[bool] = False  # does it take tensors of others, such as NumPy's arrays?
    native: ClassVar[NativeProgram | None] = None

    @abstractmethod
    def write(self, sample: Sample, folder: Path) -> dict[str, Option]:
        """Write the model into an empty folder, and return what the reader needs.

        The names that the framework's library gives to inputs and outputs, in the order of the
        call, stand there as ``tensors``. What the framework raises where the axes of the sample
        may not vary goes on; the caller fixes them and tries again.
        """

    @abstractmethod
    def read(self, folder: Path, options: Options) -> Any:
        """The program, as a callable; UnsupportedArtifactError if this machine cannot run it."""

    def native_model(
        self, folder: Path, options: Options, inputs: Sequence[Raw], cache: Path
    ) -> Path:
        """What the native program takes for the model; made in `cache` where it must be made."""
        assert self.native is not None
        return folder / self.native.model

    def native_flags(self, package: Path) -> str:
        """More flags for the compiler of the native program, for the package in that folder."""
        return ""

    def function(self, model: Any) -> Any:
        """What has the signature of the model's call."""
        return model

    def options(self, inputs: Sequence[Any]) -> dict[str, Option]:
        """What is to be known to make such tensors again: their device or their kind."""
        return {}

    @contextmanager
    def preserving(self, model: Any) -> Iterator[None]:
        """Put back, at the end, what running the model changes in it."""
        restore = self.restorer(model)
        try:
            yield
        finally:
            restore()

    def restorer(self, model: Any) -> Callable[[], None]:
        """What gives a model the state back that it has now."""
        return lambda: None
