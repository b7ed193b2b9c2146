"""A result as text and as HTML: what stands above its table, the table, and what stands below."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from d2lhybrid.core.i18n import gettext as _, ngettext, noop as N_
from d2lhybrid.core.table import Table, percent
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.provenance import stamp
from d2lhybrid.measuring.row import Rows
from d2lhybrid.showing.advice import advice
from d2lhybrid.showing.remarks import cautions, remarks
from d2lhybrid.showing.tables import comparison_table, sweep_table
from d2lhybrid.showing.verdicts import not_run, signs

_STOPPED = {
    "limit": N_("It stopped at the time limit."),
    "most": N_("It stopped after as many rounds as are taken at most."),
    "interrupted": N_("Measuring was interrupted; these are the results so far."),
}


class Page(NamedTuple):
    """What is shown of a result, from the top; HTML has the details folded."""

    cautions: Sequence[str]  # why times are uncertain, and what else to know before reading them
    table: Table
    advice: str
    reasons: Sequence[str]
    remarks: Sequence[str]
    details: Sequence[str]

    def __str__(self) -> str:
        below = filter(None, [self.advice, *self.reasons, *self.remarks, *self.details])
        return "\n".join([*self.cautions, str(self.table), "", *below])

    def html(self) -> str:
        """The same as HTML."""
        return self._shown() + folded(lines("small", *self.details))

    def html_inside(self) -> str:
        """The same inside something that is folded itself."""
        return self._shown() + lines("small", *self.details)

    def _shown(self) -> str:
        below = lines("strong", self.advice) + lines("span", *self.reasons, *self.remarks)
        return lines("strong", *self.cautions) + self.table.html() + below


def folded(content: str) -> str:
    """HTML that a reader opens under the word "Details"."""
    word = _("Details")  # not in the braces below, where the catalogs' reader finds no message
    return f"<details><summary>{escape(word)}</summary>{content}</details>"


def lines(tag: str, *sentences: str) -> str:
    """Lines as HTML, each in such an element; empty ones are left out."""
    return "".join(f"<div><{tag}>{escape(line)}</{tag}></div>" for line in sentences if line)


def comparison_page(rows: Rows) -> Page:
    """The table, what to use, why, and how to read it."""
    above, details = cautions([rows]), [*_details(rows)]
    return Page(above, comparison_table(rows), advice(rows), _why(rows), remarks(rows), details)


def _why(rows: Rows) -> list[str]:
    """What was observed of the compiled variants, a line each."""
    if not any(row.facts for row in rows):
        return []
    from d2lhybrid.why.rules import reasons

    return [str(each) for each in reasons(rows)]


def sweep_page(sizes: Sequence[float], comparisons: Sequence[Rows], name: str) -> Page:
    """The table of sizes, which have this name, and what the signs in it mean."""
    first = comparisons[0].measurements
    circumstances = dict.fromkeys(rows.measurements.circumstance for rows in comparisons)
    reasons = not_run(row for rows in comparisons for row in rows)
    remarks = [signs(), *filter(None, circumstances), *reasons]
    details = [stamp(first.env, first.seed)]
    table = sweep_table(sizes, comparisons, name)
    return Page(cautions(comparisons), table, "", [], remarks, details)


def _details(rows: Rows) -> Iterator[str]:
    """Why it stopped, what the figures rest on, where and when."""
    c = rows.measurements
    yield _(_STOPPED.get(c.stopped, ""))
    floor = percent(c.noise_floor)
    if rows.processes:
        text = ngettext(
            "{n} process with {rounds} rounds in all; noise floor {floor}.",
            "{n} processes with {rounds} rounds in all; noise floor {floor}.",
            rows.processes,
        )
        yield text.format(n=rows.processes, rounds=c.rounds, floor=floor)
        disturbed = sum(any(map(process.is_busy, process)) for process in c.processes)
        if disturbed:
            text = _(
                "Other programs disturbed {n} of these processes. A ratio rests on the others, or, "
                "if they are fewer than {fewest}, on all."
            )
            yield text.format(n=disturbed, fewest=stats.FEWEST_SAMPLES_FOR_AN_INTERVAL)
    else:
        text = ngettext(
            "{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", c.rounds
        )
        yield text.format(n=c.rounds, floor=floor)
    are_left_out = not any(row.latency.bound_while_busy for row in rows.variants)
    if c.disturbed_rounds and not c.busy and are_left_out:
        text = ngettext(
            "In {n} of these rounds, other programs held up a variant; that turn doesn't count.",
            "In {n} of these rounds, other programs held up a variant; those turns don't count.",
            c.disturbed_rounds,
        )
        yield text.format(n=c.disturbed_rounds)
    yield stamp(c.env, c.seed)
