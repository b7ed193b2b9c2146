"""The tables of a comparison, of a sweep, and the narrow one of a page: which columns and cells."""

from collections.abc import Iterator, Sequence

from d2lhybrid.core.i18n import count, gettext as _, ngettext
from d2lhybrid.core.table import NEVER, UNKNOWN, Column, Table, percent, seconds, span
from d2lhybrid.measuring.measurement import METRICS
from d2lhybrid.measuring.row import Row, Rows, Times
from d2lhybrid.showing.verdicts import VERDICTS

# Marks in cells, which ``remarks`` explains below the table.
BEST = "★"
ON_DISK = "†"
WHILE_BUSY = "‡"
COMPILER_RUNS = "§"


# A column with its cells, one for each row that was measured.
Filled = tuple[Column, list[str]]


def comparison_table(rows: Rows) -> Table:
    """A row a variant: verdict, ratio and time by each metric, then what is paid once."""
    measured = rows.measured
    names = [f"{row.name} {BEST}" if row.is_best else row.name for row in measured]
    filled = [(Column(_("variant"), left=True), names)]
    for metric in rows.measurements.metrics:
        filled += _columns_by(metric, rows)
    filled += _columns_paid_once(rows)
    columns, cells = zip(*filled, strict=True)
    best = {at for at, row in enumerate(measured) if row.is_best}
    return Table(columns, [*zip(*cells, strict=True)], strong=best)


def _columns_by(metric: str, rows: Rows) -> Iterator[Filled]:
    """Verdict, ratio, its interval and time.

    A variant may have no time by the metric: one in NumPy has no events on the accelerator.
    """
    verdict, time = _("verdict"), metric_title(metric, rows.measurements.metrics)
    if len(rows.measurements.metrics) > 1:
        verdict, time = f"{time}\n{verdict}", _("time")
    by_row = [(row, row.times.get(metric)) for row in rows.measured]
    yield Column(verdict, left=True), [_verdict_cell(row, times) for row, times in by_row]
    yield Column(_("ratio")), [_ratio_cell(row, times) for row, times in by_row]
    yield Column(_interval_head(rows)), [_interval_cell(row, times) for row, times in by_row]
    yield Column(time), [seconds(times.seconds) if times else UNKNOWN for _row, times in by_row]


def _verdict_cell(row: Row, times: Times | None) -> str:
    if times is None:
        return ""
    if row.role == "baseline":
        # Translators: in the place of a verdict: the row that the others are compared to
        return _("baseline")
    if row.role == "reference":
        # Translators: in the place of a verdict: a row that is only shown beside the others
        return _("reference")
    verdict = VERDICTS[times.verdict]
    mark = "" if times.bound_while_busy is None else f" {WHILE_BUSY}"
    return f"{verdict.sign} {_(verdict.word)}{mark}"


def _ratio_cell(row: Row, times: Times | None) -> str:
    if times is None:
        return UNKNOWN
    return "1" if row.role == "baseline" else times.shown_ratio


def _interval_cell(row: Row, times: Times | None) -> str:
    if times is None or row.role == "baseline":
        return ""
    return " – ".join(dict.fromkeys(span(*times.interval)))


def _interval_head(rows: Rows) -> str:
    """What the intervals are, and in how many processes."""
    head, where = _("interval"), _("in this process")
    if rows.measurements.has_interval:
        compared = [row for row in rows.measured if row.role != "baseline"] or rows.measured
        lowest = min(rows.measurements.confidence(row.label) for row in compared)
        head = _("{confidence} interval").format(confidence=percent(lowest))
    if rows.processes:
        text = ngettext("in {n} process", "in {n} processes", rows.processes)
        where = text.format(n=rows.processes)
    return f"{head}\n{where}"


