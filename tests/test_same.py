"""The one comparison of outputs, and the structures that it goes through."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from d2lhybrid import same
from d2lhybrid.errors import DifferentAnswerError


def differ(a: Any, b: Any, tolerance: float | None = None) -> str:
    return same.difference(same.record(a), same.record(b), tolerance)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.float32([1e6, 1]), np.float32([1e6, 50])),  # small beside a large one
        (np.float32([2e-9, -1e-9]), np.float32([-4e-9, 2e-9])),  # tiny altogether
        (np.float32([1, 2]), np.float64([1, 2])),
        (np.float32([1, 2]), np.int64([1, 2])),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.float32([1, np.nan]), np.float32([1, 2])),
        (np.float32([1, np.inf]), np.float32([1, -np.inf])),
        (np.float32([1, np.inf]), np.float32([1, 2])),
        (np.float32([0, 1]), np.float32([1e-3, 1])),
        (np.int64([2**60]), np.int64([2**60 + 1])),
        (np.array([True]), np.array([False])),
        (1.0, 1.0 + 1e-6),
        ((1, 2), (1, 2, 3)),
        ({"a": 1}, {"b": 1}),
        ("yes", "no"),
        (None, 1),
    ],
)
def test_what_differs(a, b):
    assert differ(a, b)
    assert differ(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.float32([1, 2]), np.float32([1.00005, 2])),
        (np.float32([1e6, 1.0]), np.float32([1e6, 1.5])),  # what is left of terms that cancel
        (np.float16([1.0]), np.float16([1.005])),
        (np.float32([1, np.nan]), np.float32([1, np.nan])),
        (np.float32([np.inf, 1]), np.float32([np.inf, 1])),
        (np.float32([]), np.float32([])),
        (1, np.int64(1)),  # Python's numbers go with any dtype
        (2.5, np.float32(2.5)),
        ([1, (2, None)], [1, (2, None)]),
        (np.complex64([1 + 1j]), np.complex64([1 + 1.00001j])),
    ],
)
def test_what_is_the_same(a, b):
    assert differ(a, b) == ""
    assert differ(b, a) == ""


def test_a_mask_is_no_measure_for_its_row():
    masked = np.float32([-1e9, 1.0, 2.0])
    assert differ(masked, np.float32([-1e9, 1.0, 2.1]))
    assert differ(masked, np.float32([-1e9, 1.0, 2.00001])) == ""


def test_each_row_has_its_own_measure():
    a = np.float32([[1e6, 1e6], [1.0, 1.0]])
    b = a.copy()
    b[1, 0] = 1.5
    assert differ(a, b)


def hidden(rows: int, dtype: str, seed: int = 0) -> np.ndarray:
    """What an MLP 256-128-1 computes, in a dtype."""
    rng = np.random.default_rng(seed)
    x, one, two = (rng.normal(size=n).astype("float32") for n in ((rows, 256), (256, 128), 128))
    inner = np.maximum(x.astype(dtype) @ (one.astype(dtype) / 16), 0)
    return (inner @ (two.astype(dtype) / 8)).astype("float32")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("shape", [(-1,), (-1, 1), (-1, 1, 1), (1, -1, 1), (64, -1, 1)])
def test_a_column_is_measured_as_a_row_is(shape, seed):
    a, b = (hidden(4096, dtype, seed).reshape(shape) for dtype in ("float32", "float64"))
    assert (a != b).any()
    assert differ(a, b) == ""
    for wrong in (a * np.float32(1.001), a + np.float32(0.001), -a):
        assert differ(wrong, b)
    largest = np.unravel_index(int(np.abs(a).argmax()), a.shape)
    smallest = np.unravel_index(int(np.abs(a).argmin()), a.shape)
    for place in (largest, smallest):
        wrong = a.copy()
        wrong[place] += np.float32(1e-3)
        assert f"where {abs(b[place]):.3g} was expected" in differ(wrong, b)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_number_alone_is_measured_by_itself(shape):
    zero, tiny, one = (np.full(shape, value, "float32") for value in (0, 1e-8, 1))
    assert differ(one, one * np.float32(1.00005)) == ""
    for a, b in ((tiny, 2 * tiny), (tiny, -tiny), (tiny, zero), (one, one * np.float32(1.001))):
        assert differ(a, b)
        assert differ(b, a)


def test_a_tolerance_of_ones_own():
    assert differ(np.float32([1]), np.float32([1.05]), 0.1) == ""
    assert differ(np.float32([1]), np.float32([1.05]), 0.01)


def test_the_words_name_the_worst_leaf_and_what_was_expected():
    said = differ({"a": np.float32([1.01]), "b": [np.float32([5.0])]},
                  {"a": np.float32([1.0]), "b": [np.float32([2.0])]})  # fmt: skip
    assert said == "a difference of up to 3 in output['b'][0], where 2 was expected"


@pytest.mark.parametrize(
    ("received", "expected", "said"),
    [
        ("no", "yes", "output is 'no' instead of 'yes'"),
        (np.float32([1]), np.int64([1]), "output has dtype float32 instead of int64"),
        (np.zeros((2, 3)), np.zeros(3), "output has shape (2, 3) instead of (3,)"),
    ],
)
def test_what_has_no_difference_in_numbers_is_said_in_full(received, expected, said):
    assert differ(received, expected) == said


@dataclass
class Version:
    """Of a class that says itself what is equal."""

    number: int


def test_objects_that_know_what_is_equal_are_asked():
    assert same._leaf("output", Version(1), Version(1), None) == (0.0, "")
    assert same._leaf("output", Version(1), Version(2), None)[0] == np.inf
    assert same.incomparable({"a": Version(1), "b": object(), "c": "words", "d": None}) == ["b"]


@pytest.mark.parametrize("value", [np.float32([]), np.array([], str)])
def test_of_no_elements_nothing_differs(value):
    assert same._gap(value, value, 0.0) == (0.0, 0.0, 0.0)


def test_the_gap_of_words_is_all_or_nothing():
    x, y = np.array(["x"]), np.array(["y"])
    assert same._gap(x, x, 1.0)[:2] == (0.0, np.inf)
    assert same._gap(x, y, 1.0)[:2] == (np.inf, np.inf)


def test_the_gap_of_complex_numbers_counts_the_imaginary_part():
    over, gap, size = same._gap(np.array([3 + 4j]), np.array([3 - 4j]), 1.0)
    assert (over, gap, size) == (1.6, 8.0, 5.0)


def test_what_overflows_warns_of_nothing(recwarn):
    assert same._gap(np.array([1e308]), np.array([-1e308]), 1e-300)[0] == np.inf
    assert not recwarn.list


def test_a_small_whole_number_is_allowed_what_it_is_worth():
    assert same._gap(np.array([4]), np.array([2]), 2.0) == (0.5, 2.0, 2.0)
    assert same._gap(np.array([2]), np.array([2]), 2.0)[0] == 0.0
    assert same._gap(np.array([1.5]), np.array([1]), 1.0)[:2] == (0.5, 0.5)


def test_what_is_infinite_is_no_measure_for_its_row():
    assert same._gap(np.array([np.inf, 1e-9]), np.array([np.inf, 0.0]), 1.0)[0] == np.inf


class Cache:
    """As libraries keep states: no tensor, no container, and equal only to itself."""

    def __init__(self, value: float) -> None:
        self.layers = [{"keys": np.float32([value])}]
        self.seen = object()
        self.loop = self


def test_the_tensors_inside_an_unknown_object_are_compared():
    assert differ(Cache(1.0), Cache(1.0)) == ""
    assert "output.layers[0]['keys']" in differ(Cache(1.0), Cache(2.0))


def test_an_object_that_holds_no_tensor_is_named():
    answer = same.record({"x": 1.0, "state": object()})
    assert same.incomparable(answer) == ["output['state']"]
    assert same.incomparable(same.record((None, "a", 1))) == []


def test_nan_is_found_and_named():
    assert same.with_nan(same.record((1.0, np.float32([1, np.nan])))) == "output[1]"
    assert same.with_nan(same.record((1.0, np.int64([1]), "nan"))) == ""


def test_a_record_is_a_copy():
    array = np.float32([1, 2])
    answer = same.record(array)
    array[0] = 9
    assert answer["output"].array.tolist() == [1, 2]


def test_require_same_says_who_and_what_to_do():
    with pytest.raises(DifferentAnswerError, match="Expected 'b' to compute what 'a' does"):
        same.require_same("b", "a", same.record(1), same.record(2))
    same.require_same("b", "a", same.record(1), same.record(1))


@pytest.mark.parametrize(
    ("answer", "expected", "said"),
    [
        (1, (1, 2), "1 output instead of 2"),
        ((1, 2), 1, "2 outputs instead of 1"),
        ({"y": 1}, {"z": 1}, "output['y'] where output['z'] was expected"),
        ((1, {"a": 1, "y": 1}), (1, {"a": 1, "z": 1}),
         "output[1]['y'] where output[1]['z'] was expected"),
    ],
)  # fmt: skip
def test_another_structure_is_said_in_words(answer, expected, said):
    assert same.difference(same.record(answer), same.record(expected)) == said


def test_what_is_required_to_be_the_same_says_how_to_let_it_pass():
    one, other = same.record(1.0), same.record(1.5)
    with pytest.raises(DifferentAnswerError) as raised:
        same.require_same("b", "a", other, one)
    assert str(raised.value) == (
        "Expected 'b' to compute what 'a' does. Received: a difference of up to 0.5 in output, "
        "where 1 was expected. Correct it, or pass check=False, or a larger tolerance as "
        "check=0.01."
    )
    same.require_same("b", "a", other, one, tolerance=0.6)


def test_arrays_of_words_are_the_same_or_not():
    assert differ(np.array(["x", "y"]), np.array(["x", "y"])) == ""
    assert differ(np.array(["x", "y"]), np.array(["x", "z"])) != ""
    assert differ(np.zeros((0, 3)), np.zeros((0, 3))) == ""


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_floats_cannot_tell_apart_differ_by_one_at_least(kind):
    said = differ(np.array([2**60 + 1], kind), np.array([2**60], kind))
    assert said.startswith("a difference of up to 1 in output, where 1.15")


class Holder:
    def __init__(self, **parts):
        vars(self).update(parts)


def test_tensors_are_found_in_objects_within_objects():
    inner = Holder(values=np.ones(2), count=3)
    found = same.record([Holder(inner=inner, name="x")])
    assert list(found) == ["output[0].inner.values"]
    numbers = Holder(count=3, rate=0.5)
    assert same.record(numbers) == {"output": numbers}
