"""Tables, sentences, plots and languages."""

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from fake import Machine

from d2lhybrid import i18n
from d2lhybrid.measure.comparing import compare
from d2lhybrid.measure.measuring import measure
from d2lhybrid.measure.sweeping import sweep
from d2lhybrid.report import text as report
from d2lhybrid.report.plot import CHINESE, JAPANESE

PACKAGE = Path(i18n.__file__).parent
CATALOGS = sorted((PACKAGE / "locale").glob("*/LC_MESSAGES/d2lhybrid.po"))


@pytest.fixture(autouse=True)
def english():
    i18n.set_language("en")
    yield
    i18n.set_language(None)


@pytest.fixture(scope="module")
def comparison():
    m = Machine(2)
    functions = {
        "eager": m.function(1e-3, 0.01),
        "compiled": m.function(5e-4, 0.01, cold=1),
        "traced": m.function(5e-4, 0.01),
        "slow": m.function(2e-3, 0.01),
        "<twin>": m.function(1e-3, 0.01),
    }
    c = compare(functions, clock=m.clock, seed=1, progress=False)
    c.unavailable["graphs"] = "it rests on CUDA graphs, and there is no CUDA device"
    c.unavailable["native"] = "Found no compiler. Install one."
    return c


@pytest.fixture(scope="module")
def undecided():
    m = Machine(3)
    functions = {"a": m.function(1e-2, 1.0), "b": m.function(1.1e-2, 1.0)}
    return compare(functions, clock=m.clock, seed=1, time_limit=1, progress=False)


def test_every_verdict_has_its_sentence_with_numbers(comparison, undecided):
    said = str(comparison)
    assert "compiled is 2.0" in said or "compiled is 1.9" in said
    assert "times as fast as eager (95% interval " in said
    assert "Its cold start has paid for itself after 2," in said or "after 1,9" in said
    assert "slow takes " in said
    assert "<twin> and eager take the same time to within 2.0%" in said
    assert "graphs was not run: it rests on CUDA graphs" in said
    assert "native was not run: Found no compiler. Install one.\n" in said
    assert "seed 1" in said
    assert "Python" in said
    assert "It is undecided whether b is faster than a" in str(undecided)
    assert "The time limit came first." in str(undecided)


def test_html_has_the_same_and_is_escaped(comparison):
    html = comparison._repr_html_()
    assert "&lt;twin&gt;" in html
    assert "<twin>" not in html
    for line in report.remarks(comparison)[:2]:
        assert line in html


def test_html_parts_no_number_from_its_unit(comparison):
    label, *cells = report.table(comparison)[1][0]
    assert any(" " in cell for cell in cells)
    found = re.findall("<td>(.*?)</td>", comparison._repr_html_())
    assert found[: 1 + len(cells)] == [label, *(cell.replace(" ", "&nbsp;") for cell in cells)]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("pt", ["vezes tão rápida quanto", "mais rápida", "nível de ruído", "não há dispositivo"]),
        ("zh", ["的速度是", "更快", "噪声基底", "没有 CUDA 设备"]),
        ("ja", ["倍の速さです", "速い", "ノイズフロア", "CUDAデバイスがありません"]),
    ],
)
def test_each_language(comparison, undecided, language, words):
    i18n.set_language(language)
    said = str(comparison)
    for word in words:
        assert word in said
    for english in ("times", "faster", "variants", "noise", "was not run", "cores"):
        assert english not in said
    assert "undecided" not in str(undecided)


def test_portuguese_numbers(comparison):
    i18n.set_language("pt")
    assert "1,0" in str(comparison) or "2,0" in str(comparison)


def test_columns_line_up_in_chinese_too():
    heads, *rows = ["变体", "每次调用时间"], ["eager", "1 µs"], ["编译", "100 µs"]
    lines = report._columns((heads, rows)).splitlines()
    assert {i18n.width(line) for line in lines} == {5 + 2 + 12}


