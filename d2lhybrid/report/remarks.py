"""The sentences that stand above and below a table: marks, and what went otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from d2lhybrid import stats
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, ngettext, number
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.units import NEVER, UNKNOWN, percent, seconds
from d2lhybrid.report.verdicts import VERDICTS

if TYPE_CHECKING:
    from d2lhybrid.report.results import Comparison
    from d2lhybrid.report.sweeps import Sweep

_CLOCKS = {
    "latency": N_("latency"),
    "throughput": N_("throughput"),
    "device": N_("device time"),
}
_STOPPED = {
    "limit": N_("The time limit came first."),
    "interrupted": N_("It was interrupted; this is what had been measured."),
}


def busy(comparisons: Sequence[Comparison]) -> str:
    """One line that says that the machine was busy, at its worst; empty where it was not."""
    found = [c for c in comparisons if c.busy]
    if not found:
        return ""
    loads = [c.env.load for c in found if c.env.load is not None]
    return _(
        "⚠ This machine was busy (load {load} on {cores} cores, noise floor {floor}): "
        "measure again when it is quiet."
    ).format(
        load=number(max(loads), 2) if loads else UNKNOWN,
        cores=found[0].env.cores,
        floor=percent(max(c.noise_floor for c in found)),
    )


def clock_title(clock: str, clocks: Sequence[str]) -> str:
    """What a clock shows; latency is plain time where nothing is queued."""
    plain = clock == "latency" and "throughput" not in clocks
    return _("time per call") if plain else _(_CLOCKS[clock])


def not_run(reason: str) -> str:
    """Why a variant was not run, without a full stop: it may be the sentence of an error."""
    return _(reason).rstrip(".。")


def ending(c: Comparison) -> list[str]:
    """How the rounds ended."""
    text = ngettext("{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", c.rounds)
    said = text.format(n=c.rounds, floor=percent(c.noise_floor))
    return [_(_STOPPED[c.stopped]), said] if c.stopped in _STOPPED else [said]


def reading(c: Comparison) -> list[str]:
    """How to read what would puzzle in the table, a line each; none where nothing does."""
    lines = []
    calls = pay_off(c).values()
    if NEVER in calls:
        lines.append(_("∞: its cold start never pays, for it is not faster."))
    if c.rounds < stats.FEWEST:
        text = _("?: not known, for fewer than {n} rounds give no interval.")
        if c.limit_needed is not None:
            text = _(
                "?: not known, for fewer than {n} rounds give no interval. "
                "Measure again with a time_limit of at least {limit}."
            )
        lines.append(text.format(n=stats.FEWEST, limit=seconds(c.limit_needed or 0)))
    elif None in calls:
        lines.append(_("?: not known, for the verdict is undecided."))
    if any(m.build_seconds is not None for m in c.values()):
        lines.append(
            _(
                "A build is done once for all processes; “pays after” counts what each process "
                "pays: loading and the first call."
            )
        )
    if any(c.skewed(label) for label in c if label != c.baseline):
        lines.append(
            _(
                "A ratio is the median of the ratios within each round, where drift of the machine "
                "cancels out; so it is not the quotient of the two times."
            )
        )
    text = _("{label}: {note}.")
    lines += [text.format(label=m.label, note=_(m.note)) for m in c.values() if m.note]
    return lines + _not_run_lines([c])


def pay_off(c: Comparison) -> dict[str, float | None]:
    """`break_even` of the variants; empty where none has to be called more than once to pay."""
    calls = {label: c.break_even(label) for label in c.others}
    return calls if any(found not in (None, NEVER, 1) for found in calls.values()) else {}


def sweep(s: Sweep) -> list[str]:
    """What the signs mean, and what was not run."""
    signs = listed(f"{one.sign} {_(one.word)}" for one in VERDICTS.values())
    return [signs, *_not_run_lines(s.comparisons)]


def _not_run_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """What was not run, and why, a line each."""
    text = _("{label} was not run: {reason}.")
    reasons = {label: why for c in comparisons for label, why in c.unavailable.items()}
    return [text.format(label=label, reason=not_run(why)) for label, why in reasons.items()]
