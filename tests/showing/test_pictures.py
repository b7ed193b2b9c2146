"""What is drawn: texts inside the figure, lengths that are times, marks besides colours."""

import pickle
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_hand import comparison, sweep
from figures import in_words, require_good_looks
from matplotlib.ft2font import FT2Font

from d2lhybrid.core import i18n
from d2lhybrid.core.table import seconds
from d2lhybrid.showing.plot import CHINESE, JAPANESE
from d2lhybrid.teaching import plot_roofline
from d2lhybrid.verbs.sweep import Sweep

LONG = r"torch.compile $\foo$ with a long name"


def spread(ratio, variants):
    """Times of so many variants, evenly spread over so many times, the baseline in the middle."""
    times = [1e-4 * ratio ** (at / (variants - 1)) for at in range(variants)]
    times.insert(0, times.pop(variants // 2))
    return {f"variant {at}": time for at, time in enumerate(times)}


SHAPES = [("en", 2, 1.02), ("en", 12, 1e4)]
SHAPES += [(language, 5, 10) for language in i18n.LANGUAGES[1:]]


@pytest.mark.parametrize(("language", "variants", "ratio"), SHAPES)
def test_every_plot_of_any_number_and_ratio(language, variants, ratio):
    i18n.set_language(language)
    settings = plt.rcParams.copy()
    times = {LONG: 1e-4, **spread(ratio, variants), "即時コンパイル": 1e-4}  # no glyph is missing
    stream = {label: time / (1 + at % 3) for at, (label, time) in enumerate(times.items())}
    c = comparison(times, stream, references=("variant 1",), busy=True)
    sizes = [ratio ** (at / 11) for at in range(12)]
    many = {label: [time * size for size in sizes] for label, time in times.items()}
    drawn = [c.plot(), c.plot(metric="throughput")]
    drawn += [sweep([2**at for at in range(12)], many, busy=True).plot()]
    for ax in drawn:
        assert "⚠" in ax.figure.get_suptitle()
        assert "Python 3.11.9" in ax.figure.get_supxlabel()
        assert pickle.loads(pickle.dumps(ax.figure)).axes
    quiet = [comparison(times).plot(), sweep([0, 1], {"a": [1e-3] * 2}).plot()]  # no logarithm
    assert not any(ax.figure.get_suptitle() for ax in quiet)
    assert plt.rcParams == settings
    for ax in [*drawn, *quiet]:
        require_good_looks(ax)
        legend = ax.get_legend()
        assert not legend or not legend.get_window_extent().overlaps(ax.get_window_extent())


def test_marks_stand_at_their_times_and_are_labelled():
    c = comparison({"eager": 1e-3, "fast": 1e-5, "slow": 2e-3, "twin": 1e-3, "C": 2e-4},
                   references=("C",))  # fmt: skip
    ax = c.plot()
    marks = [line for line in ax.lines if line.get_marker() in [*"<>sDo"]]
    assert [line.get_xdata()[0] for line in marks] == [m.median for m in c.values()]
    assert [line.get_marker() for line in marks] == ["o", "<", ">", "s", "o"]
    ends = [r"$", r" \(.*×, faster\)", r" \(.*×, slower\)", r" \(.*×, same\)", r" \(.*×\)"]
    for text, m, end in zip(ax.texts, c.values(), ends, strict=True):
        assert re.fullmatch(seconds(m.median) + end, text.get_text())
    assert min(text.xy[0] for text in ax.texts) >= c["eager"].median, "the line crosses a text"
    assert [text.get_text() for text in ax.get_yticklabels()] == list(c)
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first variant stands at the top"


def test_what_is_deprecated_is_marked_with_a_word_in_every_plot():
    c = comparison({"eager": 1e-3, "old": 1e-4}, deprecated=("old",))
    ax = c.plot()
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert sorted(labels) == ["eager", "old (deprecated)"]
    assert "old (deprecated) 100 µs" in in_words(ax)
    ax = Sweep((8, 16), (c, c)).plot()
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["eager", "old (deprecated)"]
    assert "old (deprecated) from" in in_words(ax)


def test_intervals_are_drawn_and_of_few_samples_their_range():
    for rounds in (30, 3):
        c = comparison({"eager": 1e-3, "b": 5e-4}, noise=0.1, rounds=rounds)
        bars = [bar for one in c.plot().containers for bar in one.lines[2]]
        found = [tuple(bar.get_segments()[0][:, 0]) for bar in bars]
        few = [(min(m.samples), max(m.samples)) for m in c.values()]
        ends = few if rounds < 6 else [m.interval() for m in c.values()]
        assert found == [pytest.approx(one) for one in ends]


def test_a_sweep_draws_medians_and_bands_by_both_metrics_at_its_sizes():
    points = [comparison({"a": t, "b": t / 2}, {"a": t / 3, "b": t / 4}) for t in (1e-3, 2e-3)]
    ax = Sweep((8, 16), tuple(points)).plot(xlabel="batch size")
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2]
    drawn = {(line.get_label()[:1], line.get_linestyle()): [*line.get_ydata()] for line in lines}
    assert drawn["a", "-"] == [c["a"].median for c in points]
    assert drawn["_", ":"] == [c["b"].median_of("throughput") for c in points]
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert set(np.round(band, 12)) == {round(end, 12) for c in points for end in c["a"].interval()}
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["a", "b", "latency", "throughput"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["8", "16"]
    assert (ax.get_xlabel(), ax.get_xscale()) == ("batch size", "log")


@pytest.mark.parametrize(
    ("language", "family", "font"),
    [("zh", "D2L Hybrid SC", CHINESE), ("ja", "D2L Hybrid JP", JAPANESE)],
)
def test_chinese_and_japanese_have_the_shapes_of_their_language_and_all_of_them(
    language, family, font
):
    i18n.set_language(language)
    families = comparison({"a": 1e-3}).plot().xaxis.label.get_fontfamily()
    assert next(name for name in families if name.startswith("D2L")) == family
    charmap = FT2Font(str(font)).get_charmap()
    catalog = Path(i18n.__file__).parents[1] / "locale" / language / "LC_MESSAGES" / "d2lhybrid.po"
    wide = {sign for sign in catalog.read_text(encoding="utf-8") if ord(sign) > 0x2E7F}
    assert not [sign for sign in wide if ord(sign) not in charmap]


def test_every_figure_says_in_words_what_it_shows():
    c = comparison({"eager": 1e-3, "fast": 5e-4, "C": 1e-4}, references=("C",))
    assert in_words(c.plot()) == (
        "Plot of the time per call: eager 1.00 ms; fast 500 µs (2.00×, faster); C 100 µs (10.0×)."
    )
    busy = comparison({"eager": 1e-3}, busy=True).plot()
    assert re.match("⚠ The machine was busy: .* Plot of the time per call", in_words(busy))
    s = sweep([8, 1024], {"a": [1e-3, 2e-3], "b": [5e-4, 4e-4]})
    assert in_words(s.plot(xlabel="batch size")) == (
        "Plot of the time per call against batch size, from 8 to 1,024: "
        "a from 1.00 ms to 2.00 ms; b from 500 µs to 400 µs."
    )
    two = [comparison({"a": t, "b": t}, {"a": t / 4, "b": t / 2}) for t in (1e-3, 2e-3)]
    assert "a (throughput) from 250 µs to 500 µs" in in_words(Sweep((1, 2), tuple(two)).plot())
    roof = plot_roofline({"chain": ((0.1, 5e8), (0.6, 2e9))}, 2e10, 1e11, reused=4e10)
    assert in_words(roof) == (
        "Plot of FLOP/s by FLOP/byte, below the limits 2e+10 B/s (new array), 4e+10 B/s (old "
        "array) and 1e+11 FLOP/s: chain from 0.1 FLOP/byte, 5e+08 FLOP/s to 0.6 FLOP/byte, 2e+09 "
        "FLOP/s."
    )
    shown = [text.get_text() for text in roof.get_legend().get_texts()]
    assert shown == ["new array", "old array", "chain"]
