"""What to use, by the rows of a comparison."""

from d2lhybrid.core.i18n import gettext as _, names, ngettext, noop as N_, sentences
from d2lhybrid.core.reader import option
from d2lhybrid.core.stats import FEWEST
from d2lhybrid.display.table import NEVER, calls, percent, seconds
from d2lhybrid.experiment.rows import Row, Rows

# By the verdict on the fastest alternative.
_STAY = {
    "slower": N_(
        "Stay with {baseline}: the fastest alternative, {label}, takes {ratio} times as long."
    ),
    "same": N_(
        "Stay with {baseline}: the fastest alternative, {label}, takes the same time to within "
        "{margin}."
    ),
}
# The same if a deprecated one is faster.
_STAY_SUPPORTED = {
    "slower": N_(
        "Stay with {baseline}: the fastest alternative that isn't deprecated, {label}, takes "
        "{ratio} times as long."
    ),
    "same": N_(
        "Stay with {baseline}: the fastest alternative that isn't deprecated, {label}, takes the "
        "same time to within {margin}."
    ),
}


def advice(rows: Rows) -> str:
    """What to use, by the verdicts on the latency; empty if there is nothing to say.

    1. No advice without an alternative to the baseline. If other programs leave the verdict on a
       variant undecided, only one that is faster all the same is advised.
    2. References are programs to compare the variants with. They are never recommended.
    3. What its makers have deprecated is never recommended either, however fast it is: the advice
       is what the comparison would give without it. If the baseline is deprecated, the advice is
       never to stay with it. Another runtime is recommended like any variant; a second sentence
       says that it is one, and names what to use without it.
    4. Among the variants that are faster than the baseline and pay off their cold start, the best
       is the one with the highest ratio. The comparison cannot separate it from those whose
       interval overlaps its interval, so of all these, use the one that pays off soonest.
    5. If there is none, and it is undecided whether one is faster: measure longer, or in more
       processes if they differ by more than their rounds. If all that is known is that one is
       faster in each of a few rounds or processes, the table says so, and that is all.
    6. Otherwise stay with the baseline: even the fastest alternative is slower or the same.
    """
    choice = _choice(rows)
    if not choice:
        return ""
    recommended = best(rows)
    if recommended is not None:
        return _use(recommended, rows)
    if rows.busy or rows.baseline.deprecated:
        return ""
    undecided = [row for row in choice if _is_undecided(row)]
    if undecided:
        return _measure_longer(undecided, rows)
    if any(row.latency.in_each == "faster" for row in choice):
        return ""
    return _stay(choice, rows)


def best(rows: Rows) -> Row | None:
    """The variant to use in place of the baseline by rules 1 to 4 of `advice`, if there is one."""
    return _best_of(_choice(rows))


def _best_of(choice: list[Row]) -> Row | None:
    """The best of these by rule 4, if one is faster than the baseline and pays off."""
    faster = [row for row in choice if row.pays_after not in (None, NEVER)]
    if not faster:
        return None
    top = max(faster, key=lambda row: row.latency.ratio)
    close = [row for row in faster if row.latency.interval[1] >= top.latency.interval[0]]
    return min(close, key=lambda row: (row.pays_after, row is not top))


def _choice(rows: Rows) -> list[Row]:
    """The variants that may be recommended: those that are not deprecated."""
    return [row for row in rows.variants if not row.deprecated]


def _is_undecided(row: Row) -> bool:
    """Is it open whether this one is worth using, with no word on it from every round?"""
    return row.pays_after is None and not row.latency.in_each


def _use(row: Row, rows: Rows) -> str:
    if row.pays_after == 1 and row.build_seconds:
        text = _(
            "Use {label}: it is {ratio} times as fast as {baseline} from the first call on; after "
            "{more} calls with its build of {build}."
        )
    elif row.pays_after == 1:
        text = _("Use {label}: it is {ratio} times as fast as {baseline} from the first call on.")
    elif row.build_seconds:
        text = _(
            "Use {label}: it is {ratio} times as fast as {baseline} and pays off its cold "
            "start after {calls} calls; {more} with its build of {build}."
        )
    else:
        text = _(
            "Use {label}: it is {ratio} times as fast as {baseline} and pays off its cold "
            "start after {calls} calls."
        )
    text = text.format(
        label=row.label,
        ratio=row.latency.shown_ratio,
        baseline=rows.baseline.label,
        calls=calls(row.pays_after),
        more=calls(row.pays_after_with_build),
        build=seconds(row.build_seconds or 0.0),
    )
    return sentences(text, _about_runtime(row, rows)) if row.other_runtime else text


def _about_runtime(row: Row, rows: Rows) -> str:
    """That this one is another runtime, and what to use without it."""
    without = _best_of([other for other in _choice(rows) if not other.other_runtime])
    text = _("{label} is another runtime; without one, stay with {baseline}.")
    if without is not None:
        text = _(
            "{label} is another runtime; without one, use {own}, which is {ratio} times as fast as "
            "{baseline}."
        )
    elif rows.baseline.deprecated:
        text = _("{label} is another runtime.")
    return text.format(
        label=row.label,
        own=without.label if without else "",
        ratio=without.latency.shown_ratio if without else "",
        baseline=rows.baseline.label,
    )


def _measure_longer(undecided: list[Row], rows: Rows) -> str:
    few_processes = 0 < rows.processes < FEWEST
    if few_processes or any(row.latency.differs_between_processes for row in undecided):
        text = ngettext(
            "Stay with {baseline} for now: it is undecided whether {others} is faster. Use more "
            "processes: times differ more between processes than within one.",
            "Stay with {baseline} for now: it is undecided whether one of {others} is faster. Use "
            "more processes: times differ more between processes than within one.",
            len(undecided),
        )
        if few_processes:
            text = ngettext(
                "Stay with {baseline} for now: it is undecided whether {others} is faster. Use "
                "at least {fewest} processes.",
                "Stay with {baseline} for now: it is undecided whether one of {others} is faster. "
                "Use at least {fewest} processes.",
                len(undecided),
            )
    else:
        text = ngettext(
            "Stay with {baseline} for now: it is undecided whether {others} is faster. A higher "
            "{time_limit} may decide it.",
            "Stay with {baseline} for now: it is undecided whether one of {others} is faster. A "
            "higher {time_limit} may decide it.",
            len(undecided),
        )
    others = names(row.label for row in undecided)
    return text.format(
        baseline=rows.baseline.label,
        others=others,
        fewest=FEWEST,
        time_limit=option("time_limit"),
    )


def _stay(choice: list[Row], rows: Rows) -> str:
    row = max(choice, key=lambda other: other.latency.ratio)
    fastest = max(rows.variants, key=lambda other: other.latency.ratio)
    text = _((_STAY if row is fastest else _STAY_SUPPORTED)[row.latency.shown_verdict])
    return text.format(
        baseline=rows.baseline.label,
        label=row.label,
        ratio=row.latency.shown_inverse,
        margin=percent(rows.margin),
    )
