"""Guesses beside what was measured: rows, the picture, the sentences, and what is refused."""

import re
from dataclasses import replace
from itertools import chain

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_hand import comparison
from figures import in_words, require_good_looks
from kernels import executed
from processes import python

from d2lhybrid.core import i18n
from d2lhybrid.errors import ArgumentError
from d2lhybrid.experiments.comparison import MIME
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.row import Row, Times, fastest
from d2lhybrid.teaching import reveal
from d2lhybrid.teaching.bars import Group, picture, picture_in_words
from d2lhybrid.teaching.revealed import Revealed, sentences_of


def rows_of(results):
    return [comparison.rows for comparison in results.values()]


def groups(results, guess):
    return [Group.of(name, c.rows, guess.get(name)) for name, c in results.items()]


def sentences_about(results, guess):
    found = (sentences_of(name, c.rows, guess.get(name)) for name, c in results.items())
    return [*chain.from_iterable(found)]


def below(results):
    return Revealed({name: c.rows for name, c in results.items()}, {})


LARGE = {"eager": 4e-2, "torch.compile": 2e-2, "C": 1e-3}
SMALL = {"eager": 1e-3, "new": 5e-4, "old": 4e-4, "slow": 2e-3, "twin": 1e-3}


FATES = {"exp": "dropped", "tanh": "fused", "add": "fused"}


@pytest.fixture
def results():
    unsure = comparison({"eager": 1e-3, "b": 9.8e-4}, noise=0.05)
    return {
        "ResNet": comparison(LARGE, first={"torch.compile": 4.2}, references=("C",)),
        "MLP": comparison(SMALL, deprecated=("old",), unavailable={"aot": "no compiler"}),
        "unsure": unsure,
        "few": comparison({"eager": 1e-3, "c": 9e-4, "d": 5e-3}, rounds=3),
        "alone": comparison({"eager": 1e-3}),
    }


def test_rows_have_what_was_measured_and_the_guess_belongs_to_the_fastest(results):
    resnet, mlp, _unsure, few, alone = groups(results, {"ResNet": 3, "alone": np.float64(2)})
    (row,) = resnet.rows  # without baseline and reference
    assert (row.label, row.latency.verdict, row.latency.ratio) == (
        "torch.compile",
        "faster",
        pytest.approx(2, 0.01),
    )
    assert (row.pays_after, row.deprecated) == (
        results["ResNet"].break_even("torch.compile"),
        False,
    )
    assert (resnet.baseline.label, resnet.baseline.latency.seconds) == (
        "eager",
        results["ResNet"]["eager"].median,
    )
    assert (resnet.guess, mlp.guess, alone.guess) == (3, None, 2)
    assert fastest(mlp.rows).name == "old (deprecated)"
    assert [one.label for one in mlp.rows if one.deprecated] == ["old"]
    assert few.rows[0].latency.interval == (0, np.inf)
    assert alone.rows == ()


def test_a_sentence_for_each_bar(results):
    said = sentences_about(results, {"ResNet": 3, "MLP": 0.5})
    patterns = [
        r"ResNet: torch.compile is (2\.0\d|1\.99) times as fast as eager \(20\.0 ms instead of "
        r"40\.0 ms\) and pays off its cold start after 2\d\d calls\. You guessed 3\.",
        r"MLP: new is (2\.0\d|1\.99) times as fast as eager \(500 µs instead of 1\.00 ms\)\.",
        r"MLP: old \(deprecated\) is 2\.\d\d times as fast as eager \(400 µs instead of "
        r"1\.00 ms\)\. You guessed 0\.5\.",
        r"MLP: slow takes (2\.0\d|1\.99) times as long as eager \(2\.00 ms instead of "
        r"1\.00 ms\)\.",
        r"MLP: twin takes the same time as eager to within 2\.0% \(1\.00 ms and 1\.00 ms\)\.",
        r"unsure: it is undecided whether b is faster than eager\. The ratio lies between \d\S+ "
        r"and \d\S+, with a noise floor of \S+%\.",
        r"few: it is undecided whether c is faster than eager\. There are too few rounds to "
        r"decide it\.",
        r"few: it is undecided whether d is faster than eager\. There are too few rounds to "
        r"decide it\.",
    ]
    for line, pattern in zip(said, patterns, strict=True):
        assert re.fullmatch(pattern, line), line


