"""A module compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each is built into a folder, which a release does once, and loaded from it, as each process does.
What is loaded is called through ``Checked``, because these programs look at little of what they
are called with.
"""

from collections.abc import Iterable
from itertools import chain
from types import NoneType
from typing import Any

import torch

from d2lhybrid.backends.torch import export, private
from d2lhybrid.backends.torch.compiler import INDUCTOR
from d2lhybrid.backends.variant import DeferredBuild, Folder
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.toolchain import why_not_installed
from d2lhybrid.core.usage import described


class Checked:
    """A program that was compiled for one call, behind a check of the calls that it gets.

    AOTInductor reads a transposed tensor, or one with fewer rows, as if its elements were where
    those of the example were, and finds others there or none. A number among the arguments is part
    of the program, so another one would change nothing.
    """

    def __init__(self, run: Function, args: Args, kwargs: Kwargs) -> None:
        """`args` and `kwargs` are those that `run` was compiled for."""
        self._run, self._args, self._kwargs = run, args, kwargs
        self._leaves, self._structure = private.flatten((args, kwargs))
        self._positional = -1 if kwargs else len(args)  # how many, if there are no others

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; a tensor that lies otherwise in memory than the example is copied first.

        Raises:
            ArgumentError: Anything else differs from the example.
        """
        by_position = not kwargs and len(args) == self._positional
        if not by_position or not all(map(_is_like, args, self._args)):
            args, kwargs = self._fitted(args, kwargs)
        return self._run(*args, **kwargs)

    def _fitted(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The arguments of another call as the program takes them."""
        try:  # in the order of the example, whatever that of a dictionary is
            leaves = self._structure.flatten_up_to((args, kwargs))
        except ValueError:
            leaves = None
        if leaves is None or not all(map(_fits, leaves, self._leaves)):
            text = _(
                "Expected arguments like those that this was compiled for: ({expected}). Received: "
                "({received})."
            )
            rules = _(
                "Dtypes, shapes, devices and numbers have to be the same, and the strides as well "
                "if the example is part of a larger tensor."
            )
            expected = described(self._args, self._kwargs, detailed=True)
            received = described(args, kwargs, detailed=True)
            text = text.format(expected=expected, received=received)
            raise ArgumentError(sentences(text, rules))
        fitted: tuple[Args, Kwargs]
        fitted = self._structure.unflatten(map(_laid_out, leaves, self._leaves))
        return fitted


_SAME = ("layout", "dtype", "shape", "device")  # in each tensor as in the example
_CONSTANTS = (int, float, complex, str, NoneType)


def _is_like(value: Any, example: Any) -> bool:
    """Is this the example, or a tensor whose elements lie in memory as in the example?"""
    if not isinstance(value, torch.Tensor):  # what is in a container may be others by now
        return value is example and isinstance(value, _CONSTANTS)
    return value is example or (
        all(getattr(value, name) == getattr(example, name, None) for name in _SAME)
        and value.stride() == example.stride()
        and not (value.is_neg() or value.is_conj())  # the program sees what lies in memory
    )


def _fits(leaf: Any, example: Any) -> bool:
    """Can a program that was compiled for the example take this, or a copy with its strides?"""
    if not isinstance(leaf, torch.Tensor):
        is_equal = isinstance(leaf, _CONSTANTS) and leaf == example
        return leaf is example or (is_equal and type(leaf) is type(example))
    if any(getattr(leaf, name) != getattr(example, name, None) for name in _SAME):
        return False
    # A copy has no elements of others between its own, nor two at one place.
    return _is_like(leaf, example) or torch.empty_like(example).stride() == example.stride()


def _laid_out(leaf: Any, example: Any) -> Any:
    """The same, or a copy whose elements lie in memory as in the example."""
    is_fine = not isinstance(leaf, torch.Tensor) or _is_like(leaf, example)
    return leaf if is_fine else torch.empty_like(example).copy_(leaf)


def aotinductor(net: Any, args: Args, kwargs: Kwargs) -> DeferredBuild:
    """The package of AOTInductor, called as the model is."""

    def build() -> Folder:
        return _compile(_export(net, args, kwargs))

    def load(folder: Folder) -> Function:
        return Checked(export.load_package(folder.path), args, kwargs)

    return DeferredBuild(build, load, INDUCTOR)


def no_onnxruntime() -> str:
    """Why ONNX Runtime can't be used, with what installs it; empty if it can."""
    return why_not_installed(("onnxruntime", "onnxscript"), "onnx")


class OnnxFile(Folder):
    """A folder with an ONNX file, and how it was called."""

    def __init__(self, program: Any, args: Args, kwargs: Kwargs) -> None:
        """`args` and `kwargs` are those that the program was exported with."""
        super().__init__()
        _require_cpu(program.state_dict.values(), args, kwargs.values())
        with torch.no_grad():
            export.write_onnx(program, self.path)
        self.given, self.returned = program.call_spec.in_spec, program.call_spec.out_spec
        takes_tensor = not kwargs and len(args) == 1 and isinstance(args[0], torch.Tensor)
        self.is_of_tensors = takes_tensor and self.returned.is_leaf()


def onnxruntime(net: Any, args: Args, kwargs: Kwargs) -> DeferredBuild:
    """A session of ONNX Runtime, called as the model is; tensors and arrays share their memory."""

    def build() -> OnnxFile:
        return OnnxFile(_export(net, args, kwargs), args, kwargs)

    def load(file: OnnxFile) -> Function:
        session = export.open_session(file.path, torch.get_num_threads())
        names = [given.name for given in session.get_inputs()]
        if len(session.get_outputs()) != file.returned.num_leaves:
            raise CannotBuildError(_("it only supports models that return tensors"))

        def run_on_tensor(x: Any) -> Any:
            return torch.from_numpy(session.run(None, {names[0]: x.detach().numpy()})[0])

        def run(*args: Any, **kwargs: Any) -> Any:
            given = file.given.flatten_up_to((args, {name: kwargs[name] for name in keywords}))
            arrays = [leaf.detach().numpy() for leaf in given if isinstance(leaf, torch.Tensor)]
            outputs = session.run(None, dict(zip(names, arrays, strict=True)))
            return file.returned.unflatten(map(torch.from_numpy, outputs))

        keywords = [*kwargs]
        return Checked(run_on_tensor if file.is_of_tensors else run, args, kwargs)

    return DeferredBuild(build, load)


def _export(net: Any, args: Args, kwargs: Kwargs) -> Any:
    """The program that ``torch.export`` makes of a call."""
    with torch.no_grad():
        return torch.export.export(net, args, kwargs)


def _compile(program: Any) -> Folder:
    """A folder with the package that AOTInductor compiles a program into."""
    folder = Folder()
    export.compile_ahead(program, folder.path)
    return folder


def _require_cpu(*tensors: Iterable[Any]) -> None:
    """Raise CannotBuildError if one of these is on another device."""
    devices = {str(getattr(tensor, "device", "cpu")) for tensor in chain(*tensors)}
    if devices - {"cpu"}:
        raise CannotBuildError(_("it only supports models on the CPU"))
