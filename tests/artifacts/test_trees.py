"""How outputs are put together again without their class; tests/models has the rest."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import pytest

from d2lhybrid.frameworks.trees import taken_apart


@dataclass
class Output:
    logits: Any
    hidden: Any = None


class NoTensors:
    def is_tensor(self, value):
        return isinstance(value, np.ndarray)


@pytest.mark.parametrize("place", ["a_library_that_is_not_here:A", "a_library_that_is_broken:A"])
def test_a_class_that_is_not_at_hand_becomes_a_dictionary(tmp_path, monkeypatch, place):
    (tmp_path / "a_library_that_is_broken.py").write_text("raise RuntimeError('no operators')")
    monkeypatch.syspath_prepend(tmp_path)
    tree, found = taken_apart(Output(np.ones(2), np.zeros(3)), NoTensors(), "output")
    other = msgspec.structs.replace(tree, cls=place)
    tensors = [tensor for _path, tensor in found]
    assert set(other.filled(tensors, classes=True)) == {"logits", "hidden"}