def test_calls_that_are_a_lower_bound_are_not_in_the_sentence():
    changes = {"b": {"compiler": "Compiler"}}
    c = comparison({"eager": 1e-3, "b": 5e-4}, first={"b": 1.0}, changes=changes)
    (said,) = sentences_about({"MLP": c}, {})
    assert re.search(r"b is \S+ times as fast as eager \(500 µs instead of 1.00 ms\)\.$", said)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
@pytest.mark.parametrize("guess", [{}, {"ResNet": 2.6, "MLP": 2.4, "unsure": 1.0, "alone": 3}])
def test_the_picture_is_legible_with_near_and_far_guesses(results, language, guess):
    i18n.set_language(language)
    for found in (guess, {name: 100 * value for name, value in guess.items()}):
        for busy in (False, True):
            made = {"本" * 12: comparison(SMALL, busy=True)} if busy else results
            given = {} if busy else found
            ax = picture(groups(made, given), rows_of(made))
            require_good_looks(ax)
            assert bool(ax.figure.get_suptitle()) == busy
            assert bool(ax.get_legend()) == bool(given)


def test_bars_reach_from_eager_to_the_ratio_and_are_told_apart_without_colours(results):
    ax = picture(groups(results, {"MLP": 2.4}), rows_of(results))
    rows = [row for group in groups(results, {}) for row in group.rows]
    filled = [bar for bar in ax.patches if bar.get_facecolor()[3]]
    ends = [bar.get_x() + bar.get_width() for bar in filled]
    assert ends == pytest.approx([row.latency.ratio for row in rows])
    assert {bar.get_x() for bar in filled} == {1}
    assert ax.get_xscale() == "log"
    pale = [bar.get_alpha() is not None for bar in filled]
    assert pale == [row.latency.verdict == "undecided" for row in rows]
    dashed = [bar for bar in ax.patches if not bar.get_facecolor()[3]]
    assert len(dashed) == sum(pale)
    said = [text.get_text() for text in ax.texts if "×" in text.get_text()]
    assert [bool(re.search(", (same|undecided)", text)) for text in said] == [
        row.latency.verdict in ("same", "undecided") for row in rows
    ]
    assert re.fullmatch(r"(2\.0\d|1\.99)× \(20\.0 ms\)", said[0])
    (diamond,) = (line for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata()))
    assert (diamond.get_xdata()[0], diamond.get_markerfacecolor()) == (2.4, "none")
    labels = dict(
        zip(ax.get_yticks(), (one.get_text() for one in ax.get_yticklabels()), strict=True)
    )
    assert labels[diamond.get_ydata()[0]] == "old (deprecated)"
    heads = [text.get_text() for text in ax.texts]
    assert heads.index("ResNet") + 1 == heads.index("eager 40.0 ms")


def test_bars_of_what_was_recorded_say_nothing_of_this_machine(results):
    ax = picture(groups(results, {}))
    require_good_looks(ax)
    assert not ax.figure._supxlabel
    assert "Bars that show" in in_words(ax)


def test_a_text_makes_room_for_a_guess_that_would_cover_it(results):
    only = {"ResNet": results["ResNet"]}
    end = groups(only, {})[0].rows[0].latency.ratio
    for guess, moved in ((2.3, True), (1.005 * end, True), (1.2, False), (40.0, False)):
        ax = picture(groups(only, {"ResNet": guess}), rows_of(only))
        (said,) = (text for text in ax.texts if "×" in text.get_text())
        assert (said.xy[0] == guess) == moved


def test_the_picture_in_words(results):
    ax = picture(groups(results, {"alone": 2}), rows_of(results))
    said = in_words(ax)
    assert said.startswith("Bars that show how many times as fast as eager each variant is: ResNet")
    assert said.endswith("alone (eager 1.00 ms): your guess: 2×.")
    assert "old (deprecated) 2." in said
    mixed = [
        *groups(results, {})[:1],
        replace(groups(results, {})[1], baseline=Row("other", times={"latency": Times(1.0)})),
    ]
    assert "as fast as the baseline each" in picture_in_words(mixed)


