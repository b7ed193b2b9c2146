"""Why rows are undecided, in a sentence of its own for each reason, and what would help.

A row is open for *load* if other programs held it up, for *too few rounds* (or processes) if these
give no interval, and otherwise for *noise*: its interval isn't clear of 1.
"""

from collections.abc import Iterator, Sequence

from d2lhybrid.core.i18n import count, gettext as _, names, ngettext
from d2lhybrid.core.reader import option
from d2lhybrid.core.table import percent
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.measuring.stats import FEWEST


def held_up(rows: Rows) -> list[Row]:
    """The rows that other programs left undecided; the baseline where it is alone."""
    return [row for row in _open(rows) or rows.measured if row.is_busy]


def by_load(comparisons: Sequence[Rows]) -> str:
    """The sentence on the rows that other programs left undecided, with what helps; or ''."""
    busy = [rows for rows in comparisons if rows.comparison.busy]
    if not busy:
        return ""
    text = _(
        "⚠ The machine was busy: in {n} of {rounds} rounds, other programs held up a variant. This "
        "leaves undecided: {labels}. {help}"
    )
    labels = dict.fromkeys(row.name for rows in busy for row in held_up(rows))
    return text.format(
        n=count(sum(rows.comparison.disturbed_rounds for rows in busy)),
        rounds=count(sum(rows.comparison.rounds for rows in busy)),
        labels=names(labels),
        help=_what_helps(busy[0]),
    )


def by_noise_or_few_rounds(rows: Rows) -> Iterator[str]:
    """The sentences on the other rows that are undecided."""
    labels = names(row.name for row in _open(rows) if not row.is_busy)
    if not labels:
        return
    if rows.has_interval:
        text = _(
            "Undecided for noise: {labels}. The interval of the ratio contains 1, or comes within "
            "the noise floor of {floor}."
        )
        yield text.format(labels=labels, floor=percent(rows.comparison.noise_floor))
        return
    few = rows.processes or rows.comparison.rounds
    text = ngettext(
        "Undecided for too few rounds: {labels}. There was {n}, and it takes {fewest}.",
        "Undecided for too few rounds: {labels}. There were {n}, and it takes {fewest}.",
        few,
    )
    if rows.processes:
        text = ngettext(
            "Undecided for too few processes: {labels}. There was {n}, and it takes {fewest}.",
            "Undecided for too few processes: {labels}. There were {n}, and it takes {fewest}.",
            few,
        )
    yield text.format(labels=labels, n=few, fewest=FEWEST)


def _open(rows: Rows) -> list[Row]:
    return [row for row in rows.variants if row.latency.verdict == "undecided"]


def _what_helps(rows: Rows) -> str:
    """What to do where other programs held variants up."""
    threads = set(rows.comparison.env.threads.values())
    text = _("Measure again when the machine is quieter.")
    if threads and threads != {1}:
        text = _("Measure with one thread, with {threads}, or when the machine is quieter.")
    return text.format(threads=option("threads", 1))
