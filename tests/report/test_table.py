"""The one formatter of tables, and times and fractions as they stand in them."""

import pytest

from d2lhybrid import i18n
from d2lhybrid.report.table import Column, Table, seconds, span

COLUMNS = [Column("variant", left=True), Column("latency\ntime"), Column("ratio")]


def test_the_first_column_stands_left_the_others_right_and_heads_at_the_bottom():
    table = Table(COLUMNS, [["eager", "1 µs", "1"], ["b", "100 µs", "2\n33"]])
    assert str(table).splitlines() == [
        "         latency",
        "variant     time  ratio",
        "eager       1 µs      1",
        "b         100 µs      2",
        "                     33",
    ]
    assert "2<br>33" in table.html()
    assert str(Table([Column(left=True)] * 2, [["a", "1"]], gap=" ")) == "a 1"


def test_columns_line_up_in_chinese_too():
    columns = [Column("变体", left=True), Column("每次调用时间")]
    lines = str(Table(columns, [["eager", "1 µs"], ["编译", "100 µs"]])).splitlines()
    assert {i18n.width(line) for line in lines} == {5 + 2 + 12}


def test_html_keeps_numbers_and_words_whole_and_is_escaped():
    html = Table(COLUMNS, [["<a b>", "1 µs – 2 µs", "<"]], strong={0}).html()
    assert '<th style="text-align:right;word-break:keep-all"><br>ratio</th>' in html
    assert 'right;white-space:nowrap">1 µs – 2 µs</td>' in html
    assert '<td style="text-align:left"><strong>&lt;a b&gt;</strong></td>' in html
    assert "<thead>" not in Table([Column(left=True)], [["a"]]).html()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.9996, "1.00 s"),
        (0.9994, "999 ms"),
        (1e-12, "0.00100 ns"),
        (4321.0, "4,320 s"),
        (0, "0 s"),
    ],
)
def test_a_time_never_has_four_digits_where_the_next_unit_has_one(value, shown):
    assert seconds(value) == shown


def test_portuguese_has_a_decimal_comma():
    i18n.set_language("pt")
    assert seconds(0.0025) == "2,50 ms"


@pytest.mark.parametrize("ends", [(0, 2), (1, float("inf")), (float("-inf"), float("inf"))])
def test_an_interval_without_an_end_is_not_known(ends):
    assert span(*ends) == ("?", "?")
