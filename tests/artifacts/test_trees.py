"""How arguments and outputs are taken apart, and put together again."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from d2lhybrid.errors import InputMismatchError
from d2lhybrid.frameworks.trees import TreeSpec, taken_apart

Point = namedtuple("Point", "x y")
A, B = np.ones(2), np.zeros(3)


@dataclass
class Output:
    logits: Any
    hidden: Any = None


class Cache:
    """As that of a model that generates: layers that hold tensors, and other things."""

    def __init__(self, *layers):
        self.layers, self.length, self.lock = list(layers), 3, object()


class NoTensors:
    def is_tensor(self, value):
        return isinstance(value, np.ndarray)


def apart(value, **options):
    tree, found = taken_apart(value, NoTensors(), "output", **options)
    again = msgspec.json.decode(msgspec.json.encode(tree), type=TreeSpec)
    assert again == tree
    assert tree.tensors() == len(found)
    return tree, [tensor for _path, tensor in found]


@pytest.mark.parametrize(
    "value",
    [A, (A, 2), [A, [2.5, (B,)]], {"b": True, 1: (A, None)}, Point(A, ["x"]), Output(A), (), None],
)
def test_a_structure_is_taken_apart_and_put_together(value):
    tree, found = apart(value)
    assert repr(tree.filled(found, classes=True)) == repr(value)


@pytest.mark.parametrize(("saved", "given"), [(2.0, 2), (1, True), (True, 1), (None, A), ("1", 1)])
def test_a_constant_is_of_one_kind(saved, given):
    tree, _found = apart({"a": saved})
    assert tree.tensors_in({"a": saved}, "") == []
    with pytest.raises(InputMismatchError):
        tree.tensors_in({"a": given}, "")


@pytest.mark.parametrize("place", ["a_library_that_is_not_here:A", "a_library_that_is_broken:A"])
def test_a_class_that_is_not_at_hand_becomes_a_dictionary(tmp_path, monkeypatch, place):
    (tmp_path / "a_library_that_is_broken.py").write_text("raise RuntimeError('no operators')")
    monkeypatch.syspath_prepend(tmp_path)
    tree, found = apart(Output(A, B))
    other = msgspec.structs.replace(tree, cls=place)
    assert set(other.filled(found, classes=True)) == {"logits", "hidden"}


def test_an_object_that_holds_tensors_is_a_dictionary_of_them():
    tree, found = apart((A, Cache(Cache(A, B), {"more": B})), opening=True)
    assert len(found) == 4
    assert tree.filled(found, classes=True)[1]["layers"][1]["more"] is B