def test_outside_of_a_notebook_all_is_text_and_a_busy_machine_is_said_once(capsys):
    close = {"eager": 1e-3, "new": 9e-4}
    made = {"A": comparison(close, busy=True), "B": comparison(close, busy=True)}
    made["B"] = replace(made["B"], unavailable={"aot": "no compiler"})
    reveal(made, {"A": 3})
    said = capsys.readouterr().out
    assert said.count("⚠") == 1
    order = ["⚠", "Bars that show", "A: it is undecided", "up. You guessed 3.", "B: it is",
             "aot was left out: no compiler.", "\nA\n ", "\nB\n "]  # fmt: skip
    assert [said.index(one) for one in order] == sorted(said.index(one) for one in order)
    assert not plt.get_fignums()


def test_below_the_picture_tables_are_folded_and_programs_find_their_rows(results):
    shown = below(results)
    html = shown._repr_html_()
    above, _summary, inside = html.partition("<details>")
    assert "is (2" not in above
    assert above.count("<div>") == 9  # a sentence for each bar, and what was not run
    assert (above.count("<table>"), inside.count("<table>")) == (0, 5)
    assert "<details>" not in inside
    found = shown._repr_mimebundle_()[MIME]
    assert (found["kind"], [*found["comparisons"]]) == ("reveal", [*results])
    assert found["comparisons"]["MLP"]["rows"][2]["deprecated"]


def test_in_a_notebook_the_picture_comes_first_and_once(tmp_path):
    code = (
        "from d2lhybrid import compare\n"
        "from d2lhybrid.teaching import reveal\n"
        "c = compare({'a': sum, 'b': max}, range(9), check=False, time_limit=0.1)\n"
        "reveal({'one': c}, {'one': 2})"
    )
    (cell,) = executed([code], tmp_path)
    picture, below = cell.outputs
    assert {*picture.data} == {"image/png", "text/plain"}
    assert {*below.data} == {"text/html", "text/plain", MIME}


@pytest.mark.parametrize(
    ("made", "guess", "said"),
    [
        ({}, {}, "comparisons, words or numbers by name, such as .*Received: {}"),
        (None, {}, "comparisons, words or numbers by name.*None"),
        ({"a": comparison(LARGE), "b": 3}, {}, "Received: {'a': Comparison, 'b': 3}"),
        ({"a": [1]}, {}, r"words or numbers by name, .*Received: {'a': \[1\]}"),
        ({"a": True}, {}, "Received: {'a': True}"),
        ({"a": "kept", "b": 2}, {}, "Received: {'a': 'kept', 'b': 2}"),
        (FATES, ["kept"], "dict of guesses, such as {'exp': 'dropped'}. Received: list"),
        (FATES, {"sin": "kept"}, "guesses for 'exp', 'tanh', 'add'. Received: one for 'sin'"),
        (FATES, {"exp": 1}, "a word as the guess for 'exp'. Received: 1"),
        (FATES, {"exp": ...}, "a word as the guess for 'exp'. Received: Ellipsis"),
        ({"a": 3}, {"a": "3"}, "a number as the guess for 'a'. Received: '3'"),
        ({"a": 3}, {"a": True}, "a number as the guess for 'a'. Received: True"),
        ("fine", [1], "dict of guesses, such as {'a': 1.5}.*list"),
        ("fine", {"b": 1}, "guesses for 'a'. Received: one for 'b'"),
        ("fine", {"a": 0}, "above 0.*Received: 0 for 'a'"),
        ("fine", {"a": -1.0}, "above 0.*Received: -1.0 for 'a'"),
        ("fine", {"a": float("nan")}, "above 0.*nan"),
        ("fine", {"a": float("inf")}, "above 0.*inf"),
        ("fine", {"a": True}, "above 0.*True"),
        ("fine", {"a": "3"}, "above 0.*'3'"),
        ("fine", {"a": ...}, "above 0.*Ellipsis"),
    ],
)
def test_what_is_no_guess_or_no_result_is_refused(made, guess, said):
    made = {"a": comparison(LARGE)} if made == "fine" else made
    with pytest.raises(ArgumentError, match=said):
        reveal(made, guess)


