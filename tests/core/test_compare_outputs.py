"""The one comparison of outputs."""

from collections import deque, namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from d2lhybrid.backends.outputs import copy_outputs, to_host
from d2lhybrid.core import compare_outputs as same
from d2lhybrid.core.host_array import HostArray

Point = namedtuple("Point", "x y")
SHAPES = ((), (1,), (1, 1))


@dataclass
class Version:
    number: int


class Cache:
    """As libraries keep states: no tensor, no container, and equal only to itself."""

    def __init__(self, value):
        self.layers = [{"keys": np.float32([value])}]
        self.seen = object()
        self.loop = self


class Refusing:
    """Which cannot even be asked."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other):
        raise ValueError


def differ(a, b, tolerance=None):
    return same.mismatch(copy_outputs(a), copy_outputs(b), tolerance)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.float32([1e6, 1]), np.float32([1e6, 50])),  # small beside a large one
        (np.float32([2e-9, -1e-9]), np.float32([-4e-9, 2e-9])),  # tiny altogether
        (np.float32([[1e6, 1e6], [1, 1]]), np.float32([[1e6, 1e6], [1.5, 1]])),  # row by row
        (np.float32([-1e9, 1.0, 2.0]), np.float32([-1e9, 1.0, 2.1])),  # beside a mask
        ([np.float32([1]), 20000], [np.float32([1]), 20001]),  # a count beside a tensor
        (np.float32([np.inf, 1e-9]), np.float32([np.inf, 0.0])),
        (np.float32([[1e6], [1]]), np.float32([[1e6], [50]])),
        # A number alone is measured by itself.
        *((np.float32(1e-8).reshape(shape), np.zeros(shape, "float32")) for shape in SHAPES),
        *((np.full(shape, -1e-8), np.full(shape, 1e-8)) for shape in SHAPES),
        (np.float32([1, 2]), np.float64([1, 2])),
        (np.float32([1, np.nan]), np.float32([1, 2])),
        (np.float32([1, np.inf]), np.float32([1, -np.inf])),
        (np.float32([1, np.inf]), np.float32([1, 2])),
        (np.float64([1e308]), np.float64([-1e308])),  # apart by more than a float holds
        (np.float32([0, 1]), np.float32([1e-3, 1])),
        (np.int64([2**60]), np.int64([2**60 + 1])),
        (np.uint64([2**60]), np.uint64([2**60 + 1])),
        (np.array([True]), np.array([False])),
        (np.array(["x", "y"]), np.array(["x", "z"])),
        (np.complex128([3 + 4j]), np.complex128([3 - 4j])),
        (1.0, 1.0 + 1e-6),
        (Point(1, 2), Point(1, 3)),
        (None, 1),
        (Version(1), Version(2)),
        (deque([np.ones(3), 1]), deque([np.ones(3), 2])),
        (Refusing(), Refusing()),
    ],
)
def test_what_differs(a, b, recwarn):
    assert differ(a, b)
    assert differ(b, a)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.float32([1, 2]), np.float32([1.00005, 2])),
        (np.float32([1e6, 1.0]), np.float32([1e6, 1.5])),  # what is left of terms that cancel
        # A column is measured as a row is.
        (np.float32([[1e6], [1.0]]), np.float32([[1e6], [1.5]])),
        (np.float32([[[1e6], [1.0]]]), np.float32([[[1e6], [1.5]]])),
        (np.float32([-1e9, 1.0, 2.0]), np.float32([-1e9, 1.0, 2.00001])),
        (np.float32([[1.0]]), np.float32([[1.00005]])),
        (np.float16([1.0]), np.float16([1.005])),
        (np.float32([1, np.nan]), np.float32([1, np.nan])),
        (np.float32([np.inf, 1]), np.float32([np.inf, 1])),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array(["x", "y"]), np.array(["x", "y"])),
        (np.complex64([1 + 1j]), np.complex64([1 + 1.00001j])),
        (1, np.int64(1)),  # Python's numbers go with any dtype
        (2.5, np.float32(2.5)),
        ([np.float32([1]), 10.4], [np.float32([1]), 10.40000095]),  # as exact as the tensors
        ([1, (2, None)], [1, (2, None)]),
        (Version(1), Version(1)),
        (Cache(1.0), Cache(1.0)),
        (deque([np.float32([1, 2])]), deque([np.float32([1.00005, 2])])),
        (object(), object()),
    ],
)
def test_what_is_the_same(a, b):
    assert differ(a, b) == ""
    assert differ(b, a) == ""


@pytest.mark.parametrize(
    ("received", "expected", "said"),
    [
        ("no", "yes", "output is 'no', should be 'yes'"),
        (np.float32([1]), np.int64([1]), "output has dtype float32, should have int64"),
        (np.zeros((2, 3)), np.zeros(3), "output has shape (2, 3), should have (3,)"),
        ((1, 2, 3), (1, 2), "output[2], should be nothing"),
        ((1, {"y": 1}), (1, {"z": 1}), "output[1]['y'], should be output[1]['z']"),
        ({"a": np.float32([1.0]), "b": [np.float32([5.0])]},
         {"a": np.float32([1.0]), "b": [np.float32([2.0])]},
         "output['b'][0][0] is 5, should be 2: 3 apart, 0.0002 allowed"),
        (Cache(1.0), Cache(2.0),
         "output['layers'][0]['keys'][0] is 1, should be 2: 1 apart, 0.0002 allowed"),
        (np.float32([[25.6, 1], [25.6144, 1]]), np.float32([[25.6, 1], [25.6, 1]]),
         "output[1, 0] is 25.61, should be 25.6: 0.0144 apart, 0.00256 allowed"),
        (np.int64(2**60), np.int64(2**60 + 1),
         "output is 1152921504606846976, should be 1152921504606846977; no difference is "
         "allowed"),
        (np.float32([1, np.nan]), np.float32([1, 2]), "output[1] is nan, should be 2"),
        (np.float16([25.0]), np.float16([25.6]),
         "output[0] is 25, should be 25.6: 0.594 apart, 0.256 allowed"),
        ((1,), (1, {"y": 2}), "nothing, should be output[1]['y']"),
        (np.array(["x", "y"]), np.array(["x", "z"]),
         "output is ['x', 'y'], should be ['x', 'z']"),
        (np.array([True]), np.array([False]),
         "output[0] is True, should be False; no difference is allowed"),
        (1 + 1j, 1 + 2j, "output is 1+1j, should be 1+2j: 1 apart, 2.24e-09 allowed"),
    ],
)  # fmt: skip
def test_the_words_name_the_leaf_and_what_was_expected(received, expected, said):
    assert differ(received, expected) == said
    assert differ(expected, received)


def test_what_says_nothing_of_equality_is_named():
    answer = copy_outputs({"x": 1.0, "state": object(), "v": Version(1), "d": None, "w": "a"})
    assert same.incomparable(answer) == ["output['state']"]
    holder = Version(3)  # numbers alone are no tensors
    assert copy_outputs([holder]) == copy_outputs([Version(3)])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_float32_of_an_accelerator_is_measured_by_its_row(dtype):
    def apart(a, b, dtype, tolerance=None, **where):
        answers = [{"output": HostArray(dtype, np.array(one, dtype), **where)} for one in (a, b)]
        return same.mismatch(*answers, tolerance)

    gpu = {"accelerated": True}
    row = [1.0, 0.001], [1.003, 0.004]  # as far apart as TF32 may leave them
    assert not apart(*row, dtype, **gpu)
    assert apart(*row, dtype)  # the CPU
    assert apart([1.0, 0.001], [1.01, 0.001], dtype, **gpu)
    assert "0.00391 allowed" in apart([1.0, 0.006], [1.0, 0.001], dtype, **gpu)
    assert not apart([1.0, 0.006], [1.0, 0.001], dtype, 0.01, **gpu)  # a larger one allows more
    assert apart(1e-4, 1.1e-4, dtype, **gpu)  # alone, it is measured by itself
    for exact in ("float64", "float16", "bool"):
        assert apart([1.0, 0.01], [1.0, 0.0], exact, **gpu) == apart([1.0, 0.01], [1.0, 0.0], exact)


def test_one_of_two_answers_from_an_accelerator_is_enough_also_beside_a_number():
    cpu, gpu = (HostArray("float32", np.float32([1.0, 2.0]), where) for where in (False, True))
    near = HostArray("float32", np.float32([1.0, 2.001]))
    assert same.mismatch({"output": near}, {"output": cpu})
    assert not same.mismatch({"output": near}, {"output": gpu})
    assert not same.mismatch({"output": gpu}, {"output": near})
    number = {"loss": to_host(2.0)}, {"loss": to_host(2.001)}
    assert not same.mismatch({"output": gpu} | number[0], {"output": gpu} | number[1])
    assert same.mismatch({"output": cpu} | number[0], {"output": cpu} | number[1])


def test_a_tolerance_is_for_floats_and_whole_numbers_have_to_be_equal():
    assert not differ(np.float32([110]), np.float32([100]), tolerance=0.2)
    for kind in (np.int64, np.uint8, bool):
        found = np.array([1, 0], kind), np.array([1, 1], kind)
        assert "no difference is allowed" in differ(*found, tolerance=0.9)
        assert not differ(found[0], found[0].copy(), tolerance=0.9)
    assert "no difference is allowed" in differ(np.int64([110]), np.int64([100]), tolerance=0.2)
    assert differ(110, 100, tolerance=0.2)  # of Python's, too


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_has_no_distance(bad):
    said = differ(np.array([bad, 1.0]), np.array([1.0, 1.0]))
    assert said
    assert "apart" not in said
