"""What stands above a table or picture: why times are uncertain, and warnings."""

from collections.abc import Sequence

from d2lhybrid.core.i18n import count, gettext as _, names
from d2lhybrid.core.table import percent
from d2lhybrid.core.wording import option
from d2lhybrid.measuring.row import Rows


def cautions(comparisons: Sequence[Rows]) -> list[str]:
    """Why times are uncertain, and warnings that another question was measured, a line each."""
    return [*filter(None, [uncertain(comparisons)]), *warnings(comparisons)]


def warnings(comparisons: Sequence[Rows]) -> list[str]:
    """What says that another question was measured, a line each."""
    found = [warning for rows in comparisons for warning in rows.measurements.warnings]
    return [f"⚠ {warning}" for warning in dict.fromkeys(found)]


def uncertain(comparisons: Sequence[Rows]) -> str:
    """One line that says why times are uncertain, and what helps; empty where they are not.

    The machine is busy where other programs held the variants up, noisy where times vary so much
    without any. Noise that leaves no verdict undecided is a detail, which the noise floor states.
    """
    if busy := _busy(comparisons):
        return busy
    noisy = [rows for rows in comparisons if rows.measurements.noisy and rows.is_open]
    if noisy:
        text = _(
            "⚠ These times are noisy: the baseline differs from itself by up to {floor}. Raise "
            "{time_limit}, or measure in several processes, with {processes}."
        )
        if noisy[0].processes:
            text = _(
                "⚠ These times are noisy: the baseline differs from itself by up to {floor}. Raise "
                "{time_limit}, or measure in more processes."
            )
        floor = percent(max(rows.measurements.noise_floor for rows in noisy))
        options = {"time_limit": option("time_limit"), "processes": option("processes", 6)}
        return text.format(floor=floor, **options)
    return ""


def _busy(comparisons: Sequence[Rows]) -> str:
    """The sentence on the rows that other programs left undecided, with what helps; or ''."""
    busy = [rows for rows in comparisons if rows.measurements.busy]
    if not busy:
        return ""
    text = _(
        "⚠ The machine was busy: in {n} of {rounds} rounds, other programs held up a variant. This "
        "leaves undecided: {labels}. {help}"
    )
    held_up = [row for rows in busy for row in rows.undecided or rows.measured if row.is_busy]
    labels = dict.fromkeys(row.name for row in held_up)  # the baseline where it is alone
    return text.format(
        n=count(sum(rows.measurements.disturbed_rounds for rows in busy)),
        rounds=count(sum(rows.measurements.rounds for rows in busy)),
        labels=names(labels),
        help=_what_helps(busy[0]),
    )


def _what_helps(rows: Rows) -> str:
    """What to do where other programs held variants up."""
    threads = set(rows.measurements.env.threads.values())
    text = _("Measure again when the machine is quieter.")
    if threads and threads != {1}:
        text = _("Measure with one thread, with {threads}, or when the machine is quieter.")
    return text.format(threads=option("threads", 1))