def revealed(actual, guess, capsys):
    reveal(actual, guess)
    return capsys.readouterr().out.splitlines()


def test_words_stand_beside_the_guesses_and_a_mark_where_they_differ(capsys):
    assert revealed(FATES, {"tanh": "kept", "exp": " Dropped"}, capsys) == [
        "      your guess  actual",
        "exp    Dropped    dropped",
        "tanh  kept        fused    ✗",
        "add   –           fused",
        "You got 1 of 2 right.",
    ]
    assert revealed(FATES, {"exp": "vanished"}, capsys)[-1] == "You got 0 of 1 right."


def test_without_a_guess_nothing_is_counted(capsys):
    assert revealed({"a": 1}, {}, capsys) == ["   your guess  actual", "a           –       1"]


def test_words_of_ours_are_shown_in_the_language_and_may_be_guessed_in_it(capsys):
    i18n.set_language("pt")
    guesses = {"exp": "descartada", "tanh": "fused", "add": "kept"}
    heads, *rows, _score = revealed(FATES, guesses, capsys)
    assert heads.split("  ")[-2].strip() == "seu palpite"
    assert [row.split() for row in rows] == [
        ["exp", "descartada", "descartada"],
        ["tanh", "fundida", "fundida"],
        ["add", "mantida", "fundida", "✗"],
    ]


@pytest.mark.parametrize(
    ("actual", "guess", "is_right"),
    [
        (5, 5, True),
        (5, 5.0, True),
        (np.int64(50), 49, False),
        (0, 0, True),
        (2.0, 2.2, True),
        (0.3, 0.33, True),
        (2.0, 1.8, True),
        (np.float32(2.0), 2.21, False),
        (-2.0, -1.9, True),
        (0.0, 1e-9, False),
        (float("inf"), float("inf"), True),
        (float("inf"), 5, False),
        (float("nan"), 1.0, False),
        (1.0, float("nan"), False),
    ],
)
def test_a_whole_number_is_met_exactly_and_any_other_within_a_tenth(
    actual, guess, is_right, capsys
):
    _heads, row, score = revealed({"a": actual}, {"a": guess}, capsys)
    assert row.endswith("✗") != is_right
    assert score == f"You got {int(is_right)} of 1 right."


def test_numbers_are_shown_as_everywhere(capsys):
    i18n.set_language("pt")
    _heads, *rows, _score = revealed({"a": 28566, "b": 0.012345}, {"a": 3, "b": 1234.5}, capsys)
    assert [row.split() for row in rows] == [
        ["a", "3", "28.566", "✗"],
        ["b", "1.230", "0,0123", "✗"],
    ]


def test_words_need_no_matplotlib():
    code = (
        "import sys; from d2lhybrid.teaching import reveal; reveal({'a': 1}, {'a': 1})\n"
        "print('matplotlib' in sys.modules, 'IPython' in sys.modules)"
    )
    assert python("-c", code).stdout.splitlines()[-1] == "False False"


def test_the_reason_of_a_row_stands_after_its_sentence_and_not_again_below(results):
    facts = {"slow": Facts(runs_compiled=False, why_not="It was skipped because of a loop.")}
    mlp = replace(results["MLP"], facts=facts)
    said = sentences_about({"MLP": mlp}, {})
    (slow,) = (line for line in said if line.startswith("MLP: slow"))
    assert "2.00 ms instead of 1.00 ms" in slow
    assert slow.endswith("because of a loop.")
    shown = repr(below({"MLP": mlp}))
    assert shown.count("because of a loop") == 1


def test_the_name_of_a_comparison_may_be_a_number(capsys):
    reveal({1: comparison(LARGE)}, {1: 1.5})
    assert "You guessed 1.5." in capsys.readouterr().out