@pytest.mark.parametrize(("language", "font"), [("zh", CHINESE), ("ja", JAPANESE)])
def test_our_fonts_have_a_glyph_for_every_character_of_the_catalogs(language, font):
    from matplotlib.ft2font import FT2Font

    charmap = FT2Font(str(font)).get_charmap()
    catalogs = [path for path in CATALOGS if language in path.parts]
    assert catalogs
    for path in catalogs:
        wide = {sign for sign in path.read_text(encoding="utf-8") if ord(sign) > 0x2E7F}
        assert not [sign for sign in wide if ord(sign) not in charmap]


def test_chinese_and_japanese_plots_use_the_shapes_of_their_language(comparison):
    import matplotlib

    matplotlib.use("Agg")
    wanted = {"zh": "D2L Hybrid SC", "ja": "D2L Hybrid JP"}
    for language, family in wanted.items():  # one after the other, in one process
        i18n.set_language(language)
        families = comparison.plot().xaxis.label.get_fontfamily()
        assert next(name for name in families if name in wanted.values()) == family


@pytest.mark.parametrize("language", i18n.LANGUAGES)
def test_plots_draw_without_a_missing_glyph(comparison, language, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    i18n.set_language(language)
    m = Machine()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Glyph")
        ax = comparison.plot()
        ax.figure.savefig(tmp_path / "a.png")
        swept = sweep(
            lambda n: ({"即時": m.function(n), "b": m.function(n)},), [0.1, 1.0],
            clock=m.clock, progress=False,
        )  # fmt: skip
        other = swept.plot(xlabel="批量大小", lines={"重みを一度読む時間": 2e-6})
        other.figure.savefig(tmp_path / "b.png")
    notes = [text.get_text() for text in ax.texts]
    assert any("Python" in note for note in notes), "the stamp is missing"
    assert any("Python" in text.get_text() for text in other.texts)
    assert other.get_xlabel() == "批量大小"
    assert "重みを一度読む時間" in [text.get_text() for text in other.get_legend().get_texts()]
    matplotlib.pyplot.close("all")


def test_a_plot_into_the_users_own_axes(comparison):
    import matplotlib

    matplotlib.use("Agg")
    _figure, mine = matplotlib.pyplot.subplots()
    assert comparison.plot(ax=mine) is mine
    matplotlib.pyplot.close("all")


def test_a_measurement_is_one_line_and_a_stamp():
    m = Machine()
    said = str(measure(m.function(1e-3, 0.01, cold=1), label="f", clock=m.clock))
    assert said.startswith("f: 1.0")
    assert "first call 1.00 s" in said
    assert said.count("\n") == 1


def test_a_sweep_says_where_they_meet():
    m = Machine()

    def make(n):
        return ({"eager": m.function(1e-4 + n), "compiled": m.function(1e-5 + n)},)

    s = sweep(make, [1e-5, 1.0], clock=m.clock, progress=False)
    assert "From 1 on, compiled is not known to be faster than eager." in str(s)
    assert "<table>" in s._repr_html_()
    s = sweep(make, [1e-6, 1e-5], clock=m.clock, progress=False)
    assert "compiled is faster than eager up to the largest size." in str(s)


def test_the_benchmark_line_is_the_same_in_every_language():
    code = "from d2lhybrid import Benchmark\nwith Benchmark('x'): pass"
    env = {**os.environ, "D2LHYBRID_LANGUAGE": "ja"}
    root = PACKAGE.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, cwd=root)
    assert done.stdout.startswith(b"x: 0.")
    assert done.stdout.endswith(b" sec\n")


def test_a_dollar_in_a_label_is_a_dollar(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    m = Machine()
    labels = {r"$\foo$": m.function(1e-3), "costs $1_$2": m.function(2e-3)}
    c = compare(labels, clock=m.clock, progress=False)
    c.plot().figure.savefig(tmp_path / "a.png")
