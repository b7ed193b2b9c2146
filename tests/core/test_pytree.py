"""Structures that hold themselves, or are deeper than anybody means."""

from contextlib import suppress
from dataclasses import dataclass, field

import pytest
import torch

from d2lhybrid import compare, explain, graph, measure, save, training, variants
from d2lhybrid.core.pytree import leaves, tensors_in_attributes
from d2lhybrid.errors import D2LHybridError


def in_itself():
    value = {"x": torch.ones(2)}
    value["me"] = [value]
    return value


def deep(levels=5000):
    value = [torch.ones(2)]
    for _ in range(levels):
        value = [value]
    return value


def net(value):
    return torch.ones(2)


def train(value):
    linear = torch.nn.Linear(2, 2)
    optimizer = torch.optim.SGD(linear.parameters(), 0.1)
    loss = torch.nn.functional.mse_loss
    steps = training(linear, loss, optimizer, (value, torch.ones(2)))
    return compare(steps, time_limit=0.1, progress=False)


VERBS = {
    "compare": lambda value, folder: compare({"net": net}, value, time_limit=0.1, progress=False),
    "measure": lambda value, folder: measure(net, value, time_limit=0.1),
    "variants": lambda value, folder: variants(net, value),
    "training": lambda value, folder: train(value),
    "explain": lambda value, folder: explain(net, value),
    "graph": lambda value, folder: graph(net, value),
    "save": lambda value, folder: save(net, folder / "a", value),
}


@pytest.mark.parametrize("make", [in_itself, deep])
@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_comes_back(verb, make, tmp_path):
    """With an error, or with an answer where the structure does not matter to it."""
    value = make()
    with suppress(D2LHybridError, RecursionError):
        VERBS[verb](value, tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_held_twice_is_seen_twice():
    shared = [1, 2]
    assert [leaf for _path, leaf in leaves([shared, (shared, shared)])] == [1, 2] * 3


def test_a_field_of_a_dataclass_that_is_not_set_yet_is_left_out():
    @dataclass
    class Scaled:
        factor: float
        last: object = field(init=False)

        def __call__(self, x):
            return {"inside": Scaled(x * self.factor)}

    assert [path for path, _leaf in leaves(Scaled(2.0), "net")] == ["net['factor']"]
    ways = {"a": Scaled(2.0), "b": Scaled(2.0)}
    assert list(compare(ways, torch.ones(2), time_limit=0.01, progress=False)) == ["a", "b"]


def test_a_tensor_in_two_places_is_held_twice_and_a_list_in_itself_once():
    x = torch.ones(2)
    shared, around = [x], [x]
    around.append(around)

    def tensor_of(value):
        return value if isinstance(value, torch.Tensor) else None

    assert tensors_in_attributes([shared, shared], tensor_of) == {0: {0: x}, 1: {0: x}}
    assert tensors_in_attributes(around, tensor_of) == {0: x}
