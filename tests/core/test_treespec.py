"""Trees hold what was put into them, through JSON and back, and refuse what is no tree."""

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from d2lhybrid.core.pytree import children, leaves
from d2lhybrid.core.treespec import TreeSpec, tree_flatten
from d2lhybrid.errors import InputMismatchError

TENSORS = st.integers(0, 9).map(lambda number: np.full((2,), number, "float32"))
CONSTANTS = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3)
TREES = st.recursive(
    TENSORS | CONSTANTS | st.floats(allow_nan=False, allow_infinity=False),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.lists(inside, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(-3, 3), inside, max_size=3)
    ),
    max_leaves=12,
)


def is_array(value):
    return isinstance(value, np.ndarray)


def flatten(value):
    return tree_flatten(value, is_array, "output")


def alike(value, other):
    pairs = zip(leaves(value), leaves(other), strict=True)
    return all(a == b and np.array_equal(x, y) and type(x) is type(y) for (a, x), (b, y) in pairs)


@given(TREES)
def test_what_is_flattened_can_be_put_together_again(value):
    spec, tensors = flatten(value)
    assert spec.count_tensors() == len(tensors)
    assert alike(spec.unflatten(tensor for _path, tensor in tensors), value)


@given(TREES)
def test_a_tree_finds_the_tensors_of_a_value_like_it_in_the_same_order(value):
    spec, tensors = flatten(value)
    found = spec.flatten_like(value, "output")
    assert all(x is y for x, (_path, y) in zip(found, tensors, strict=True))


@given(TREES, TREES)
def test_a_value_of_another_structure_is_refused_or_has_the_same_tree(value, other):
    spec, _tensors = flatten(value)
    try:
        found = spec.flatten_like(other, "output")
    except InputMismatchError:
        assert flatten(other)[0] != spec
    else:
        assert len(found) == spec.count_tensors()


@given(TREES)
def test_json_gives_the_same_tree(value):
    spec, _tensors = flatten(value)
    again = msgspec.json.decode(msgspec.json.encode(spec), type=TreeSpec)
    again.validate()
    assert str(again) == str(spec)
    assert again.count_tensors() == spec.count_tensors()


@given(TREES)
def test_a_leaf_has_no_children_and_a_container_has_each_of_its_leaves(value):
    inside = children(value)
    if inside is None:
        assert [leaf for _path, leaf in leaves(value)] == [value]
    else:
        assert len(list(leaves(value))) == sum(len(list(leaves(x))) for x in inside.values())


@pytest.mark.parametrize(
    "spec",
    [
        TreeSpec("tensor", value=1),
        TreeSpec("constant"),
        TreeSpec("tensor", parts=(TreeSpec("tensor"),)),
        TreeSpec("dict", keys=("a", "a"), parts=(TreeSpec("tensor"),) * 2),
        TreeSpec("dict", keys=("a",)),
        TreeSpec("list", keys=("a",), parts=(TreeSpec("tensor"),)),
    ],
)
def test_what_is_no_tree_is_refused(spec):
    with pytest.raises(ValueError, match="an unknown structure"):
        TreeSpec("tuple", parts=(spec,)).validate()
