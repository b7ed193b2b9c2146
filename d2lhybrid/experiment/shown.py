"""Results as text, as HTML and as JSON for programs: a table, and the lines around it."""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from math import isfinite
from typing import Any, NamedTuple

from d2lhybrid.core import stats
from d2lhybrid.core.i18n import count, gettext as _, listed, ngettext, noop as N_, number, sentences
from d2lhybrid.display.table import NEVER, UNKNOWN, Column, Table, calls, percent, seconds, span
from d2lhybrid.experiment.advice import advice
from d2lhybrid.experiment.measurement import METRICS
from d2lhybrid.experiment.provenance import stamp
from d2lhybrid.experiment.rows import VERDICTS, Row, Rows, Times, named, not_run, verdict_in_words

_BEST = "★"
_STOPPED = {
    "limit": N_("It stopped at the time limit."),
    "interrupted": N_("It was interrupted; this is what it had measured."),
}


class Page(NamedTuple):
    """What is shown of a result, from the top; HTML has the details folded."""

    busy: str
    table: Table
    advice: str
    remarks: Sequence[str]
    details: Sequence[str]

    def __str__(self) -> str:
        above = [self.busy] if self.busy else []
        below = filter(None, [self.advice, *self.remarks, *self.details])
        return "\n".join([*above, str(self.table), "", *below])

    def html(self) -> str:
        """The same as HTML."""
        return self._shown() + folded(lines("small", *self.details))

    def html_inside(self) -> str:
        """The same inside something that is folded itself."""
        return self._shown() + lines("small", *self.details)

    def _shown(self) -> str:
        below = lines("strong", self.advice) + lines("span", *self.remarks)
        return lines("strong", self.busy) + self.table.html() + below


def folded(content: str) -> str:
    """HTML that a reader opens under the word "Details"."""
    word = _("Details")  # not in the braces below, where the catalogs' reader finds no message
    return f"<details><summary>{escape(word)}</summary>{content}</details>"


def lines(tag: str, *sentences: str) -> str:
    """Lines as HTML, each in such an element; empty ones are left out."""
    return "".join(f"<div><{tag}>{escape(line)}</{tag}></div>" for line in sentences if line)


def comparison(rows: Rows) -> Page:
    """The table, what to use, and how to read it."""
    text = ngettext(
        "{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", rows.rounds
    )
    rounds = text.format(n=rows.rounds, floor=percent(rows.noise_floor))
    details = [_(_STOPPED.get(rows.stopped, "")), rounds, stamp(rows.env, rows.seed)]
    noted = _("{label}: {note}.")
    notes = [noted.format(label=row.label, note=_(row.note)) for row in rows if row.note]
    remarks = [*_marks(rows), *notes, *not_run(rows)]
    return Page(busy([rows]), table(rows), advice(rows), remarks, details)


def sweep(sizes: Sequence[float], comparisons: Sequence[Rows]) -> Page:
    """The table of sizes, and what the signs in it mean."""
    details = [stamp(comparisons[0].env, comparisons[0].seed)]
    reasons = not_run(row for rows in comparisons for row in rows)
    table = sweep_table(sizes, comparisons)
    return Page(busy(comparisons), table, "", [signs(), *reasons], details)


def signs() -> str:
    """What the signs of the verdicts mean, in one line."""
    return listed(f"{verdict.sign} {_(verdict.word)}" for verdict in VERDICTS.values())


def busy(comparisons: Sequence[Rows]) -> str:
    """One line that says that times are uncertain, at the worst; empty where they are not."""
    uncertain = [rows for rows in comparisons if rows.busy]
    if not uncertain:
        return ""
    loads = [rows.env.load for rows in uncertain if rows.env.load is not None]
    load = number(max(loads), 2) if loads else UNKNOWN
    floor = percent(max(rows.noise_floor for rows in uncertain))
    text = _(
        "⚠ These times are uncertain (load {load} on {cores} cores, noise floor {floor}): measure "
        "again on a quiet machine, with a higher time_limit."
    )
    return text.format(load=load, cores=uncertain[0].env.cores, floor=floor)


def metric_title(metric: str, metrics: Sequence[str]) -> str:
    """What a metric shows; latency is plain time where nothing is queued."""
    plain = metric == "latency" and "throughput" not in metrics
    return _("time per call") if plain else _(METRICS[metric])


class TableColumn(NamedTuple):
    """A column of a comparison's table, and what it shows of a row."""

    column: Column
    cell: Callable[[Row], str]


def table(rows: Rows) -> Table:
    """A row a variant: verdict, ratio and time by each metric, then what is paid once."""
    columns = [TableColumn(Column(_("variant"), left=True), _name_cell)]
    for metric in rows.metrics:
        columns += _columns_by(metric, rows)
    columns += _columns_paid_once(rows)
    measured = rows.measured
    cells = [[cell(row) for _column, cell in columns] for row in measured]
    best = {at for at, row in enumerate(measured) if row.is_best}
    return Table([column for column, _cell in columns], cells, strong=best)


def _name_cell(row: Row) -> str:
    return f"{row.name} {_BEST}" if row.is_best else row.name


