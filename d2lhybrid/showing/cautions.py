"""What stands above a table or picture: why times are uncertain, and warnings."""

from collections.abc import Sequence

from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.reader import option
from d2lhybrid.core.table import percent
from d2lhybrid.measuring.row import Rows
from d2lhybrid.showing import undecided


def cautions(comparisons: Sequence[Rows]) -> list[str]:
    """Why times are uncertain, and warnings that another question was measured, a line each."""
    return [*filter(None, [uncertain(comparisons)]), *warnings(comparisons)]


def warnings(comparisons: Sequence[Rows]) -> list[str]:
    """What says that another question was measured, a line each."""
    found = [warning for rows in comparisons for warning in rows.comparison.warnings]
    return [f"⚠ {warning}" for warning in dict.fromkeys(found)]


def uncertain(comparisons: Sequence[Rows]) -> str:
    """One line that says why times are uncertain, and what helps; empty where they are not.

    The machine is busy where other programs held the variants up, noisy where times vary so much
    without any. Noise that leaves no verdict undecided is a detail, which the noise floor states.
    """
    if busy := undecided.by_load(comparisons):
        return busy
    noisy = [rows for rows in comparisons if rows.comparison.noisy and rows.is_open]
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
        floor = percent(max(rows.comparison.noise_floor for rows in noisy))
        options = {"time_limit": option("time_limit"), "processes": option("processes", 6)}
        return text.format(floor=floor, **options)
    return ""
