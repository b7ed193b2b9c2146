"""Trials: what is printed and what the table says can only be what came out."""

import warnings
from gettext import NullTranslations

import numpy as np
import pytest

from d2lhybrid import i18n, set_language
from d2lhybrid.teaching import Outcome, Raised, Trials, first_line, outcome


@pytest.fixture(autouse=True)
def english():
    set_language("en")
    yield
    set_language(None)


def frozen(function, example):
    """A compiler that keeps the first result for good."""
    fixed = function(example)
    return lambda x: fixed


def honest(function, example):
    return function


def refusing(function, example):
    raise TypeError("Cannot compile.\nSee the manual.")


def warning(function, example):
    warnings.warn("the result is fixed", RuntimeWarning, stacklevel=1)
    return frozen(function, example)


WAYS = {"honest": honest, "frozen": frozen, "refusing": refusing, "warning": warning}
ROW = np.array([1.0, float("nan")]), np.array([2.0, float("nan")])


def rows(trials: Trials) -> list[list[str]]:
    lines = repr(trials).splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell] for line in lines]


@pytest.mark.filterwarnings("default")
def test_each_way_is_told_apart(capsys):
    trials = Trials(WAYS, inputs=ROW)
    trials(lambda x: x * 2, of="doubling")
    assert capsys.readouterr().out.splitlines() == [
        "eager     [4.0, nan]",
        "honest    the same",
        "frozen    [2.0, nan]",
        "refusing  TypeError: Cannot compile.",
        "warning   [2.0, nan]",
        "          RuntimeWarning: the result is fixed",
    ]
    assert rows(trials)[1] == [
        "doubling",
        "works",
        "as eager",
        "wrong result",
        "TypeError",
        "wrong result, with a warning",
    ]


def test_a_way_never_sees_what_another_wrote_into_the_input():
    def write(x):
        x += 1
        return x

    trials = Trials({"honest": honest}, inputs=ROW)
    trials(write, of="writing")
    assert rows(trials)[1] == ["writing", "works", "as eager"]
    assert (ROW[0][0], ROW[1][0]) == (1, 2)


def test_graphs_are_counted_and_reset_between_ways(capsys):
    graphs = []

    def counting(function, example):
        graphs.extend("ab")
        return function

    trials = Trials(
        {"one": counting, "two": counting},
        inputs=(1, 2),
        reset=graphs.clear,
        graphs=lambda: len(graphs),
    )
    trials(abs, of="a number")
    assert "two    the same (graphs: 2)" in capsys.readouterr().out
    assert rows(trials)[1][2:] == ["as eager (graphs: 2)"] * 2


def test_what_is_written_instead_has_to_give_the_result_of_what_it_replaces(capsys):
    trials = Trials({"honest": honest}, inputs=ROW)
    trials(lambda x: x * 2, of="doubling")
    trials(lambda x: x + x, of="doubling", instead="x + x")
    trials(lambda x: x * 3, of="doubling", instead="x * 3")
    assert rows(trials)[1][-1] == "x + x; x * 3 (differs: eager)"


@pytest.mark.filterwarnings("default")
def test_what_is_written_instead_has_to_work_in_every_way(capsys):
    trials = Trials(WAYS, inputs=ROW)
    trials(abs, of="a sign")
    trials(abs, of="a sign", instead="abs")
    assert rows(trials)[1][-1] == "abs (differs: frozen; refusing; warning)"


def test_eager_errors_are_in_the_table_and_may_be_mended(capsys):
    trials = Trials({"honest": honest}, inputs=ROW)
    trials(lambda x: x.missing, of="an attribute")
    trials(lambda x: x.shape, of="an attribute", instead="shape")
    assert rows(trials)[1] == ["an attribute", "AttributeError", "AttributeError", "shape"]


def test_styles_are_columns_of_their_own(capsys):
    trials = Trials({"honest": honest, "frozen": frozen}, inputs=ROW)
    trials(abs, of="a sign", style="classic")
    trials(abs, of="a sign", style="NumPy")
    heads = rows(trials)[0]
    assert heads[2:6] == [
        "honest (classic)",
        "frozen (classic)",
        "honest (NumPy)",
        "frozen (NumPy)",
    ]
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "classic  eager   [2.0, nan]"
    assert printed[1] == "         honest  the same"


def test_a_style_stands_in_the_brackets_of_the_language(monkeypatch):
    class Words(NullTranslations):
        def gettext(self, message):
            return {"{name} ({style})": "{name}（{style}）"}.get(message, message)

    monkeypatch.setattr(i18n, "_catalog", lambda language: Words())
    trials = Trials({"frozen": frozen}, inputs=ROW)
    trials(abs, of="a sign", style="NumPy")
    trials(lambda x: x * 3, of="a sign", instead="x * 3", style="NumPy")
    assert rows(trials)[0][2] == "frozen（NumPy）"
    assert "eager（NumPy）" in rows(trials)[1][-1]


def test_recorded_results_make_a_row_and_html_is_escaped():
    trials = Trials({})
    trials.record("a < b", [1], {"graph": [1], "XLA": [2], "lite": Raised("KeyError: 'x'")})
    assert rows(trials)[1] == ["a < b", "works", "as eager", "wrong result", "KeyError"]
    markup = trials._repr_html_()
    assert "a &lt; b" in markup
    assert "<strong>wrong result</strong>" in markup
    assert "<strong>KeyError" not in markup


def test_other_numbers_that_are_as_good_are_no_wrong_result():
    trials = Trials({})
    found = {"graph": Outcome([2], as_good=True), "XLA": Outcome([1], as_good=True)}
    trials.record("rounding", [1], found)
    assert rows(trials)[1] == ["rounding", "works", "other numbers", "as eager"]
    assert "<strong>" not in trials._repr_html_()


def test_results_are_compared_as_they_are_printed():
    assert Outcome([0.12341]).same([0.12341])
    assert outcome(lambda: np.float32(1 / 3)) == 0.3333
    assert outcome(lambda: np.array([True])) == [True]
    assert outcome(lambda: np.array([-0.0])).__repr__() == "[0.0]"


def test_long_and_empty_messages():
    assert first_line(ValueError()) == "ValueError: (no message)"
    assert first_line(ValueError("word " * 99)).endswith("[...]")
