"""Trials: what is printed and what the table says can only be what came out."""

import operator
import warnings

import numpy as np
import pytest
import torch

from d2lhybrid.errors import ArgumentError
from d2lhybrid.teaching import Trials, outcome


def frozen(function, example):
    """A compiler that keeps the first result for good."""
    fixed = function(example)
    return lambda x: fixed


def refusing(function, example):
    raise TypeError("Cannot compile.\nSee the manual.")


def warning(function, example):
    warnings.warn("the result is fixed", RuntimeWarning, stacklevel=1)
    return frozen(function, example)


WAYS = {
    **{"honest": lambda function, example: function, "frozen": frozen},
    **{"refusing": refusing, "warning": warning},
}
ROW = np.array([1.0, float("nan")]), np.array([2.0, float("nan")])


def rows(trials):
    lines = repr(trials).splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell] for line in lines]


@pytest.mark.filterwarnings("default")
def test_each_way_is_told_apart_and_what_is_written_instead_has_to_do_the_same():
    trials = Trials(WAYS, inputs=ROW)
    trials(lambda x: operator.imul(x, 2), of="doubling")  # no way may see what another wrote
    verdicts = ["works", "as eager", "wrong result", "TypeError", "wrong result, with a warning"]
    assert rows(trials)[1] == ["doubling", *verdicts]
    assert (ROW[0][0], ROW[1][0]) == (1, 2)
    trials(lambda x: x + x, of="doubling", instead="x + x")
    assert rows(trials)[1][-1] == "x + x (differs: frozen; refusing; warning)"


def test_a_result_is_shown_as_rounded_numbers_and_an_error_as_a_line():
    for value, shown in (
        (np.float32(1 / 3), "0.3333"),
        (np.array([-0.0, 1e-9]), "[0.0, 0.0]"),
        (torch.ones(2, dtype=torch.bfloat16), "[1.0, 1.0]"),
        (torch.Size([2, 3]), "[2.0, 3.0]"),
        ([1, [2, 3]], "[1.0, [2.0, 3.0]]"),
        (1 + 2j, "(1+2j)"),
        (None, "None"),
    ):
        assert repr(outcome(lambda value=value: value)) == shown
    assert outcome({}.__getitem__, "word " * 99).endswith("[...]")
    with pytest.raises(ArgumentError, match="two inputs"):
        Trials({})(abs, 1)