def _columns_by(metric: str, rows: Rows) -> Iterator[TableColumn]:
    """Verdict, ratio, its interval and time; UNKNOWN if a variant has no time by the metric.

    A program of its own, for example, has no events on the accelerator.
    """
    verdict_head, time_head = _("verdict"), metric_title(metric, rows.metrics)
    if len(rows.metrics) > 1:
        verdict_head, time_head = f"{time_head}\n{verdict_head}", _("time")

    def verdict(row: Row) -> str:
        if metric not in row.times:
            return ""
        if row.role == "baseline":
            return _("baseline")
        if row.role == "reference":
            return _("reference")
        return _verdict_with_sign(row.times[metric], rows.rounds)

    def ratio(row: Row) -> str:
        if metric not in row.times:
            return UNKNOWN
        return "1" if row.role == "baseline" else number(row.times[metric].ratio)

    def interval(row: Row) -> str:
        if metric not in row.times or row.role == "baseline":
            return ""
        return " – ".join(dict.fromkeys(span(*row.times[metric].interval)))

    def time(row: Row) -> str:
        return seconds(row.times[metric].seconds) if metric in row.times else UNKNOWN

    confidence = percent(stats.confidence(rows.rounds))
    interval_head = _("{confidence} interval").format(confidence=confidence)
    yield TableColumn(Column(verdict_head, left=True), verdict)
    yield TableColumn(Column(_("ratio")), ratio)
    yield TableColumn(Column(interval_head), interval)
    yield TableColumn(Column(time_head), time)


def _verdict_with_sign(times: Times, rounds: int) -> str:
    sign = VERDICTS[times.shown_verdict].sign
    return f"{sign} {verdict_in_words(times, rounds)}"


def _columns_paid_once(rows: Rows) -> Iterator[TableColumn]:
    """What is paid once, as far as it says something."""
    if any(row.build_seconds for row in rows):
        yield TableColumn(
            Column(_("build")), lambda row: seconds(row.build_seconds) if row.build_seconds else ""
        )
    if rows.cold_start_is_felt:
        yield TableColumn(Column(_("cold start")), lambda row: seconds(row.cold_seconds or 0.0))
        yield TableColumn(
            Column(_("pays after")),
            lambda row: calls(row.pays_after) if row.role == "variant" else "",
        )


def _marks(rows: Rows) -> Iterator[str]:
    """What the marks in the table mean, a line each."""
    paid = [row.pays_after for row in rows.variants] if rows.cold_start_is_felt else []
    if NEVER in paid:
        yield _("∞: its cold start never pays off, because it isn't faster.")
    if rows.rounds < stats.FEWEST:
        text = _("?: not known, because fewer than {n} rounds give no interval.")
        limit = rows.limit_needed
        more = _("Measure again with a time_limit of at least {limit}.") if limit else ""
        yield sentences(text, more).format(n=stats.FEWEST, limit=seconds(limit or 0))
    elif None in paid:
        yield _("?: not known, because the verdict is undecided.")


def sweep_table(sizes: Sequence[float], comparisons: Sequence[Rows]) -> Table:
    """One row a size: the time of each variant by each metric, its ratio and a sign for it."""
    metrics = metrics_of(comparisons)
    names = names_of(comparisons)
    columns = [Column(_("work"), left=True)]
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


def metrics_of(comparisons: Sequence[Rows]) -> list[str]:
    """The metrics that say something of their own in some of them."""
    return list(dict.fromkeys(metric for rows in comparisons for metric in rows.metrics))


def names_of(comparisons: Sequence[Rows]) -> dict[str, str]:
    """By its label, what each variant that was run in some of them is called."""
    measured = [row for rows in comparisons for row in rows.measured]
    deprecated = {row.label for row in measured if row.deprecated}
    return {row.label: named(row.label, row.label in deprecated) for row in measured}


def narrow_table(rows: Sequence[Row], metrics: Sequence[str], cold_starts: bool) -> Table:
    """A row a variant, a column a metric, then the cold start if wanted.

    It is narrower than ``table``: a cell holds the time, its ratio and a sign for the verdict.
    """
    columns = [Column(_("variant"), left=True)]
    columns += [Column(metric_title(metric, metrics)) for metric in metrics]
    cells = [
        [row.name, *(_cell_with_ratio(row, metric, UNKNOWN) for metric in metrics)] for row in rows
    ]
    if cold_starts:
        columns.append(Column(_("cold start")))
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.cold_seconds is None else seconds(row.cold_seconds))
    return Table(columns, cells)


def _cell_with_ratio(row: Row | None, metric: str, unknown: str) -> str:
    """A time, the ratio, and the sign of the verdict, in one cell; of the baseline, the time."""
    if row is None or metric not in row.times:
        return unknown
    times = row.times[metric]
    if row.role == "baseline":
        return seconds(times.seconds)
    return f"{seconds(times.seconds)} ({number(times.ratio)}× {VERDICTS[times.shown_verdict].sign})"


def summary(rows: Rows) -> dict[str, Any]:
    """What the table shows, as plain data for programs that read notebooks."""
    is_queued = "throughput" in rows.metrics
    return {
        "kind": "comparison",
        "baseline": rows.baseline.label,
        "metrics": list(rows.metrics),
        "rows": [_row_summary(row, is_queued) for row in rows.measured],
        "busy": rows.busy,
        "processor": rows.env.cpu,
        "cores": rows.env.cores,
        "date": rows.env.date[:10],
    }


def _row_summary(row: Row, is_queued: bool) -> dict[str, Any]:
    latency, throughput = row.latency, row.times["throughput"]
    low, high = latency.interval
    return {
        "label": row.label,
        "verdict": latency.verdict,
        "reference": row.role == "reference",
        "deprecated": row.deprecated,
        "latency": latency.seconds,
        "throughput": throughput.seconds if is_queued else None,
        "ratio": _finite(latency.ratio),
        "low": _finite(low),
        "high": _finite(high),
        "throughput_ratio": _finite(throughput.ratio) if is_queued else None,
        "cold": row.cold_seconds,
        "pays_after": None if row.pays_after is None else _finite(row.pays_after),
    }


def _finite(number: float) -> float | None:
    """A number that JSON has, and that is not the 0 of an interval without an end."""
    return number if number and isfinite(number) else None
