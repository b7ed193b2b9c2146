"""What to use, by the rows of a comparison."""

from math import prod

from d2lhybrid.core.i18n import gettext as _, names, ngettext, noop as N_, sentences
from d2lhybrid.core.table import NEVER, percent, seconds
from d2lhybrid.core.wording import option
from d2lhybrid.measuring.row import Row, Rows, fastest
from d2lhybrid.measuring.stats import FEWEST_SAMPLES_FOR_AN_INTERVAL, Estimate

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
    4. Candidates are the variants that are faster than the baseline, not slower than it in a stream
       of calls, and pay off their cold start. The best is the one with the highest gain: its ratio,
       times its ratio in a stream where that is another. The comparison cannot separate it from
       those whose gain may be as high. Of all these, use one that pays off at the first call, or
       else the plainest: the first in the comparison's order.
    5. If there is none, and it is undecided whether one is faster: measure longer, or in more
       processes if they differ by more than their rounds. What lies wholly below 1 isn't faster,
       even where the noise leaves open whether it is slower.
    6. Otherwise stay with the baseline: even the fastest alternative is slower or the same.
    """
    choice = _choice(rows)
    if not choice:
        return ""
    if rows.recommended is not None:
        return _use(rows.recommended, rows)
    if rows.measurements.busy or rows.baseline.deprecated:
        return ""
    undecided = [row for row in choice if row.pays_after is None and not row.latency.is_not_faster]
    if undecided:
        return _measure_longer(undecided, rows)
    return _stay(choice, rows)


def best(rows: Rows) -> Row | None:
    """The variant to use in place of the baseline by rules 1 to 4 of `advice`, if there is one."""
    return _best_of(_choice(rows))


def _best_of(choice: list[Row]) -> Row | None:
    """The best of these by rule 4, if one is faster than the baseline and pays off."""
    faster = [
        row for row in choice if row.pays_after not in (None, NEVER) and not row.is_slower_in_stream
    ]
    if not faster:
        return None
    gains = [_gain(row) for row in faster]
    _highest, least, _most = max(gains)
    close = [row for row, (_gained, _low, high) in zip(faster, gains, strict=True) if high >= least]
    return min(close, key=lambda row: not row.pays_at_once)


def _gain(row: Row) -> Estimate:
    """Its ratio, times its ratio in a stream of calls if that is another, and the ends of both.

    Of what was decided while the machine was busy no more than "at least" so much is known.
    """
    ratios = [row.latency, *filter(None, [row.stream])]
    if row.latency.bound_while_busy:
        return (row.latency.bound_while_busy,) * 3
    return (
        prod(times.ratio for times in ratios),
        prod(times.interval[0] for times in ratios),
        prod(times.interval[1] for times in ratios),
    )


def _choice(rows: Rows) -> list[Row]:
    """The variants that may be recommended: those that are not deprecated."""
    return [row for row in rows.variants if not row.deprecated]


def _use(row: Row, rows: Rows) -> str:
    if row.pays_at_once and row.build_seconds:
        text = _(
            "Use {label}: it is {ratio} times as fast as {baseline} from the first call on; after "
            "{more} calls with its build of {build}."
        )
    elif row.pays_at_once:
        text = _("Use {label}: it is {ratio} times as fast as {baseline} from the first call on.")
    elif not rows.says_calls_to_pay(row):
        text = _("Use {label}: it is {ratio} times as fast as {baseline}.")
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
        calls=row.calls_to_pay,
        more=row.calls_to_pay_with_build,
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
    text = ngettext(
        "Stay with {baseline} for now: it is undecided whether {others} is faster.",
        "Stay with {baseline} for now: it is undecided whether one of {others} is faster.",
        len(undecided),
    )
    if 0 < rows.processes < FEWEST_SAMPLES_FOR_AN_INTERVAL:
        more = _("Use at least {fewest} processes.")
    elif any(row.latency.differs_between_processes for row in undecided):
        more = _("Use more processes: times differ more between processes than within one.")
    elif rows.measurements.stopped == "most":
        more = ""
    else:
        more = _("A higher {time_limit} may decide it.")
    return sentences(text, more).format(
        baseline=rows.baseline.label,
        others=names(row.label for row in undecided),
        fewest=FEWEST_SAMPLES_FOR_AN_INTERVAL,
        time_limit=option("time_limit"),
    )


def _stay(choice: list[Row], rows: Rows) -> str:
    row = fastest(choice)
    if row.latency.verdict == "faster":  # or it would have been used
        text = _(
            "Stay with {baseline}: {label} is faster if you wait for each call, and slower in a "
            "stream of calls."
        )
    elif row.latency.verdict == "undecided":
        text = _("Stay with {baseline}: the fastest alternative, {label}, isn't faster.")
    else:
        text = _((_STAY if row is fastest(rows.variants) else _STAY_SUPPORTED)[row.latency.verdict])
    return text.format(
        baseline=rows.baseline.label,
        label=row.label,
        ratio=row.latency.shown_inverse,
        margin=percent(rows.measurements.margin),
    )