def _columns_paid_once(rows: Rows) -> Iterator[Filled]:
    """What is paid once, as far as it says something."""
    measured = rows.measured
    if any(row.build_seconds for row in measured):
        builds = [seconds(row.build_seconds) if row.build_seconds else "" for row in measured]
        # Translators: a column: the seconds that building it took, ahead of the first call
        yield Column(_("build")), builds
    if rows.cold_start_is_felt:
        yield Column(_("cold start")), [_cold_start_cell(row) for row in measured]
        # Translators: a column: the number of calls after which the cold start has paid off
        head = _("pays after")
        if any(map(_shows_build, measured)):
            # Translators: below "pays after", for the number in parentheses in that column
            with_build = _("(with its build)")
            head = f"{head}\n{with_build}"
        yield Column(head), [_pays_after_cell(row) for row in measured]


def _cold_start_cell(row: Row) -> str:
    """Its seconds, and a mark if a fresh process, or one with empty caches, would pay more."""
    marks = [ON_DISK] * row.disk_cache_hit + [COMPILER_RUNS] * row.lacks_compiler_start
    return " ".join([seconds(row.cold_seconds), *marks])


def _shows_build(row: Row) -> bool:
    """Does its build change after how many calls it pays off?"""
    return row.pays_after not in (None, NEVER) and row.pays_after_with_build is not None


def _pays_after_cell(row: Row) -> str:
    """The calls, then in parentheses what they would be with its build counted."""
    if row.role != "variant":
        return ""
    with_build = f" ({row.calls_to_pay_with_build})" if _shows_build(row) else ""
    return row.calls_to_pay + with_build


def sweep_table(sizes: Sequence[float], comparisons: Sequence[Rows], name: str = "") -> Table:
    """One row a size: the time of each variant by each metric, its ratio and a sign for it.

    `name` is what the sizes are called; "" if nobody has named them.
    """
    metrics = metrics_of(comparisons)
    names = names_of(comparisons)
    columns = [Column(name or _("size"), left=True)]
    for metric in metrics:
        heads = [*names.values()]
        if len(metrics) > 1:
            heads[0] = f"{metric_title(metric, metrics)}\n{heads[0]}"
        columns += map(Column, heads)
    cells = []
    for size, rows in zip(sizes, comparisons, strict=True):
        by_label = {row.label: row for row in rows.measured}
        pairs = [(by_label.get(label), metric) for metric in metrics for label in names]
        cells.append([count(size), *(_cell_with_ratio(row, metric, "–") for row, metric in pairs)])
    return Table(columns, cells)


def narrow_table(rows: Sequence[Row], metrics: Sequence[str], cold_starts: bool) -> Table:
    """A row a variant, a column a metric, then the cold start if wanted.

    It is narrower than ``comparison_table``: a cell holds the time, its ratio and a sign for the
    verdict.
    """
    columns = [Column(_("variant"), left=True)]
    columns += [Column(metric_title(metric, metrics)) for metric in metrics]
    cells = [
        [row.name, *(_cell_with_ratio(row, metric, UNKNOWN) for metric in metrics)] for row in rows
    ]
    if cold_starts:
        columns.append(Column(_("cold start")))
        for line, row in zip(cells, rows, strict=True):
            line.append(seconds(row.cold_seconds) if row.cold_seconds else "")
    return Table(columns, cells)


def _cell_with_ratio(row: Row | None, metric: str, unknown: str) -> str:
    """A time, the ratio, and the sign of the verdict, in one cell; of the baseline, the time."""
    if row is None or metric not in row.times:
        return unknown
    times = row.times[metric]
    if row.role == "baseline":
        return seconds(times.seconds)
    return f"{seconds(times.seconds)} ({times.shown_ratio}× {VERDICTS[times.verdict].sign})"


def metric_title(metric: str, metrics: Sequence[str]) -> str:
    """What a metric shows; latency is plain time where nothing is queued."""
    plain = metric == "latency" and "throughput" not in metrics
    return _("time per call") if plain else _(METRICS[metric])


def metrics_of(comparisons: Sequence[Rows]) -> list[str]:
    """The metrics that say something of their own in some of them."""
    return list(
        dict.fromkeys(metric for rows in comparisons for metric in rows.measurements.metrics)
    )


def names_of(comparisons: Sequence[Rows]) -> dict[str, str]:
    """By its label, what each variant that was run in some of them is called."""
    return {row.label: row.name for rows in comparisons for row in rows.measured}
