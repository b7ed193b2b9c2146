"""Trials: what is printed and what the table says can only be what came out."""

import operator
import warnings

import numpy as np
import pytest
import torch

from d2lhybrid.core import i18n
from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.teaching import Trials, outcome, print_table


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
    trials(lambda x: operator.imul(x, 2), "doubling")  # no way may see what another wrote
    assert rows(trials)[1] == [
        "doubling",
        "honest: same as eager; frozen, warning: wrong result; refusing: TypeError",
        "frozen: nothing; refusing: an error; warning: a warning",
    ]
    assert (ROW[0][0], ROW[1][0]) == (1, 2)
    trials(lambda x: x + x, instead="x + x")
    assert rows(trials)[1][-1] == "x + x (differs: frozen, refusing, warning)"
    trials(lambda x: x * 3, instead="x * 3", as_good=True)
    trials(lambda x: x * 3, "doubling", instead="3 * x")
    assert rows(trials)[1][-1].endswith(
        "; x * 3 (differs: frozen, refusing, warning)"
        "; 3 * x (differs: frozen, refusing, warning, eager)"
    )


@pytest.mark.filterwarnings("default")
def test_ways_with_one_outcome_share_a_line(capsys):
    Trials(WAYS, inputs=(1, 2))(operator.neg, "a sign")
    assert capsys.readouterr().out.splitlines() == [
        "a sign",
        "  eager     -2.0",
        "  honest    the same",
        "  frozen    -1.0",
        "  refusing  TypeError: Cannot compile.",
        "  warning   -1.0",
        "            RuntimeWarning: the result is fixed",
    ]
    Trials({"honest": WAYS["honest"], "kept": WAYS["honest"]}, inputs=(1, 2))(operator.neg)
    assert capsys.readouterr().out == "eager         -2.0\nhonest, kept  the same\n"


def test_numbers_of_a_dict_are_rounded_in_whatever_order_they_come(capsys):
    def sorting(function, example):
        return lambda x: dict(sorted((key, part + 1e-7) for key, part in function(x).items()))

    trials = Trials({"sorting": sorting}, inputs=(np.ones(2), np.zeros(2)))
    trials(lambda x: {"b": x, "a": x + 1}, "a dict")
    assert rows(trials)[1] == ["a dict", "same as eager"]


def test_an_input_that_cannot_be_copied_is_refused_and_no_function_is_blamed():
    trials = Trials(WAYS, inputs=(torch.ones(2, requires_grad=True) * 2, torch.ones(2)))
    with pytest.raises(ArgumentError, match=r"can be copied\. Received: Tensor \(RuntimeError: "):
        trials(abs, "a situation")
    assert not trials.situations


def test_names_are_joined_as_the_language_does(capsys):
    i18n.set_language("zh")
    Trials({"honest": WAYS["honest"], "kept": WAYS["honest"]}, inputs=(1, 2))(operator.neg)
    assert "honest、kept" in capsys.readouterr().out


def test_trials_may_share_a_table():
    table = {}
    for name in ("one", "two"):
        Trials(WAYS, inputs=(1, 2), situations=table)(abs, name)
    assert [*table] == ["one", "two"]


def test_graphs_tell_a_fallback_from_a_new_compilation():
    count = []
    counted = {"honest": WAYS["honest"]}
    trials = Trials(counted, inputs=(1, 2), reset=count.clear, graphs=lambda f: len(count))
    trials(lambda x: count.append(x), "at each call")
    trials(lambda x: count.extend([x, x]), "at once")
    trials(lambda x: count.append(x) if not count else None, "once")
    assert [row[1:3] for row in rows(trials)[1:]] == [
        ["recompilation", "slower calls"],
        ["fallback", "slower calls"],
        ["same as eager"],
    ]


def test_a_class_is_made_anew_and_other_numbers_can_be_as_good():
    class Counting:
        calls = 0

        def __call__(self, x):
            self.calls += x
            return self.calls

    trials = Trials({"honest": WAYS["honest"], "frozen": frozen}, inputs=(1, 2))
    trials(Counting, "state", as_good=True)
    assert rows(trials)[1][1:] == [
        "honest: same as eager; frozen: different numbers",
        "frozen: nothing",
    ]


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


def test_what_does_not_fit_is_refused_before_anything_is_called():
    with pytest.raises(ArgumentError, match=r"\(example, other\)\. Received: inputs=\(3\.0\)"):
        Trials(WAYS, inputs=(3.0,))(abs, "a situation")
    trials = Trials(WAYS, inputs=(1, 2))
    with pytest.raises(ArgumentError, match="Received: instead='abs'"):
        trials(abs, instead="abs")
    trials(abs, "doubling")
    with pytest.raises(UnknownLabelError, match=r"one of 'doubling'.*Write 'doubling'"):
        trials(abs, "dubling", instead="abs")


def test_a_table_may_have_one_column(capsys):
    print_table(["size"], [[1], [20]])
    assert capsys.readouterr().out.splitlines() == ["size", "   1", "  20"]


def test_a_table_writes_numbers_as_the_language_does(capsys):
    i18n.set_language("pt")
    print_table(["", "ms", ""], [["v1.5", "1,160.25", "12 → 2"], ["b", 0.5, 1000]])
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["v1.5", "1.160,25", "12", "→", "2"], ["b", "0,5", "1000"]]
