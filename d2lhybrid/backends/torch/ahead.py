"""A module compiled ahead of time: by AOTInductor, and for ONNX Runtime.

Each is built into a folder, which a release does once, and loaded from it, as each process does.
What is loaded is called through ``Checked``, because these programs look at little of what they
are called with.
"""

from itertools import chain
from typing import Any

import torch

from d2lhybrid.backends.checks import ONLY_ON_CPU, ONLY_TENSORS, unlike_example
from d2lhybrid.backends.torch import export
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

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises:
            ArgumentError: The arguments differ from those of the example, by more than what the
                tensors hold.
        """
        in_order = {name: kwargs[name] for name in self._kwargs if name in kwargs}
        is_known = len(in_order) == len(kwargs)
        if not (is_known and _is_like((args, in_order), (self._args, self._kwargs))):
            rules = _("Dtypes, shapes, strides, devices and numbers have to be the same.")
            example = self._args, self._kwargs
            text = unlike_example(example, (args, kwargs), detailed=True)
            raise ArgumentError(sentences(text, rules))
        return self._run(*args, **kwargs)


def _is_like(value: Any, example: Any) -> bool:
    """Is this the same, but for what tensors hold that lie in memory as those of the example?"""
    if isinstance(example, torch.Tensor):
        names = ("layout", "dtype", "shape", "device")
        return value is example or (
            isinstance(value, torch.Tensor)
            and all(getattr(value, name) == getattr(example, name) for name in names)
            and value.stride() == example.stride()
            and not (value.is_neg() or value.is_conj())  # the program sees what lies in memory
        )
    if type(value) is not type(example):
        return False
    if isinstance(example, dict):  # programs take the values in the order of the example
        return [*value] == [*example] and all(map(_is_like, value.values(), example.values()))
    if isinstance(example, (list, tuple)):
        return len(value) == len(example) and all(map(_is_like, value, example))
    return bool(value is example or value == example)


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
