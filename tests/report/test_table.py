"""The one formatter of tables."""

from dataclasses import replace

import pytest

from d2lhybrid import i18n
from d2lhybrid.report.table import Column, Row, Table, folded

COLUMNS = [Column("variant", left=True), Column("time", "latency"), Column("ratio", "latency")]


def test_the_first_column_stands_left_and_the_others_right():
    columns = [Column("variant", left=True), Column("time")]
    table = Table(columns, [Row(["eager", "1 µs"]), Row(["b", "100 µs"])])
    assert str(table) == "variant    time\neager      1 µs\nb        100 µs"


def test_columns_line_up_in_chinese_too():
    columns = [Column("变体", left=True), Column("每次调用时间")]
    lines = str(Table(columns, [Row(["eager", "1 µs"]), Row(["编译", "100 µs"])])).splitlines()
    assert {i18n.width(line) for line in lines} == {5 + 2 + 12}


def test_a_group_stands_over_its_columns_and_widens_them():
    lines = str(Table(COLUMNS, [Row(["eager", "1 µs", "1"])])).splitlines()
    assert lines[0] == "         ─ latency ─"
    assert lines[1] == "variant  time  ratio"
    long = [COLUMNS[0], Column("t", "a name longer than it")]
    lines = str(Table(long, [Row(["eager", "1 µs"])])).splitlines()
    assert len({len(line) for line in lines[:2]}) == 1
    assert "a name longer than it" in lines[0]


def test_the_best_row_is_marked_in_text_and_for_those_who_hear():
    table = Table(COLUMNS, [Row(["a", "1", "1"]), Row(["b", "1", "1"], best=True)])
    assert [line.split()[1] == "★" for line in str(table).splitlines()[2:]] == [False, True]
    html = table.html()
    assert html.count("<strong>") == 1
    assert '<strong>b</strong>&nbsp;<span role="img" aria-label="fastest">★</span>' in html


def test_a_note_takes_the_place_of_the_cells_that_are_missing():
    reason = " ".join(["word"] * 30)
    table = Table(COLUMNS, [Row(["a", "1", "1"]), Row(["b"], note=reason)])
    lines = str(table).splitlines()[3:]
    assert len(lines) == 3
    assert lines[0].startswith("b        word")
    assert all(line.startswith(" " * 9 + "word") for line in lines[1:])
    assert all(len(line) <= 9 + 60 for line in lines)


def test_a_note_is_as_wide_as_the_columns_that_it_covers():
    columns = [COLUMNS[0], Column("x" * 50), Column("y" * 40)]
    assert len(str(Table(columns, [Row(["b"], note="word " * 18)])).splitlines()) == 2


def test_html_keeps_numbers_and_words_whole_and_is_escaped():
    table = Table(COLUMNS, [Row(["<a b>", "1 µs – 2 µs", "<"]), Row(["c"], note="why")])
    head, cell = "right;word-break:keep-all", "right;white-space:nowrap"
    top = (
        '<th style="text-align:left;word-break:keep-all">variant</th>'
        f'<th style="text-align:{head}">time</th><th style="text-align:{head}">ratio</th>'
    )
    groups = (
        '<th colspan="1" style="text-align:center"></th>'
        '<th colspan="2" style="text-align:center">latency</th>'
    )
    body = (
        '<tr><td style="text-align:left">&lt;a b&gt;</td>'
        f'<td style="text-align:{cell}">1 µs – 2 µs</td>'
        f'<td style="text-align:{cell}">&lt;</td></tr>'
        '<tr><td style="text-align:left">c</td>'
        '<td colspan="2" style="text-align:left">why</td></tr>'
    )
    assert table.html() == (
        f'<div style="overflow-x:auto"><table><thead><tr>{groups}</tr><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    plain = Table([replace(column, group="") for column in COLUMNS], table.rows).html()
    assert f"<table><thead><tr>{top}</tr></thead><tbody>{body}" in plain


@pytest.mark.parametrize(
    ("text", "columns", "lines"),
    [
        ("", 9, [""]),
        ("one two-three", 9, ["one", "two-three"]),
        ("unbreakable", 6, ["unbrea", "kable"]),
        ("一二三四五六", 6, ["一二三", "四五六"]),
        ("eager 一二三（四五）。", 12, ["eager 一二三", "（四五）。"]),
        ("一二三。四", 6, ["一二", "三。四"]),
        ("date · two 核心 · 三", 12, ["date · two", "核心 · 三"]),
    ],
)
def test_a_line_ends_where_the_language_lets_it(text, columns, lines):
    assert folded(text, columns) == lines
    assert all(i18n.width(line) <= columns for line in lines)
