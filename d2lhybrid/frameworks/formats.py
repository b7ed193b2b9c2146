"""What a format for saved models is, and the sample that it writes: a model with a call.

A format is one class. Each framework's stand in ``d2lhybrid.frameworks.<framework>.formats`` as a
dictionary ``FORMATS``, by name. Those modules import their framework inside the methods that need
it, so that the list of formats, and with it ``inspect``, costs no framework.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from d2lhybrid.core.arguments import parameters_of
from d2lhybrid.core.errors import ArgumentError, SaveError
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.pytree import Leaf, TreeSpec, tree_flatten
from d2lhybrid.frameworks.variant import Args, Function, Kwargs

Option = bool | str | tuple[str, ...]
Options = Mapping[str, Any]
Raws = Sequence[HostArray]
Dynamic = Mapping[str, Mapping[int, str]]


class TensorsOfFramework(Protocol):
    """What a call that is saved needs from its framework, which ``base.Framework`` has."""

    def is_tensor(self, obj: Any) -> bool: ...
    def to_host(self, tensor: Any) -> HostArray: ...
    def from_host(self, host_array: HostArray, options: Mapping[str, Any]) -> Any: ...
    def infer(self, model: Function, args: Args, kwargs: Kwargs) -> Any: ...


@dataclass
class ExampleCall:
    """A model, an example call, and what is known of both.

    Attributes:
        model: What the user handed over.
        framework: Its framework.
        in_spec, out_spec: The trees of the arguments and of the output.
        inputs: The tensors in the arguments, in order.
        names, outputs: What inputs and outputs are called.
        axes: For each input the axes that may vary, by what they are called; those of one name
            vary together.
        strict: Are these the axes that the user named?
        larger: The inputs, twice as long in these axes; empty where none may vary.
        fixed: Why none may vary, though it was tried.
    """

    model: Any
    framework: TensorsOfFramework
    in_spec: TreeSpec
    inputs: list[Any]
    names: list[str]
    out_spec: TreeSpec = field(default_factory=lambda: TreeSpec("none"))
    outputs: list[str] = field(default_factory=list)
    axes: list[dict[int, str]] = field(default_factory=list)
    strict: bool = False
    larger: list[Any] = field(default_factory=list)
    fixed: str = ""

    @classmethod
    def of(
        cls, framework: TensorsOfFramework, model: Any, args: Args, kwargs: Kwargs, function: Any
    ) -> Self:
        """The sample of a call; `function` has the names of the positional arguments."""
        called = _positional(function)
        called += [f"input_{i}" for i in range(len(called), len(args))]
        named = {**dict(zip(called, args, strict=False)), **kwargs}
        is_tensor = framework.is_tensor
        _tree, found = tree_flatten(named, is_tensor, "")
        in_spec, _same = tree_flatten((args, kwargs), is_tensor, "")
        inputs = [tensor for _path, tensor in found]
        again, _found = tree_flatten(in_spec.unflatten(inputs, classes=True), is_tensor, "")
        if again != in_spec:
            text = _("Expected importable classes, received {received}; pass dictionaries.")
            raise SaveError(text, received=[type(one).__qualname__ for one in named.values()])
        return cls(model, framework, in_spec, inputs, _names(found))

    def flat(self, *inputs: Any) -> tuple[Any, ...]:
        """Run the model on other tensors in the same places; the tensors of its output."""
        args, kwargs = self.in_spec.unflatten(inputs, classes=True)
        found = tree_flatten(
            self.model(*args, **kwargs), self.framework.is_tensor, "output", open_objects=True
        )[1]
        return tuple(tensor for _path, tensor in found)

    def run(self, inputs: Sequence[Any]) -> tuple[TreeSpec, list[str], list[Any]]:
        """What the model returns for other tensors in the same places, for inference.

        Returns the tree of the output, and the names of its tensors beside them.
        """
        args, kwargs = self.in_spec.unflatten(inputs, classes=True)
        output = self.framework.infer(self.model, args, kwargs)
        tree, found = tree_flatten(output, self.framework.is_tensor, "output", open_objects=True)
        return tree, _names(found, self.names), [tensor for _path, tensor in found]

    def vary(self, dynamic: Dynamic | None, options: Mapping[str, Any]) -> None:
        """Set the axes, as the user names them or by default those of the batch, and `larger`.

        Raises:
            ArgumentError: There is no input of a name, or it has no such axis.
        """
        raws = [self.framework.to_host(tensor) for tensor in self.inputs]
        # Dictionaries before the first other tensors are parameters, which have no batch.
        trees = [*self.in_spec.parts[0].parts, *self.in_spec.parts[1].parts]
        others = (i for i, tree in enumerate(trees) if tree.kind != "dict" and tree.count_tensors())
        parameters = sum(tree.count_tensors() for tree in trees[: next(others, 0)])
        sizes = [raw.array.shape[:1] * (i >= parameters) for i, raw in enumerate(raws)]
        batch = next(filter(None, sizes), None)
        self.axes = [{0: "batch"} if size and size == batch else {} for size in sizes]
        self.strict = dynamic is not None
        known = {name: range(raw.array.ndim) for name, raw in zip(self.names, raws, strict=True)}
        for name, axes in (dynamic or {}).items():
            if name not in known or not isinstance(axes, Mapping) or axes.keys() - known[name]:
                text = _(
                    "Expected axes of the inputs ({names}) as dynamic, such as {example}. "
                    "Received: {received!r}."
                )
                example = "{'x': {0: 'batch'}}"
                said = text.format(names=", ".join(known), example=example, received={name: axes})
                raise ArgumentError(said)
        if dynamic is not None:
            self.axes = [dict(dynamic.get(name, {})) for name in self.names]
        for raw, axes in zip(raws if any(self.axes) else [], self.axes, strict=False):
            array = raw.array
            for axis in axes:
                array = np.concatenate([array, array], axis)
            self.larger.append(self.framework.from_host(HostArray(raw.dtype, array), options))

    def fix(self, reason: str) -> None:
        """Let no axis vary; SaveError where the user named those that should."""
        if self.strict:
            raise SaveError(_("The model does not let these axes vary: {reason}."), reason=reason)
        self.axes, self.larger = [{} for _input in self.inputs], []
        self.fixed = "".join(filter(str.isprintable, reason))


def _names(found: Sequence[Leaf], taken: Sequence[str] = ()) -> list[str]:
    """Names of inputs or outputs that every format can hold, made from the paths to them.

    ONNX has one name for each tensor, so outputs do not get those that inputs have `taken`.
    """
    made: list[str] = []
    for path, _tensor in found:
        inner = re.sub(r"^output(?=\['?[A-Za-z_])", "", path)
        name = "output_0" if inner == "output" else re.sub(r"\W+", "_", inner).strip("_")
        while name in (*made, *taken):  # it occurs again
            name += "_2"
        made.append(name)
    return made


def _positional(function: Any) -> list[str]:
    """The names of what a function is called with, by position; none where it does not tell."""
    named = [one for one in parameters_of(function) if one.kind <= Parameter.POSITIONAL_OR_KEYWORD]
    return [one.name for one in named if one.name != "self"]


@dataclass(frozen=True)
class NativeProgram:
    """A program in ``d2lhybrid/native`` that runs a format without Python.

    Attributes:
        source: Its file, in C or C++.
        package: The Python package whose library it links with.
        flags: For the compiler; ``{0}`` is the package's folder, ``{1}`` the first file there
            that `library` is a pattern of.
        model: What it takes for the model, in the artifact's folder.
        dtypes: Those that it can hand out, where that is not all.
    """

    source: str
    package: str
    flags: str
    model: str
    dtypes: tuple[str, ...] = ()
    library: str = "*"


class Format(ABC):
    """One way to keep a model: a program from flat tensors to the tensors of its output."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()  # whose versions are recorded, beside the framework's
    risk: ClassVar[str] = ""  # what a hostile file can do when it loads; empty: it holds no code
    note: ClassVar[str] = ""  # for readers of ``inspect``
    converts: ClassVar[bool] = False  # does it take tensors of others, such as NumPy's arrays?
    native: ClassVar[NativeProgram | None] = None
    parts: ClassVar[Mapping[str, str]] = {}  # of what is no array, by the names of its classes

    @abstractmethod
    def write(self, sample: ExampleCall, folder: Path) -> dict[str, Option]:
        """Write the model into an empty folder, and return what the reader needs.

        The names that the framework's library gives to inputs and outputs, in the order of the
        call, stand there as ``tensors``. What the framework raises where the axes of the sample
        may not vary goes on; the caller fixes them and tries again.
        """

    @abstractmethod
    def read(self, folder: Path, options: Options) -> Any:
        """The program, as a callable; UnsupportedArtifactError if this machine cannot run it."""

    def native_model(
        self, folder: Path, options: Options, inputs: Raws, cached: Callable[[str], Path]
    ) -> Path:
        """What the native program takes for the model.

        If it must be made first, it is kept in the folder that `cached` gives for a key.

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
