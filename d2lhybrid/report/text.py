"""Results as text and HTML, in the reader's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from d2lhybrid import stats
from d2lhybrid.i18n import count, number
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import remarks
from d2lhybrid.report.advice import advice, best
from d2lhybrid.report.provenance import stamp
from d2lhybrid.report.table import Column, Row, Table
from d2lhybrid.report.units import NEVER, NEVER_MARK, UNKNOWN, percent, seconds, span
from d2lhybrid.report.verdicts import VERDICTS

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison
    from d2lhybrid.report.sweeps import Sweep

_BEST = "★"
_FELT = 10  # calls: what starts in a shorter time goes unnoticed, and has no column


@dataclass(frozen=True)
class Page:
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
        said = f"{_lines([self.advice], 'strong')}{_lines(self.remarks, 'span')}"
        details = f"<summary>{escape(_('Details'))}</summary>{_lines(self.details, 'small')}"
        above = f"{_lines([self.busy], 'strong')}{self.table.html()}"
        return f"{above}{said}<details>{details}</details>"


def _lines(said: Iterable[str], tag: str) -> str:
    return "".join(f"<div><{tag}>{escape(line)}</{tag}></div>" for line in said if line)


def comparison(c: Comparison) -> Page:
    """The table, what to use, and how to read it."""
    busy, details = remarks.busy([c]), [*remarks.ending(c), stamp(c.env, c.seed)]
    return Page(busy, table(c), "" if busy else advice(c), remarks.reading(c), details)


def sweep(s: Sweep) -> Page:
    """The table of sizes, and what the signs in it mean."""
    first, busy = s.comparisons[0], remarks.busy(s.comparisons)
    return Page(busy, sweep_table(s), "", remarks.sweep(s), [stamp(first.env, first.seed)])


def table(c: Comparison) -> Table:
    """A row a variant: verdict, ratio and time by each clock, then what is paid once."""
    winner = None if c.busy else best(c)
    once = _paid_once(c)
    columns = [Column(_("variant"), left=True)]
    columns += [column for clock in c.clocks for column in _clock_columns(c, clock)]
    columns += [Column(head) for head in once]
    rows = []
    for label in in_order(c):
        cells = [f"{label} {_BEST}" if label == winner else label]
        cells += [cell for clock in c.clocks for cell in _clock_cells(c, label, clock)]
        cells += [found.get(label, "") for found in once.values()]
        rows.append(Row(cells, strong={0} if label == winner else ()))
    return Table(columns, rows)


def in_order(c: Comparison) -> list[str]:
    """The labels, references after the variants."""
    return sorted(c, key=lambda label: label in c.references)


def sweep_table(s: Sweep) -> Table:
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


def _clock_columns(c: Comparison, clock: str) -> list[Column]:
    title, confidence = remarks.clock_title(clock, c.clocks), stats.confidence(c.rounds)
    group, time = (title, _("time")) if len(c.clocks) > 1 else ("", title)
    interval = _("{confidence} interval").format(confidence=percent(confidence))
    verdict = Column(_("verdict"), group, left=True)
    return [verdict, *(Column(head, group) for head in (_("ratio"), interval, time))]


def _clock_cells(c: Comparison, label: str, clock: str) -> list[str]:
    """Verdict, ratio, its interval, and time."""
    m = c[label]
    if not m.times.of(clock):  # a program of its own has no events on the accelerator
        return ["", UNKNOWN, "", UNKNOWN]
    time = seconds(m.median_of(clock))
    if label == c.baseline:
        return [_("baseline"), "1", "", time]
    found = VERDICTS[c.verdict(label, clock)]
    verdict = _("reference") if label in c.references else f"{found.sign} {_(found.word)}"
    estimate, low, high = c.ratio(label, clock)
    ends = " – ".join(dict.fromkeys(span(low, high)))
    return [verdict, number(estimate), ends, time]


def _paid_once(c: Comparison) -> dict[str, dict[str, str]]:
    """Columns, by their heads, on what is paid once; those that say something."""
    felt = any(m.cold_seconds > _FELT * m.median for m in c.values())
    builds = {m.label: seconds(m.build_seconds) for m in c.values() if m.build_seconds is not None}
    cold_starts = {m.label: seconds(m.cold_seconds) for m in c.values() if felt}
    pays = {label: _calls(calls) for label, calls in remarks.pay_off(c).items()}
    shown = {_("build"): builds, _("cold start"): cold_starts, _("pays after"): pays}
    return {head: cells for head, cells in shown.items() if cells}


def _calls(found: float | None) -> str:
    """The calls after which a cold start is paid, or the marks for never and not known."""
    return UNKNOWN if found is None else NEVER_MARK if found == NEVER else count(found)


def _sweep_cell(c: Comparison, label: str, clock: str) -> str:
    if label not in c or not c[label].times.of(clock):
        return "–"
    time = seconds(c[label].median_of(clock))
    if label == c.baseline:
        return time
    sign = VERDICTS[c.verdict(label, clock)].sign
    return f"{time} ({number(c.ratio(label, clock)[0])}× {sign})"
