"""A program from a file, run on recorded tensors, and how its outputs are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from d2lhybrid.artifacts.examples import raw_of
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.layout import Structure
from d2lhybrid.frameworks.samples import opened
from d2lhybrid.frameworks.tensors import Kwargs, Tensors
from d2lhybrid.same import difference
from d2lhybrid.structure import leaves
from d2lhybrid.tensor import Raw


def run_raw(
    chosen: Format, tensors: Tensors, program: Any, takes: Structure, inputs: Sequence[Raw],
    options: Mapping[str, Any],
) -> list[Raw]:  # fmt: skip
    """The tensors that what `chosen` read returns, in order."""
    kwargs: Kwargs = {}
    args = tuple(tensors.from_raw(raw, options) for raw in inputs)
    if chosen.structured or chosen.weights_only:
        args, kwargs = takes.filled(args)
    return [raw_of(tensors, t) for t in flat(tensors, tensors.infer(program, args, kwargs))]


def flat(tensors: Tensors, output: Any) -> list[Any]:
    """The tensors in an output."""
    found = (leaf for _path, leaf in leaves(opened(output, tensors)))
    return [leaf for leaf in found if tensors.is_tensor(leaf) or hasattr(leaf, "__array__")]


def unlike(expected: Sequence[Raw], received: Sequence[Raw], names: Sequence[str] = ()) -> str:
    """In words, how two lists of tensors differ; empty if they are the same."""
    called = [*names, *(f"output_{i}" for i in range(len(names), len(expected) + len(received)))]
    return difference(
        dict(zip(called, received, strict=False)), dict(zip(called, expected, strict=False))
    )
