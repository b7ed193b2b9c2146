"""Results as text and HTML, in the reader's language."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from d2lhybrid import stats
from d2lhybrid.i18n import count, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import remarks
from d2lhybrid.report.advice import advice, best
from d2lhybrid.report.comparisons import ComparisonRecord, SweepRecord
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.records import Measurement
from d2lhybrid.report.table import Column, Row, Table
from d2lhybrid.report.units import NEVER, NEVER_MARK, UNKNOWN, percent, seconds, span
from d2lhybrid.report.verdicts import VERDICTS

_FELT = 10  # a cold start of fewer calls than this goes unnoticed, and has no column


@dataclass(frozen=True)
class Page:
    """What is shown of a result, from the top; HTML has the details folded."""

    busy: str
    table: Table
    advice: str
    remarks: Sequence[str]
    details: Sequence[str]
    stamp: str

    def __str__(self) -> str:
        below = [*filter(None, [self.advice]), *self.remarks, *self.details, self.stamp]
        return "\n".join([*filter(None, [self.busy]), str(self.table), "", *below])

    def html(self) -> str:
        """The same as HTML."""
        busy, advised = (
            f"<div><strong>{escape(line)}</strong></div>" if line else ""
            for line in (self.busy, self.advice)
        )
        said, details = (
            "".join(f"<div>{escape(line)}</div>" for line in lines)
            for lines in (self.remarks, self.details)
        )
        place = f"<small>{escape(self.stamp)}</small>"
        if details:
            title = escape(_("Details"))
            place = f"<details><summary>{title}</summary>{details}{place}</details>"
        return f"{busy}{self.table.html()}{advised}{said}{place}"


def comparison(c: ComparisonRecord) -> Page:
    """The table, what to use, how to read it, and the sentence on each variant."""
    busy = remarks.busy([c])
    return Page(
        busy=busy,
        table=table(c),
        advice="" if busy else advice(c),
        remarks=remarks.reading(c),
        details=remarks.comparison(c),
        stamp=stamp(c.env, c.seed),
    )


def sweep(s: SweepRecord) -> Page:
    """The table of sizes, and which variant is what at which of them."""
    first = s.comparisons[0]
    said = remarks.sweep(s)
    return Page(
        remarks.busy(s.comparisons), sweep_table(s), "", said, [], stamp(first.env, first.seed)
    )


def table(c: ComparisonRecord) -> Table:
    """A row a variant: verdict, ratio and time by each clock, then what is paid once."""
    winner = None if c.busy else best(c)
    once = _paid_once(c)
    columns = [Column(_("variant"), left=True)]
    columns += [column for clock in c.clocks for column in _clock_columns(c, clock)]
    columns += [Column(head) for head in once]
    rows = []
    for label in in_order(c):
        cells = [cell for clock in c.clocks for cell in _clock_cells(c, label, clock)]
        cells += [found[label] for found in once.values()]
        rows.append(Row([label, *cells], best=label == winner))
    for label, reason in c.unavailable.items():
        note = _("Not run: {reason}.").format(reason=remarks.not_run(reason))
        rows.append(Row([label], note=note))
    return Table(columns, rows)


def in_order(c: ComparisonRecord) -> list[str]:
    """The labels, references after the variants."""
    return sorted(c, key=lambda label: label in c.references)


def cold_start_is_felt(m: Measurement) -> bool:
    """Does a cold start take the time of more than ten calls, so that it is worth showing?"""
    return m.cold_seconds > _FELT * m.median


def sweep_table(s: SweepRecord) -> Table:
    """One row a size: the time of each variant by each clock, its ratio and a sign for it."""
    cells = [(clock, label) for clock in s.clocks for label in s.labels]
    several = len(s.clocks) > 1
    titles = {clock: remarks.clock_title(clock, s.clocks) if several else "" for clock in s.clocks}
    columns = [Column(label, titles[clock]) for clock, label in cells]
    rows = [
        Row([count(work), *(_sweep_cell(c, label, clock) for clock, label in cells)])
        for work, c in zip(s.work, s.comparisons, strict=True)
    ]
    return Table([Column(_("work"), left=True), *columns], rows)


def _clock_columns(c: ComparisonRecord, clock: str) -> list[Column]:
    title = remarks.clock_title(clock, c.clocks)
    if len(c.clocks) > 1:
        heads = [Column(_("verdict"), title, left=True), Column(_("ratio"), title)]
        return [*heads, Column(_("time"), title)]
    heads = [Column(_("verdict"), left=True), Column(_("ratio")), Column(title)]
    ratio, time = map(_interval, (stats.confidence(c.rounds), stats.CONFIDENCE))
    return [*heads, Column(_("of the ratio"), ratio), Column(_("of the time"), time)]


def _interval(confidence: float) -> str:
    return _("{confidence} interval").format(confidence=percent(confidence))


def _clock_cells(c: ComparisonRecord, label: str, clock: str) -> list[str]:
    """Verdict, ratio and time; the intervals too where there is one clock alone."""
    m = c[label]
    if not m.times.of(clock):  # a program of its own has no events on the accelerator
        return ["", UNKNOWN, UNKNOWN]
    estimate, low, high = c.ratio(label, clock)
    found = VERDICTS[c.verdict(label, clock)]
    verdict, ratio, between = f"{found.sign} {_(found.word)}", number(estimate), span(low, high)
    if label in c.references:
        verdict = _("reference")
    elif label == c.baseline:
        verdict, ratio, between = _("baseline"), "1", ("", "")
    cells = [verdict, ratio, seconds(m.median_of(clock))]
    if len(c.clocks) == 1:
        cells += [_between(*between), _between(*span(*m.interval(clock), seconds))]
    return cells


def _between(low: str, high: str) -> str:
    return low if low == high in ("", UNKNOWN) else f"{low} – {high}"


def _paid_once(c: ComparisonRecord) -> dict[str, dict[str, str]]:
    """Columns, by their heads, on what is paid once or held; those that say something."""
    felt, calls = any(map(cold_start_is_felt, c.values())), remarks.pay_off(c)
    shown = {
        _("build"): {m.label: _known(m.build_seconds, seconds) for m in c.values()},
        _("cold start"): {m.label: seconds(m.cold_seconds) if felt else "" for m in c.values()},
        _("pays after"): {label: _calls(calls[label]) if label in calls else "" for label in c},
        _("peak memory, device"): {m.label: _known(m.peak_bytes, _bytes) for m in c.values()},
        _("peak memory, host"): {m.label: _known(m.host_peak_bytes, _bytes) for m in c.values()},
    }
    return {head: cells for head, cells in shown.items() if any(cells.values())}


def _calls(found: float | None) -> str:
    """The calls after which a cold start is paid, or the marks for never and not known."""
    return UNKNOWN if found is None else NEVER_MARK if found == NEVER else count(found)


def _known(value: float | None, show: Callable[[float], str]) -> str:
    return "" if value is None else show(value)


def _bytes(value: float) -> str:
    unit, size = ("MiB", 2**20) if value >= 2**20 else ("KiB", 2**10)
    return f"{number(value / size)} {unit}" if value else "0 MiB"


def _sweep_cell(c: ComparisonRecord, label: str, clock: str) -> str:
    if label not in c or not c[label].times.of(clock):
        return "–"
    time = seconds(c[label].median_of(clock))
    if label == c.baseline:
        return time
    sign = VERDICTS[c.verdict(label, clock)].sign
    return f"{time} ({number(c.ratio(label, clock)[0])}× {sign})"
