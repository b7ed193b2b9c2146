"""The one formatter of tables, and times and fractions as they stand in them."""

import pytest

from d2lhybrid import i18n
from d2lhybrid.report.table import Column, Row, Table
from d2lhybrid.report.units import seconds, span

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
    assert lines == ["         ─ latency ─", "variant  time  ratio", "eager    1 µs      1"]
    long = [COLUMNS[0], Column("t", "a name longer than it")]
    lines = str(Table(long, [Row(["eager", "1 µs"])])).splitlines()
    assert lines[0].strip() == "a name longer than it"
    assert len(lines[1]) > len(lines[0])


def test_a_cell_of_several_lines():
    table = Table([Column(left=True), Column()], [Row(["a", "1\n22"]), Row(["b", "333"])], gap=" ")
    assert str(table) == "a   1\n   22\nb 333"
    assert "1<br>22" in table.html()


def test_html_keeps_numbers_and_words_whole_and_is_escaped():
    table = Table(COLUMNS, [Row(["<a b>", "1 µs – 2 µs", "<"], strong=[1])])
    head, cell = "right;word-break:keep-all", "right;white-space:nowrap"
    html = table.html()
    assert f'<th style="text-align:{head}">time</th>' in html
    assert f'<td style="text-align:{cell}"><strong>1 µs – 2 µs</strong></td>' in html
    assert '<td style="text-align:left">&lt;a b&gt;</td>' in html
    assert '<th colspan="2" style="text-align:center">latency</th>' in html
    assert html.count("<tr>") == 3
    assert "<thead>" not in Table([Column(left=True)], [Row(["a"])]).html()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.9996, "1.00 s"),
        (0.9994, "999 ms"),
        (9.996e-7, "1.00 µs"),
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
    assert span(1e-3, 2e-3, seconds) == ("1.00 ms", "2.00 ms")
