"""Results as text and HTML, in the reader's language."""

from collections.abc import Callable, Sequence
from html import escape

from d2lhybrid.i18n import count, listed, number, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report import remarks
from d2lhybrid.report.advice import advice, best
from d2lhybrid.report.records import NEVER, Comparison, Measurement, Sweep
from d2lhybrid.report.table import Column, Row, Table
from d2lhybrid.report.units import NEVER_MARK, UNKNOWN, seconds, span, stamp
from d2lhybrid.report.verdicts import VERDICTS

_FELT = 10  # a cold start of fewer calls than this goes unnoticed, and has no column


def measurement(m: Measurement) -> str:
    """One line for one callable, and the stamp."""
    low, high = span(*m.interval(), seconds)
    text = _(
        "{label}: {median} per call (95% interval {low} to {high}); first call {cold}; "
        "{calls} calls of warm-up."
    )
    said = text.format(
        label=m.label,
        median=seconds(m.median),
        low=low,
        high=high,
        cold=seconds(m.first_seconds),
        calls=m.warmup_calls,
    )
    return f"{sentences(said, *remarks.more_times(m))}\n{stamp(m.env)}"


def table(c: Comparison) -> Table:
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
        why = _(reason).rstrip(".。")  # a reason may be the sentence of an error
        rows.append(Row([label], note=_("Not run: {reason}.").format(reason=why)))
    return Table(columns, rows)


def in_order(c: Comparison) -> list[str]:
    """The labels, references after the variants."""
    return sorted(c, key=lambda label: label in c.references)


def cold_start_is_felt(m: Measurement) -> bool:
    """Does a cold start take the time of more than ten calls, so that it is worth showing?"""
    return m.cold_seconds > _FELT * m.median


def text(c: Comparison) -> str:
    """The table, the sentences and the stamp as text."""
    above = remarks.busy([c])
    advised = "" if above else advice(c)
    below = [*filter(None, [advised]), *remarks.reading(c), *remarks.comparison(c)]
    return "\n".join([*filter(None, [above]), str(table(c)), "", *below, stamp(c.env, c.seed)])


def html(c: Comparison) -> str:
    """The same as HTML, with the sentences on each variant folded."""
    above = remarks.busy([c])
    advised = "" if above else _line(advice(c), strong=True)
    details = _details(remarks.comparison(c), stamp(c.env, c.seed))
    said = "".join(map(_line, remarks.reading(c)))
    return f"{_line(above, strong=True)}{table(c).html()}{advised}{said}{details}"


def sweep_table(s: Sweep) -> Table:
    """One row a size: the time of each variant by each clock, its ratio and a sign for it."""
    labels, clocks = remarks.sweep_labels(s), remarks.sweep_clocks(s)
    group = {
        clock: remarks.clock_title(clock, clocks) if len(clocks) > 1 else "" for clock in clocks
    }
    columns = [Column(_("work"), left=True)]
    columns += [Column(label, group[clock]) for clock in clocks for label in labels]
    rows = []
    for work, c in zip(s.work, s.comparisons, strict=True):
        rows.append(
            Row([count(work), *(_sweep_cell(c, one, clock) for clock in clocks for one in labels)])
        )
    return Table(columns, rows)


def sweep_text(s: Sweep) -> str:
    """The sweep as text."""
    above = filter(None, [remarks.busy(s.comparisons)])
    lines = [_signs(), *remarks.sweep(s), _sweep_stamp(s)]
    return "\n".join([*above, str(sweep_table(s)), "", *lines])


def sweep_html(s: Sweep) -> str:
    """The sweep as HTML."""
    above = _line(remarks.busy(s.comparisons), strong=True)
    said = "".join(map(_line, [_signs(), *remarks.sweep(s)]))
    return f"{above}{sweep_table(s).html()}{said}<small>{escape(_sweep_stamp(s))}</small>"


def _clock_columns(c: Comparison, clock: str) -> list[Column]:
    title = remarks.clock_title(clock, c.clocks)
    if len(c.clocks) > 1:
        heads = [Column(_("verdict"), title, left=True), Column(_("ratio"), title)]
        return [*heads, Column(_("time"), title)]
    interval = _("95% interval")
    heads = [Column(_("verdict"), left=True), Column(_("ratio")), Column(title)]
    return [*heads, Column(_("of the ratio"), interval), Column(_("of the time"), interval)]


def _clock_cells(c: Comparison, label: str, clock: str) -> list[str]:
    """Verdict, ratio and time; the intervals too where there is one clock alone."""
    m = c[label]
    if not m.times.of(clock):  # a program of its own has no events on the accelerator
        return ["", UNKNOWN, UNKNOWN]
    base = label == c.baseline
    estimate, low, high = c.ratio(label, clock)
    cells = [_("baseline"), "1"] if base else [_verdict(c, label, clock), number(estimate)]
    cells.append(seconds(m.median_of(clock)))
    if len(c.clocks) == 1:
        cells.append("" if base else _between(span(low, high)))
        cells.append(_between(span(*m.interval(clock), seconds)))
    return cells


def _verdict(c: Comparison, label: str, clock: str) -> str:
    if label in c.references:
        return _("reference")
    found = VERDICTS[c.verdict(label, clock)]
    return f"{found.sign} {_(found.word)}"


def _paid_once(c: Comparison) -> dict[str, dict[str, str]]:
    """Columns, by their heads, on what is paid once or held; those that say something."""
    shown: dict[str, dict[str, str]] = {}
    if any(m.build_seconds is not None for m in c.values()):
        shown[_("build")] = {label: _known(m.build_seconds, seconds) for label, m in c.items()}
    if any(map(cold_start_is_felt, c.values())):
        shown[_("cold start")] = {label: seconds(m.cold_seconds) for label, m in c.items()}
    if calls := remarks.pay_off(c):
        shown[_("pays after")] = {one: _calls(calls[one]) if one in calls else "" for one in c}
    if any(m.peak_bytes is not None for m in c.values()):
        shown[_("peak memory")] = {label: _known(m.peak_bytes, _bytes) for label, m in c.items()}
    return shown


def _calls(found: float | None) -> str:
    """The calls after which a cold start is paid, or the marks for never and not known."""
    return UNKNOWN if found is None else NEVER_MARK if found == NEVER else count(found)


def _known(value: float | None, show: Callable[[float], str]) -> str:
    return "" if value is None else show(value)


def _bytes(value: float) -> str:
    return f"{number(value / 2**20)} MiB"


def _between(ends: tuple[str, str]) -> str:
    return ends[0] if ends[0] == ends[1] == UNKNOWN else " – ".join(ends)


def _sweep_cell(c: Comparison, label: str, clock: str) -> str:
    if label not in c or not c[label].times.of(clock):
        return "–"
    time = seconds(c[label].median_of(clock))
    if label == c.baseline:
        return time
    sign = VERDICTS[c.verdict(label, clock)].sign
    return f"{time} ({number(c.ratio(label, clock)[0])}× {sign})"


def _signs() -> str:
    """What the signs in the cells of a sweep mean."""
    return listed([f"{one.sign} {_(one.word)}" for one in VERDICTS.values()])


def _sweep_stamp(s: Sweep) -> str:
    return stamp(s.comparisons[0].env, s.comparisons[0].seed)


def _line(text: str, strong: bool = False) -> str:
    said = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f"<div>{said}</div>" if text else ""


def _details(lines: Sequence[str], place: str) -> str:
    said = "".join(map(_line, lines))
    title = _("Details")
    return (
        f"<details><summary>{escape(title)}</summary>{said}<small>{escape(place)}</small></details>"
    )
