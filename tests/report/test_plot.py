"""What is drawn: ticks, texts inside the figure, marks besides colours; in every language."""

import base64
import io
import itertools
import pickle
import re
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from by_hand import BUSY, comparison, sweep
from matplotlib.colors import to_rgb

from d2lhybrid import i18n
from d2lhybrid.report import charts, plot
from d2lhybrid.report.axes import CHINESE, JAPANESE
from d2lhybrid.report.sweeps import Sweep
from d2lhybrid.report.units import seconds
from d2lhybrid.report.verdicts import VERDICTS

CATALOGS = sorted((Path(i18n.__file__).parent / "locale").glob("*/LC_MESSAGES/d2lhybrid.po"))
LONG = "torch.compile max-autotune with a long name"


def spread(ratio, variants):
    """Times of so many variants, evenly spread over so many times, the baseline in the middle."""
    times = [1e-4 * ratio ** (at / (variants - 1)) for at in range(variants)]
    times.insert(0, times.pop(variants // 2))
    return {f"variant {at}": time for at, time in enumerate(times)}


def shown(texts):
    return [text for text in texts if text.get_text() and text.get_visible()]


def boxes(texts):
    return [text.get_window_extent() for text in shown(texts)]


def require_apart(texts):
    for one, other in itertools.combinations(boxes(texts), 2):
        assert not one.overlaps(other)


def require_inside(texts, outer):
    for text, box in zip(shown(texts), boxes(texts), strict=True):
        assert outer.x0 - 1 <= box.x0 < box.x1 <= outer.x1 + 1, text.get_text()
        assert outer.y0 - 1 <= box.y0 < box.y1 <= outer.y1 + 1, text.get_text()


def require_good_looks(ax):
    """No text overlaps another of its kind or leaves its frame."""
    figure = ax.figure
    figure.canvas.draw()
    for axis in (ax.xaxis, ax.yaxis):
        ticks = [tick.label1 for tick in axis.get_major_ticks()]
        low, high = sorted(axis.get_view_interval())
        inside = [
            label
            for label, at in zip(ticks, axis.get_majorticklocs(), strict=False)
            if low <= at <= high
        ]
        require_apart(inside)
        if axis is ax.yaxis:
            require_inside(inside, figure.bbox)
        assert not shown(axis.get_minorticklabels())
    require_apart(ax.texts)
    require_inside(ax.texts, ax.get_window_extent())
    everything = figure.findobj(lambda artist: hasattr(artist, "get_text"))
    titles = [figure._supxlabel, figure._suptitle, ax.xaxis.label, ax.yaxis.label]
    require_inside([title for title in titles if title in everything], figure.bbox)


@pytest.mark.parametrize(
    ("language", "variants", "ratio"),
    [
        *(("en", *both) for both in itertools.product((2, 12), (1.02, 19, 100, 1e4))),
        *((language, 5, 10) for language in i18n.LANGUAGES[1:]),
    ],
)
def test_bars_of_any_number_and_ratio(language, variants, ratio):
    i18n.set_language(language)
    c = comparison(spread(ratio, variants), first={"variant 1": 12.0}, env=BUSY)
    require_good_looks(plot.comparison(c))


def test_bars_with_two_clocks_and_long_names():
    times = {"eager": 2.9e-4, LONG: 4e-4, "static": 1.8e-4, "C": 2e-5}
    stream = {"eager": 1.9e-4, LONG: 3.8e-4, "static": 4.8e-5, "C": 2e-5}
    ax = plot.comparison(comparison(times, stream, references=("C",)))
    require_good_looks(ax)
    assert len(ax.patches) == 8
    assert "throughput" in ax.get_xlabel()
    dark, pale = (patch.get_alpha() for patch in ax.patches[:2])
    assert dark > pale


def test_a_bar_is_as_long_as_its_time_and_labelled():
    c = comparison({"eager": 1e-3, "fast": 5e-4, "slow": 2e-3, "twin": 1e-3, "C": 2e-4},
                   references=("C",))  # fmt: skip
    ax = plot.comparison(c)
    assert [bar.get_width() for bar in ax.patches] == [m.median for m in c.values()]
    assert {bar.get_x() for bar in ax.patches} == {0}
    said = [text.get_text() for text in ax.texts]
    assert said[0] == "1.00 ms"
    assert re.fullmatch(r"500 µs \((2\.0\d|1\.99)×, faster\)", said[1])
    assert re.fullmatch(r"2\.00 ms \(0\.\d+×, slower\)", said[2])
    assert said[3].endswith("same)")
    assert re.fullmatch(r"200 µs \(\d\.\d+×\)", said[4])
    lines = [line.get_xdata()[0] for line in ax.lines if line.get_linestyle() == "-"]
    assert c["eager"].median in lines
    assert min(text.xy[0] for text in ax.texts) >= c["eager"].median, "the line crosses a text"
    assert [bar.get_hatch() for bar in ax.patches] == [None, None, None, None, "////"]
    assert [text.get_text() for text in ax.get_yticklabels()] == list(c)
    assert ax.get_ylim()[0] > ax.get_ylim()[1], "the first variant stands at the top"


def test_a_bar_of_a_logarithmic_axis_is_as_long_as_its_ratio():
    c = comparison({"eager": 1e-3, "fast": 1e-5, "slow": 2e-3})
    ax = plot.comparison(c)
    assert ax.get_xscale() == "log"
    base = c["eager"].median
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]
    for (low, high), m in zip(ends, c.values(), strict=True):
        assert (low, high) == pytest.approx((base, m.median))
    for text in ax.texts:
        assert text.xy[0] >= base, "a text covers a bar"


def test_intervals_are_drawn():
    c = comparison({"eager": 1e-3, "b": 5e-4}, noise=0.1)
    ax = plot.comparison(c)
    bars = [collection for container in ax.containers for collection in container.get_children()
            if hasattr(collection, "get_segments")]  # fmt: skip
    found = [tuple(bar.get_segments()[0][:, 0]) for bar in bars]
    assert found == [pytest.approx(m.interval()) for m in c.values()]
    few = comparison({"eager": 1e-3, "b": 5e-4}, rounds=3)
    plot.comparison(few).figure.canvas.draw()  # their intervals have no ends


def test_verdicts_differ_by_marker_sign_and_colour():
    for field in ("marker", "sign", "colour", "word", "said"):
        assert len({getattr(one, field) for one in VERDICTS.values()}) == 4


def test_cold_starts_stand_at_the_right_where_one_would_feel_them():
    ax = plot.comparison(comparison({"a": 1e-3, "b": 1e-3}, first={"b": 9.0}))
    (right,) = ax.child_axes
    require_good_looks(ax)
    texts = [*right.get_yticklabels(), right.yaxis.label]
    assert [text.get_text() for text in texts] == ["", "9.00 s", "cold start"]
    require_apart(texts)
    require_inside(texts, ax.figure.bbox)
    assert not plot.comparison(comparison({"a": 1e-3, "b": 1e-3})).child_axes


def test_a_linear_axis_has_one_unit_and_begins_at_zero():
    ax = plot.comparison(comparison({"a": 9e-4, "b": 1.1e-3}))
    ax.figure.canvas.draw()
    said = [text.get_text() for text in shown(ax.get_xticklabels())]
    assert said[0] == "0"
    assert {text.split()[1] for text in said[1:]} == {"ms"}


@pytest.mark.parametrize(
    ("language", "variants", "top"),
    [
        *(("en", *both) for both in itertools.product((2, 12), (1.001, 4, 1e4))),
        *((language, 12, 30) for language in i18n.LANGUAGES[1:]),
    ],
)
def test_sweeps_of_any_span(language, variants, top):
    i18n.set_language(language)
    work = [2**at for at in range(12)]
    times = {
        f"variant {n}": [1e-5 * (1 + n / 10) * top ** (at / 11) for at in range(12)]
        for n in range(variants)
    }
    ax = plot.sweep(sweep(work, times, env=BUSY), None, "", {LONG: 1e-5})
    require_good_looks(ax)
    texts = [text.get_text() for text in shown(ax.get_yticklabels())]
    assert len(set(texts)) == len(texts)
    in_sight = [at for at in ax.get_yticks() if ax.get_ylim()[0] <= at <= ax.get_ylim()[1]]
    assert len(in_sight) >= 2
    legend = ax.get_legend()
    require_inside(legend.get_texts(), ax.figure.bbox)
    assert not legend.get_window_extent().overlaps(ax.get_window_extent())


def test_the_ticks_of_a_sweep_are_the_sizes_measured():
    ax = plot.sweep(sweep([8, 16, 32], {"a": [1e-3] * 3, "b": [2e-3] * 3}), None, "batch size", {})
    ax.figure.canvas.draw()
    assert list(ax.get_xticks()) == [8, 16, 32]
    assert [text.get_text() for text in shown(ax.get_xticklabels())] == ["8", "16", "32"]
    assert not list(ax.get_xticks(minor=True))
    assert ax.get_xlabel() == "batch size"
    zero = plot.sweep(sweep([0, 1, 2], {"a": [1e-3] * 3}), None, "", {})
    assert (zero.get_xscale(), zero.get_xlabel()) == ("linear", "work")
    many = plot.sweep(sweep(range(1000, 1040), {"a": [1e-3] * 40}), None, "", {})
    require_good_looks(many)
    said = [text.get_text() for text in shown(many.get_xticklabels())]
    assert said[-1] == "1,039"
    assert len(said) < 40


def test_lines_of_a_sweep_differ_by_marker_and_keep_the_legend():
    s = sweep([1, 2], {f"v{n}": [1e-3 * (n + 1)] * 2 for n in range(12)})
    ax = plot.sweep(s, None, "", {"a floor": 2e-6})
    lines = [line for line in ax.lines if line.get_marker() != "None"]
    assert len({(line.get_marker(), line.get_color()) for line in lines}) == 12
    assert len({line.get_marker() for line in lines[:7]}) == 7
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == [*(f"v{n}" for n in range(12)), "a floor"]


def test_a_sweep_draws_medians_and_bands_by_both_clocks():
    points = [comparison({"a": t, "b": t / 2}, {"a": t / 3, "b": t / 4}) for t in (1e-3, 2e-3)]
    ax = plot.sweep(Sweep((1, 2), (1, 2), tuple(points)), None, "", {})
    drawn = {
        (line.get_label()[:1], line.get_linestyle()): list(line.get_ydata())
        for line in ax.lines
        if len(line.get_xdata()) == 2
    }
    assert drawn["a", "-"] == [c["a"].median for c in points]
    assert drawn["_", ":"] == [c["b"].median_of("throughput") for c in points]
    assert len(ax.collections) == 4
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    lows, highs = zip(*(c["a"].interval() for c in points), strict=True)
    assert set(np.round(band, 12)) == set(np.round([*lows, *highs], 12))
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["a", "b", "latency", "throughput"]


def test_the_steps_of_a_waterfall_begin_where_the_last_ended():
    c = comparison({"eager": 2.9e-5, "aot": 1.4e-5, "functions": 2e-5, "C": 7e-6})
    ax = plot.waterfall(c, ["C", "functions", "aot", "eager"])
    times = [c[label].median for label in ("C", "functions", "aot", "eager")]
    assert [bar.get_x() for bar in ax.patches] == pytest.approx([0, *times[:-1]])
    assert [bar.get_x() + bar.get_width() for bar in ax.patches] == pytest.approx(times)
    assert [bool(bar.get_hatch()) for bar in ax.patches] == [False, False, True, False]
    said = [text.get_text() for text in ax.texts]
    assert said[0] == "7.00 µs"
    assert said[1] == f"20.0 µs (+{seconds(times[1] - times[0])})"
    assert said[2] == f"14.0 µs (−{seconds(times[1] - times[2])})"
    assert ax.get_yticklabels()[0].get_text() == "C"
    gaps = zip(ax.patches, ax.patches[1:], strict=False)
    ends = [(one.get_y() + one.get_height(), other.get_y()) for one, other in gaps]
    assert [tuple(line.get_ydata()) for line in ax.lines] == [pytest.approx(at) for at in ends]
    require_good_looks(ax)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_waterfalls_by_a_clock(language):
    i18n.set_language(language)
    times, stream = {"eager": 1e-2, LONG: 1e-3, "C": 1e-6}, {"eager": 5e-3, LONG: 1e-4, "C": 1e-6}
    c = comparison(times, stream, env=BUSY)
    ax = c.waterfall(["C", LONG, "eager"], clock="throughput")
    require_good_looks(ax)
    assert ax.patches[-1].get_x() + ax.patches[-1].get_width() == pytest.approx(5e-3, rel=0.02)


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_calls_in_their_order(language):
    i18n.set_language(language)
    times = {f"way {at}": [100 / (at + 1), 0.2, 0.21, 0.19] for at in range(8)}
    ax = charts.plot_calls(times)
    require_good_looks(ax)
    assert [list(line.get_xdata()) for line in ax.lines] == [[1, 2, 3, 4]] * 8
    assert len({(line.get_marker(), line.get_color()) for line in ax.lines}) == 8
    assert all((ax.get_xlabel(), ax.get_ylabel()))
    require_inside(ax.get_legend().get_texts(), ax.figure.bbox)


def test_a_roofline_has_a_bend_and_arrows_where_there_is_room():
    steps = {"chain": ((0.1, 4e8), (0.6, 2e9)), "product": ((80.0, 1.1e11), (80.0, 1.2e11))}
    ax = charts.plot_roofline(steps, 2e10, 1.2e11)
    require_good_looks(ax)
    roof, *points = ax.lines
    assert (roof.get_xdata()[1], roof.get_ydata()[1]) == pytest.approx((6, 1.2e11))
    hollow, filled = points[::2], points[1::2]
    assert {line.get_markerfacecolor() for line in hollow} == {"none"}
    assert "none" not in {line.get_markerfacecolor() for line in filled}
    assert [line.get_ydata()[0] for line in filled] == [2e9, 1.2e11]
    (arrow,) = ax.texts
    assert (arrow.xyann, arrow.xy) == steps["chain"]
    assert not ax.get_legend().get_window_extent().overlaps(ax.get_window_extent())


def test_a_busy_machine_is_said_above_every_plot():
    busy, quiet = comparison({"a": 1e-3, "b": 2e-3}, env=BUSY), comparison({"a": 1e-3, "b": 2e-3})
    for c, expected in ((busy, True), (quiet, False)):
        drawn = [plot.comparison(c), plot.waterfall(c, ["a", "b"]),
                 plot.sweep(Sweep((1,), (1,), (c,)), None, "", {})]  # fmt: skip
        for ax in drawn:
            assert ("busy" in ax.figure.get_suptitle()) == expected
            assert "Python 3.11.9" in ax.figure.get_supxlabel()
            assert "seed 1" in ax.figure.get_supxlabel()


def picture(ax):
    content, metadata = ax.figure._repr_mimebundle_()
    png = base64.b64decode(content["image/png"])
    return plt.imread(io.BytesIO(png)), metadata["image/png"]


def test_a_notebook_shows_twice_the_pixels_on_the_colour_of_its_page():
    ax = plot.comparison(comparison({"a": 1e-3, "b": 2e-3}))
    pixels, size = picture(ax)
    height, width, _channels = pixels.shape
    assert (size["width"], size["height"]) == (width // 2, height // 2)
    assert width > 5 * ax.figure.dpi
    assert ax.figure.dpi == 2 * plt.rcParams["figure.dpi"]
    assert pixels[0, 0, 3] == 0, "a corner is transparent"
    assert pixels[..., 3].max() == 1
    before = plt.rcParams.copy()
    plot.comparison(comparison({"a": 1e-3, "b": 2e-3}))
    assert plt.rcParams == before


def test_texts_read_on_white_and_on_dark():
    def light(colour):
        parts = [
            v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in to_rgb(colour)
        ]
        return 0.05 + float(np.dot(parts, [0.2126, 0.7152, 0.0722]))

    ax = plot.comparison(comparison({"a": 1e-3, "b": 2e-3}, env=BUSY))
    for text in [*ax.texts, ax.xaxis.label, *ax.get_yticklabels(), ax.figure._suptitle]:
        for page in ("white", "#14181e"):
            low, high = sorted([light(text.get_color()), light(page)])
            assert high / low > 3.8


def test_plots_into_the_users_own_axes():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
    c = comparison({"eager": 1e-3, "b": 5e-4}, env=BUSY)
    assert plot.comparison(c, left) is left
    assert plot.sweep(sweep([1, 2], {"a": [1e-3] * 2}), right, "", {}) is right
    figure.canvas.draw()
    assert "busy" in left.get_title(loc="left")
    for ax in (left, right):
        assert any("Python" in text.get_text() for text in ax.texts)
        assert ax.get_window_extent().width > 150
    labels = [text for text in left.texts if "Python" not in text.get_text()]
    require_inside(labels, left.get_window_extent())
    assert not figure.get_suptitle()


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_plots_draw_without_a_missing_glyph(language):
    i18n.set_language(language)
    c = comparison({"即時": 1e-3, "b": 5e-4}, {"即時": 1e-4, "b": 5e-5}, env=BUSY)
    _figure, own = plt.subplots()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph")
        for ax in (None, own):
            plot.comparison(c, ax).figure.canvas.draw()
        s = Sweep((1, 2), (1, 2), (c, c))
        swept = plot.sweep(s, None, "批量大小", {"重みを一度読む時間": 2e-6})
        swept.figure.canvas.draw()
        plot.waterfall(c, ["b", "即時"]).figure.canvas.draw()
    assert swept.get_xlabel() == "批量大小"


def test_chinese_and_japanese_plots_use_the_shapes_of_their_language():
    wanted = {"zh": "D2L Hybrid SC", "ja": "D2L Hybrid JP"}
    for language, family in wanted.items():  # one after the other, in one process
        i18n.set_language(language)
        families = plot.comparison(comparison({"a": 1e-3})).xaxis.label.get_fontfamily()
        assert next(name for name in families if name in wanted.values()) == family


@pytest.mark.parametrize(("language", "font"), [("zh", CHINESE), ("ja", JAPANESE)])
def test_our_fonts_have_a_glyph_for_every_character_of_the_catalogs(language, font):
    from matplotlib.ft2font import FT2Font

    charmap = FT2Font(str(font)).get_charmap()
    catalogs = [path for path in CATALOGS if language in path.parts]
    assert catalogs
    for path in catalogs:
        wide = {sign for sign in path.read_text(encoding="utf-8") if ord(sign) > 0x2E7F}
        assert not [sign for sign in wide if ord(sign) not in charmap]


def test_a_dollar_in_a_label_is_a_dollar():
    times = {r"$\foo$": 1e-3, "costs $1_$2": 2e-3}
    c = comparison(times)
    plot.comparison(c).figure.canvas.draw()
    plot.waterfall(c, list(times)).figure.canvas.draw()
    s = Sweep((1, 2), (1, 2), (c, c))
    plot.sweep(s, None, "", {r"$\bar$ $": 1e-3}).figure.canvas.draw()


def test_a_figure_can_be_pickled():
    figure = plot.comparison(comparison({"a": 1e-3, "b": 2e-3})).figure
    assert pickle.loads(pickle.dumps(figure)).axes
