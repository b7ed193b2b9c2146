"""A module compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each is built into a folder, which a release does once, and loaded from it, as each process does.
What is loaded is called through ``Checked``, because these programs look at little of what they
are called with.
"""

from itertools import chain
from types import NoneType
from typing import Any

import torch

from d2lhybrid.backends.checks import ONLY_ON_CPU, ONLY_TENSORS, unlike_example
from d2lhybrid.backends.torch import export, private
from d2lhybrid.backends.torch.compiler import INDUCTOR
from d2lhybrid.backends.variant import DeferredBuild, Folder
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import ArgumentError, CannotBuildError
from d2lhybrid.core.i18n import gettext as _, sentences


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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it; a tensor that lies otherwise in memory than the example is copied first.

        Raises:
            ArgumentError: Anything else differs from the example.
        """
        are_named = kwargs or self._kwargs or len(args) != len(self._args)
        if are_named or not all(map(_is_like, args, self._args)):
            args, kwargs = self._fitted(args, kwargs)
        return self._run(*args, **kwargs)

    def _fitted(self, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
        """The arguments of another call as the program takes them."""
        try:  # in the order of the example, whatever that of a dictionary is
            leaves = self._structure.flatten_up_to((args, kwargs))
            fitted = map(_laid_out, leaves, self._leaves)
            args, kwargs = self._structure.unflatten(fitted)
        except ValueError:
            rules = _(
                "Dtypes, shapes, devices and numbers have to be the same, and the strides as well "
                "if the example is part of a larger tensor."
            )
            example = self._args, self._kwargs
            text = unlike_example(example, (args, kwargs), detailed=True)
            raise ArgumentError(sentences(text, rules)) from None
        return args, kwargs


def _is_like(value: Any, example: Any) -> bool:
    """Is this the same number, or a tensor whose elements lie in memory as in the example?"""
    if not isinstance(value, torch.Tensor):  # what is in a container may be others by now
        is_constant = isinstance(value, int | float | complex | str | NoneType)
        return is_constant and type(value) is type(example) and value == example
    return value is example or (
        _is_alike(value, example)
        and value.stride() == example.stride()
        and not (value.is_neg() or value.is_conj())  # the program sees what lies in memory
    )


def _is_alike(value: torch.Tensor, example: Any) -> bool:
    names = ("layout", "dtype", "shape", "device")
    return all(getattr(value, name) == getattr(example, name, None) for name in names)


def _laid_out(leaf: Any, example: Any) -> Any:
    """The same, or a copy whose elements lie in memory as in the example; ValueError if none can.

    A copy has no elements of others between its own, nor two at one place.
    """
    if _is_like(leaf, example):
        return leaf
    if isinstance(leaf, torch.Tensor) and _is_alike(leaf, example):
        copy = torch.empty_like(example)
        if copy.stride() == example.stride():
            return copy.copy_(leaf)
    raise ValueError


def aotinductor(net: Any, args: Args, kwargs: Kwargs) -> DeferredBuild:
    """The package of AOTInductor, called as the model is."""

    def build() -> Folder:
        folder = Folder()
        export.compile_ahead(_export(net, args, kwargs), folder.path)
        return folder

    def load(folder: Folder) -> Function:
        return Checked(export.load_package(folder.path), args, kwargs)

    return DeferredBuild(build, load, INDUCTOR)


class OnnxFile(Folder):
    """A folder with an ONNX file, and the structures of what its call takes and returns."""

    def __init__(self, net: Any, args: Args, kwargs: Kwargs) -> None:
        super().__init__()
        program = _export(net, args, kwargs)
        tensors = chain(program.state_dict.values(), args, kwargs.values())
        if {str(getattr(tensor, "device", "cpu")) for tensor in tensors} != {"cpu"}:
            raise CannotBuildError(_(ONLY_ON_CPU))
        with torch.no_grad():
            export.write_onnx(program, self.path)
        self.given, self.returned = program.call_spec.in_spec, program.call_spec.out_spec


def onnxruntime(net: Any, args: Args, kwargs: Kwargs) -> DeferredBuild:
    """A session of ONNX Runtime, called as the model is; tensors and arrays share their memory."""

    def load(file: OnnxFile) -> Function:
        session = export.open_session(file.path, torch.get_num_threads())
        names = [given.name for given in session.get_inputs()]
        if len(session.get_outputs()) != file.returned.num_leaves:
            raise CannotBuildError(_(ONLY_TENSORS))

        def run_on_tensor(x: Any) -> Any:
            return torch.from_numpy(session.run(None, {names[0]: x.detach().numpy()})[0])

        def run(*args: Any, **kwargs: Any) -> Any:
            given = file.given.flatten_up_to((args, {name: kwargs[name] for name in keywords}))
            arrays = [leaf.detach().numpy() for leaf in given if isinstance(leaf, torch.Tensor)]
            outputs = session.run(None, dict(zip(names, arrays, strict=True)))
            return file.returned.unflatten(map(torch.from_numpy, outputs))

        keywords = [*kwargs]
        takes_tensor = not kwargs and len(args) == 1 and isinstance(args[0], torch.Tensor)
        is_of_tensors = takes_tensor and file.returned.is_leaf()
        return Checked(run_on_tensor if is_of_tensors else run, args, kwargs)

    return DeferredBuild(lambda: OnnxFile(net, args, kwargs), load)


def _export(net: Any, args: Args, kwargs: Kwargs) -> Any:
    """The program that ``torch.export`` makes of a call."""
    with torch.no_grad():
        return torch.export.export(net, args, kwargs)
