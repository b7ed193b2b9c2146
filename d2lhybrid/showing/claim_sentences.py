"""What is said of a claim: that it holds, what contradicts it, or why it is undecided."""

import math
from typing import Any

from d2lhybrid.core.i18n import count, gettext as _, noop as N_, number, sentences
from d2lhybrid.core.table import percent
from d2lhybrid.measuring.claim import Claim
from d2lhybrid.measuring.measurement import METRICS
from d2lhybrid.measuring.measurements import Measurements
from d2lhybrid.measuring.stats import FEWEST_SAMPLES_FOR_AN_INTERVAL

_CLAIMED = {
    "faster": N_("Claimed: {label!r} is faster than {against!r}."),
    "slower": N_("Claimed: {label!r} is slower than {against!r}."),
    "same": N_("Claimed: {label!r} takes the same time as {against!r}."),
    "not slower": N_("Claimed: {label!r} is no slower than {against!r}."),
    "not faster": N_("Claimed: {label!r} is no faster than {against!r}."),
}
_AT_LEAST = {
    "faster": N_("Claimed: {label!r} is at least {amount} times as fast as {against!r}."),
    "slower": N_("Claimed: {label!r} takes at least {amount} times as long as {against!r}."),
}
# The same when they hold. {ratio} is how many times as fast, and {times} how many times as long.
_HOLDS = {
    "faster": N_("✓ {label} is faster than {against}: {ratio} times."),
    "slower": N_("✓ {label} is slower than {against}: it takes {times} times as long."),
    "same": N_("✓ {label} takes the same time as {against} to within {margin}."),
    "not slower": N_("✓ {label} is no slower than {against}: it is {ratio} times as fast."),
    "not faster": N_("✓ {label} is no faster than {against}: it takes {times} times as long."),
}
_HOLDS_AT_LEAST = {
    "faster": N_("✓ {label} is at least {amount} times as fast as {against}: {ratio} times."),
    "slower": N_("✓ {label} takes at least {amount} times as long as {against}: {times} times."),
}


def expected(claim: Claim, c: Measurements) -> str:
    """The claim as a sentence."""
    text = _CLAIMED[claim.sense] if claim.at_least is None else _AT_LEAST[claim.sense]
    return _(text).format(**_figures(claim, c))


def held(claim: Claim, c: Measurements) -> str:
    """What is shown when it holds: a sentence, then the metric and the size it is about."""
    text = _HOLDS[claim.sense] if claim.at_least is None else _HOLDS_AT_LEAST[claim.sense]
    ratio, *_ends = c.ratio(claim.label, claim.metric, claim.against)
    while_busy = metric = size = ""
    verdict = c.decide(claim.label, claim.metric, claim.against)
    if verdict.is_busy:
        ratio = verdict.low if claim.sense in ("faster", "not slower") else verdict.high
        while_busy = _("The machine was busy, so this is the least that it can be.")
    if claim.metric:
        metric = _("Metric: {metric}.").format(metric=_(METRICS[claim.metric]))
    if claim.size is not None:
        size = _("Size: {size}.").format(size=count(claim.size))
    times = {"ratio": number(ratio), "times": number(1 / ratio if ratio else math.inf)}
    return sentences(_(text).format(**_figures(claim, c) | times), metric, size, while_busy)


def needed_more(c: Measurements, before: Measurements) -> str:
    """How many rounds or processes it took, where those of `before` were too few."""
    if c.processes:
        text = _("The first processes don't show it; {processes} processes do.")
        return text.format(processes=len(c.processes))
    text = _("The first rounds don't show it; {rounds} rounds do.")
    if c.seed != before.seed:  # then its rounds are none of those before
        text = _("Another process shows it, in {rounds} rounds.")
    return text.format(rounds=count(c.rounds))


def contradicted(claim: Claim, c: Measurements) -> str:
    """What was measured instead."""
    text = _(
        "Measured: a ratio of {ratio} ({confidence} interval {low} to {high}, {metric}) in "
        "{rounds} rounds, with a noise floor of {floor}. Correct the claim, or what you compare."
    )
    if c.processes:
        text = _(
            "Measured: a ratio of {ratio} ({confidence} interval {low} to {high}, {metric}) in "
            "{processes} processes, with a noise floor of {floor}. Correct the claim, or what you "
            "compare."
        )
    return text.format(**_figures(claim, c))


def undecided(claim: Claim, c: Measurements) -> str:
    """Why what was measured doesn't decide it, and what would help."""
    if c.is_busy(claim.label, claim.against):
        text = _(
            "Other programs held up these two in too many of {rounds} rounds to decide it. Compare "
            "when the machine is quieter."
        )
        if c.env.can_use_fewer_threads:
            text = _(
                "Other programs held up these two in too many of {rounds} rounds to decide it. "
                "Compare on one thread, with threads=1, or when the machine is quieter."
            )
    elif not c.has_interval:
        text = _(
            "Fewer than {fewest} rounds give no interval, so they don't decide it. Compare with a "
            "higher time_limit."
        )
        if c.processes:
            text = _(
                "Fewer than {fewest} processes give no interval, so they don't decide it. Compare "
                "in {fewest} or more."
            )
    elif c.processes:
        text = _(
            "{processes} processes don't decide it: the {confidence} interval of the ratio, {low} "
            "to {high}, contains the bound or comes within the noise floor ({floor}) of it. "
            "Make a weaker claim, or compare in more processes."
        )
    else:
        text = _(
            "{rounds} rounds don't decide it: the {confidence} interval of the ratio, {low} to "
            "{high}, contains the bound or comes within the noise floor ({floor}) of it. "
            "Make a weaker claim, or compare with a higher time_limit."
        )
    return text.format(**_figures(claim, c))


def _figures(claim: Claim, c: Measurements) -> dict[str, Any]:
    """What the sentences have places for."""
    ratio, low, high = map(number, c.ratio(claim.label, claim.metric, claim.against))
    return {
        "label": claim.label,
        "against": c.baseline if claim.against is None else claim.against,
        "amount": number(claim.at_least or 1.0),
        "margin": percent(c.margin),
        "ratio": ratio,
        "low": low,
        "high": high,
        "processes": len(c.processes),
        "fewest": FEWEST_SAMPLES_FOR_AN_INTERVAL,
        "metric": _(METRICS[claim.metric or "latency"]),
        "floor": percent(c.floor_of(claim.metric)),
        "rounds": c.rounds,
        "confidence": percent(c.confidence(claim.label, claim.against)),
    }
