"""What a format for saved models is, and what it is given to write.

A format is one class. Each framework's stand in ``d2lhybrid.backends.<framework>.formats`` as a
dictionary ``FORMATS``, by name. Those modules import their framework inside the methods that need
it, so that the list of formats, and with it ``inspect``, costs no framework.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from d2lhybrid.core.arguments import Args, Kwargs
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.pytree import Leaf
from d2lhybrid.core.treespec import IsTensor, TreeSpec, tree_flatten, with_tensors

Option = bool | str | tuple[str, ...]
Options = Mapping[str, Any]
HostArrays = Sequence[HostArray]


@dataclass
class ExampleCall:
    """A model, an example call, and what is known of both.

    Attributes:
        model: What the user handed over.
        args, kwargs: The arguments.
        is_tensor: Is something a tensor of the model's framework?
        in_spec, out_spec: The trees of the arguments and of the output.
        inputs: The tensors in the arguments, in order.
        input_names, output_names: What inputs and outputs are called.
        dynamic_dims: For each input the axes that may vary, by what they are called; those of one
            name vary together.
        dims_are_required: Did the user name these axes? If not, they vary if that is possible.
        larger_inputs: The inputs, twice as long in these axes; empty if none may vary.
        fixed_because: Why none may vary, although it was tried.
    """

    model: Any
    args: Args
    kwargs: Kwargs
    is_tensor: IsTensor
    in_spec: TreeSpec
    inputs: list[Any]
    input_names: list[str]
    out_spec: TreeSpec = field(default_factory=lambda: TreeSpec("none"))
    output_names: list[str] = field(default_factory=list)
    dynamic_dims: list[dict[int, str]] = field(default_factory=list)
    dims_are_required: bool = False
    larger_inputs: list[Any] = field(default_factory=list)
    fixed_because: str = ""

    def arguments(self, inputs: Iterable[Any]) -> tuple[Args, Kwargs]:
        """The arguments with other tensors in the same places."""
        args, kwargs = with_tensors((self.args, self.kwargs), iter(inputs), self.is_tensor)
        return args, kwargs

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.arguments(inputs)
        _tree, leaves = self.flattened(self.model(*args, **kwargs))
        return tuple(tensor for _path, tensor in leaves)

    def flattened(self, output: Any) -> tuple[TreeSpec, list[Leaf]]:
        """The tree of what the model has returned, and its tensors by their paths."""
        return tree_flatten(output, self.is_tensor, "output", open_objects=True)


# What every program of ours knows, but that of MXNet.
_NATIVE_DTYPES = (
    *("float32", "float64", "float16", "bfloat16"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)


@dataclass(frozen=True)
class NativeProgram:
    """A program in ``d2lhybrid/native`` that runs a format without Python.

    Attributes:
        source: Its file, in C or C++.
        package: The Python package whose library it links with.
        flags: For the compiler; ``{0}`` is the package's folder, ``{1}`` the first file there
            that `library` is a pattern of.
        model: What it takes for the model, in the artifact's folder.
        dtypes: Those of the tensors that it takes and hands out.
    """

    source: str
    package: str
    flags: str
    model: str
    dtypes: tuple[str, ...] = _NATIVE_DTYPES
    library: str = "*"


class Format(ABC):
    """One way to keep a model: a program from flat tensors to the tensors of its output."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()  # whose versions are recorded, beside the framework's
    risk: ClassVar[str] = ""  # what a hostile file can do when it loads; empty: it holds no code
    note: ClassVar[str] = ""  # for readers of ``inspect``
    lasts: ClassVar[str] = ""  # which releases and machines can read it; if others can't, why
    takes_arrays: ClassVar[bool] = False  # does it take tensors of others, such as NumPy's arrays?
    native: ClassVar[NativeProgram | None] = None
    unsupported: ClassVar[tuple[str, ...]] = ()  # dtypes of tensors that it cannot hold

    @abstractmethod
    def write(self, example: ExampleCall, folder: Path) -> dict[str, Option]:
        """Write the model into an empty folder, and return what the reader needs.

        The names that the framework's library gives to inputs and outputs, in the order of the
        call, stand there as ``tensors``. What the framework raises where the axes of the example
        may not vary goes on; the caller fixes them and tries again.
        """

    @abstractmethod
    def read(self, folder: Path, options: Options) -> Any:
        """The program, as a callable; UnsupportedArtifactError if this machine cannot run it."""

    def native_model(self, folder: Path, options: Options, inputs: HostArrays, cache: Path) -> Path:
        """What the native program takes for the model; if it must be made, it is kept in `cache`.

        Raises:
            UnsupportedArtifactError: It cannot run here.
            MissingPackageError, NativeRunError: It cannot be made.
            Exception: What the framework says of a file that it does not read.
        """
        assert self.native is not None
        return folder / self.native.model

    def function(self, model: Any) -> Any:
        """What has the signature of the model's call."""
        return model

    def options(self, inputs: Sequence[Any]) -> dict[str, Option]:
        """What is to be known to make such tensors again: their device or their kind."""
        return {}
