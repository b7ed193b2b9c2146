"""Results as text and HTML, in the reader's language: a table, and the lines around it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from d2lhybrid.core import stats
from d2lhybrid.core.i18n import count, gettext as _, listed, ngettext, noop as N_, number, sentences
from d2lhybrid.display.table import NEVER, UNKNOWN, Column, Table, calls, percent, seconds, span
from d2lhybrid.experiment.claim import CLOCK_WORDS, VERDICTS, Comparison, advice, best
from d2lhybrid.experiment.provenance import stamp

Sweep = Any  # of `results`, which shows itself by this module

_BEST = "★"
_FELT = 10  # calls: what starts in a shorter time goes unnoticed, and has no column
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
        said = lines("strong", self.advice) + lines("span", *self.remarks)
        return lines("strong", self.busy) + self.table.html() + said


def folded(content: str) -> str:
    """HTML that a reader opens under the word "Details"."""
    word = _("Details")  # not in the braces below, where the catalogs' reader finds no message
    return f"<details><summary>{escape(word)}</summary>{content}</details>"


def lines(tag: str, *said: str) -> str:
    """Lines as HTML, each in such an element; empty ones are left out."""
    return "".join(f"<div><{tag}>{escape(line)}</{tag}></div>" for line in said if line)


def comparison(c: Comparison) -> Page:
    """The table, what to use, and how to read it."""
    text = ngettext("{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", c.rounds)
    rounds = text.format(n=c.rounds, floor=percent(c.noise_floor))
    details = [_(_STOPPED.get(c.stopped, "")), rounds, stamp(c.env, c.seed)]
    noted = _("{label}: {note}.")
    notes = [noted.format(label=m.label, note=_(m.note)) for m in c.values() if m.note]
    remarks = [*_marks(c), *notes, *not_run([c])]
    return Page(busy([c]), table(c), advice(c), remarks, details)


def sweep(s: Sweep) -> Page:
    """The table of sizes, and what the signs in it mean."""
    details = [stamp(s.comparisons[0].env, s.comparisons[0].seed)]
    remarks = [signs(), *not_run(s.comparisons)]
    return Page(busy(s.comparisons), sweep_table(s), "", remarks, details)


def signs() -> str:
    """What the signs of the verdicts mean, in one line."""
    return listed(f"{one.sign} {_(one.word)}" for one in VERDICTS.values())


def busy(comparisons: Sequence[Comparison]) -> str:
    """One line that says that times are uncertain, at the worst; empty where they are not."""
    found = [c for c in comparisons if c.busy]
    if not found:
        return ""
    loads = [c.env.load for c in found if c.env.load is not None]
    load = number(max(loads), 2) if loads else UNKNOWN
    floor = percent(max(c.noise_floor for c in found))
    text = _(
        "⚠ These times are uncertain (load {load} on {cores} cores, noise floor {floor}): measure "
        "again on a quiet machine, with a higher time_limit."
    )
    return text.format(load=load, cores=found[0].env.cores, floor=floor)


def clock_title(clock: str, clocks: Sequence[str]) -> str:
    """What a clock shows; latency is plain time where nothing is queued."""
    plain = clock == "latency" and "throughput" not in clocks
    return _("time per call") if plain else _(CLOCK_WORDS[clock])


def table(c: Comparison) -> Table:
    """A row a variant: verdict, ratio and time by each clock, then what is paid once."""
    winner, once = best(c), _paid_once(c)
    interval = _("{confidence} interval").format(confidence=percent(stats.confidence(c.rounds)))
    columns = [Column(_("variant"), left=True)]
    for clock in c.clocks:
        verdict, time = _("verdict"), clock_title(clock, c.clocks)
        if len(c.clocks) > 1:
            verdict, time = f"{time}\n{verdict}", _("time")
        columns += [Column(verdict, left=True), *map(Column, (_("ratio"), interval, time))]
    rows = []
    for label in c:
        cells = [cell for clock in c.clocks for cell in _cells(c, label, clock)]
        cells += [found.get(label, "") for found in once.values()]
        shown = named(label, c.deprecated)
        rows.append([f"{shown} {_BEST}" if label == winner else shown, *cells])
    strong = {at for at, label in enumerate(c) if label == winner}
    return Table([*columns, *map(Column, once)], rows, strong=strong)


def named(label: str, deprecated: Collection[str]) -> str:
    """The label as it is shown, with a word if it is deprecated."""
    # Translators: a way to run a model that its makers have deprecated
    return _("{label} (deprecated)").format(label=label) if label in deprecated else label


def _cells(c: Comparison, label: str, clock: str) -> list[str]:
    """Verdict, ratio, its interval, and time."""
    if not _ran(c, label, clock):  # a program of its own has no events on the accelerator
        return ["", UNKNOWN, "", UNKNOWN]
    time = seconds(c[label].median_of(clock))
    if label == c.baseline:
        return [_("baseline"), "1", "", time]
    found = VERDICTS[c.verdict(label, clock)]
    verdict = _("reference") if label in c.references else f"{found.sign} {_(found.word)}"
    estimate, low, high = c.ratio(label, clock)
    ends = " – ".join(dict.fromkeys(span(low, high)))
    return [verdict, number(estimate), ends, time]


def _ran(c: Comparison, label: str, clock: str) -> bool:
    return clock != "device" or c[label].times.device is not None


def _paid_once(c: Comparison) -> dict[str, dict[str, str]]:
    """Columns, by their heads, on what is paid once; those that say something."""
    pays = pay_off(c)
    columns = {
        _("build"): {m.label: seconds(m.build_seconds) for m in c.values() if m.build_seconds},
        _("cold start"): {m.label: seconds(m.cold_seconds) for m in c.values() if pays},
        _("pays after"): {label: calls(found) for label, found in pays.items()},
    }
    return {head: cells for head, cells in columns.items() if cells}


def pay_off(c: Comparison) -> dict[str, float | None]:
    """`break_even` of the variants; empty where no cold start is felt."""
    felt = any(m.cold_seconds > _FELT * m.median for m in c.values())
    return {label: c.break_even(label) for label in c.others} if felt else {}


def _marks(c: Comparison) -> Iterator[str]:
    """What the marks in the table mean, a line each."""
    paid = pay_off(c).values()
    if NEVER in paid:
        yield _("∞: its cold start never pays off, because it isn't faster.")
    if c.rounds < stats.FEWEST:
        text = _("?: not known, because fewer than {n} rounds give no interval.")
        more = _("Measure again with a time_limit of at least {limit}.") if c.limit_needed else ""
        yield sentences(text, more).format(n=stats.FEWEST, limit=seconds(c.limit_needed or 0))
    elif None in paid:
        yield _("?: not known, because the verdict is undecided.")


def not_run(comparisons: Sequence[Comparison]) -> list[str]:
    """What was not run, and why, a line each; a reason may be the sentence of an error."""
    text = _("{label} was not run: {reason}.")
    reasons = {label: why for c in comparisons for label, why in c.unavailable.items()}
    return [text.format(label=name, reason=_(why).rstrip(".。")) for name, why in reasons.items()]


def sweep_table(s: Sweep) -> Table:
    """One row a size: the time of each variant by each clock, its ratio and a sign for it."""
    columns = [Column(_("work"), left=True)]
    for clock in s.clocks:
        heads = [named(label, s.deprecated) for label in s.labels]
        if len(s.clocks) > 1:
            heads[0] = f"{clock_title(clock, s.clocks)}\n{heads[0]}"
        columns += map(Column, heads)
    pairs = [(label, clock) for clock in s.clocks for label in s.labels]
    sizes = zip(s.sizes, s.comparisons, strict=True)
    rows = [[count(work), *(_sweep_cell(c, *pair) for pair in pairs)] for work, c in sizes]
    return Table(columns, rows)


def _sweep_cell(c: Comparison, label: str, clock: str) -> str:
    if label not in c or not _ran(c, label, clock):
        return "–"
    time = c[label].median_of(clock)
    if label == c.baseline:
        return seconds(time)
    return _with_ratio(time, c.ratio(label, clock)[0], c.verdict(label, clock))


def _with_ratio(time: float, ratio: float, verdict: str) -> str:
    """All in one cell: a time, the ratio, and the sign of the verdict."""
    return f"{seconds(time)} ({number(ratio)}× {VERDICTS[verdict].sign})"


class Timed(NamedTuple):
    """A variant as a recording keeps it: by clock its time, ratio and verdict, without samples."""

    label: str
    seconds: Mapping[str, float]
    ratio: Mapping[str, float]
    verdict: Mapping[str, str]
    cold_seconds: float | None = None
    deprecated: bool = False


def timed_table(rows: Sequence[Timed]) -> Table:
    """A row a variant, a column a clock, then the cold start; the first row is the baseline.

    It is narrower than ``table``: a cell holds the time, its ratio and a sign for the verdict.
    """
    first, *_others = rows
    clocks = [clock for clock in CLOCK_WORDS if clock in first.seconds]
    columns = [Column(_("variant"), left=True)]
    columns += [Column(clock_title(clock, clocks)) for clock in clocks]
    lines = [
        [
            named(row.label, [row.label] if row.deprecated else []),
            *(_timed_cell(row, clock, row is first) for clock in clocks),
        ]
        for row in rows
    ]
    if any(row.cold_seconds is not None for row in rows):
        columns.append(Column(_("cold start")))
        for line, row in zip(lines, rows, strict=True):
            line.append("" if row.cold_seconds is None else seconds(row.cold_seconds))
    return Table(columns, lines)


def _timed_cell(row: Timed, clock: str, baseline: bool) -> str:
    if clock not in row.seconds:
        return UNKNOWN
    if baseline:
        return seconds(row.seconds[clock])
    return _with_ratio(row.seconds[clock], row.ratio[clock], row.verdict[clock])
