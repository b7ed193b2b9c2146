"""Claims: what a text says about a comparison, checked against what was measured.

A claim *holds* if the interval of the ratio says so, beyond the noise floor. It is *contradicted*
if the interval says the opposite; that needs no noise floor, so a wrong claim also fails when times
are noisy. Otherwise it is *undecided*: more rounds are taken, and if it stays undecided, the reader
is told. "Not shown" is not "false".

If other programs held the variants up, so that too few rounds are left, nothing contradicts a
claim. It holds only by what waiting can't have done to the ratio (``ends_while_busy``), which needs
one thread: several that wait for each other can reverse any ratio.
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.errors import ArgumentError, ClaimError
from d2lhybrid.core.i18n import count, gettext as _, noop as N_, number, sentences
from d2lhybrid.core.table import percent
from d2lhybrid.measuring.measurement import METRICS
from d2lhybrid.measuring.provenance import Environment, stamp
from d2lhybrid.measuring.stats import FEWEST, Estimate
from d2lhybrid.measuring.verdict import decide_verdict

# How many times as many rounds, or processes, a claim that is undecided may get.
MORE_ROUNDS = 30.0
MORE_PROCESSES = 3.0
TELLING = 20  # rounds, from which on an interval tells how wide another will be

# Of what a claim shows. It depends on the machine, so tests leave it out: that the claim is
# undecided, or that it holds.
MIME = "application/vnd.d2lhybrid.undecided+json"
DECIDED = "application/vnd.d2lhybrid.decided+json"


class Compared(Protocol):
    """What a claim is held against: a comparison, which stands above this module."""

    @property
    def baseline(self) -> str: ...
    @property
    def margin(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def rounds(self) -> int: ...
    @property
    def processes(self) -> Sequence[Any]: ...
    @property
    def env(self) -> Environment: ...

    def ratio(self, label: str, metric: str | None = None, against: str | None = None) -> Estimate:
        """Time of the other over this one's: (estimate, low, high)."""

    def verdict(self, label: str, metric: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided'."""

    def floor_of(self, metric: str | None = None) -> float:
        """The noise floor."""

    def is_busy(self, label: str, against: str | None = None) -> bool:
        """Did other programs hold these up too often?"""

    def ends_while_busy(
        self, label: str, metric: str | None = None, against: str | None = None
    ) -> tuple[float, float]:
        """Between what their ratio lies if other programs held these up."""

    def confidence(self, label: str, against: str | None = None) -> float:
        """How sure the interval of the ratio is."""


CLAIMS = "claim('compiled', 'faster')", "claim('compiled', 'faster', at_least=1.5)"
C = TypeVar("C", bound=Compared)


_EXPECTED = {
    "faster": N_("Expected {label!r} to be faster than {against!r}."),
    "slower": N_("Expected {label!r} to be slower than {against!r}."),
    "same": N_("Expected {label!r} to take the same time as {against!r}."),
    "not slower": N_("Expected {label!r} to be no slower than {against!r}."),
    "not faster": N_("Expected {label!r} to be no faster than {against!r}."),
}
SENSES = tuple(_EXPECTED)
_AT_LEAST = {
    "faster": N_("Expected {label!r} to be at least {amount} times as fast as {against!r}."),
    "slower": N_("Expected {label!r} to take at least {amount} times as long as {against!r}."),
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


@dataclass(frozen=True)
class Claim:
    """'`label` is faster than `against`', or 'slower', 'same', 'not slower', 'not faster'.

    `size` is the one that it is about, if the comparison belongs to a sweep.
    """

    label: str
    sense: str
    at_least: float | None = None
    against: str | None = None
    metric: str | None = None
    size: float | None = None

    def __post_init__(self) -> None:
        if self.sense not in SENSES:
            text = _("Expected a claim among {known}. Received: {received!r}.")
            known = ", ".join(map(repr, SENSES))
            message = text.format(known=known, received=self.sense)
            raise ArgumentError(message + write_nearest(self.sense, SENSES))
        enough = isinstance(self.at_least, Real) and self.at_least >= 1
        if self.at_least is not None and (self.sense not in _AT_LEAST or not enough):
            text = _(
                "Expected at_least, 1 or more, with a claim of 'faster' or 'slower'. Received: "
                "{received!r} with {sense!r}."
            )
            raise ArgumentError(text.format(received=self.at_least, sense=self.sense))

    def judged(self, c: Compared) -> str:
        """'holds', 'contradicted' or 'undecided' by what was measured."""
        verdict = c.verdict(self.label, self.metric, self.against)
        if c.is_busy(self.label, self.against):
            low, high = c.ends_while_busy(self.label, self.metric, self.against)
            judged = self._judged_by(_Seen(verdict, low, high, c.margin))
            return "holds" if judged == "holds" else "undecided"
        _estimate, low, high = c.ratio(self.label, self.metric, self.against)
        return self._judged_by(_Seen(verdict, low, high, c.margin))

    def has_chance(self, c: Compared, narrower: float) -> bool:
        """May an interval and a noise floor that are so many times as narrow decide it?

        More rounds may also move the estimate: by half of what the interval allows it today.
        """
        if len(c.processes) < FEWEST if c.processes else c.rounds < TELLING:
            return True
        if c.is_busy(self.label, self.against):
            return False
        estimate, low, high = c.ratio(self.label, self.metric, self.against)
        if not 0 < low <= high < math.inf:
            return True
        # What the baseline differs from itself by in the middle stays after any number of rounds.
        offset = abs(c.ratio(c.baseline, self.metric)[0] - 1)
        floor = max(offset, c.floor_of(self.metric) / narrower)
        below, above = (low / estimate) ** (1 / narrower), (high / estimate) ** (1 / narrower)
        for moved in (math.sqrt(low * estimate), estimate, math.sqrt(high * estimate)):
            interval = moved, moved * below, moved * above
            verdict = decide_verdict(interval, floor, c.margin)
            if self._judged_by(_Seen(verdict, *interval[1:], c.margin)) != "undecided":
                return True
        return False

    def _judged_by(self, seen: "_Seen") -> str:
        if self.sense == "faster":
            return _judge_faster(seen, self.at_least or 1.0)
        if self.sense == "slower":
            return _judge_faster(seen.reciprocal(), self.at_least or 1.0)
        if self.sense == "not slower":
            return _judge_not_slower(seen)
        if self.sense == "not faster":
            return _judge_not_slower(seen.reciprocal())
        return _judge_same(seen)

    def expected(self, c: Compared) -> str:
        """The claim as a sentence."""
        text = _EXPECTED[self.sense] if self.at_least is None else _AT_LEAST[self.sense]
        against = c.baseline if self.against is None else self.against
        amount = number(self.at_least or 1.0)
        return _(text).format(label=self.label, against=against, amount=amount)

    def held(self, c: Compared) -> str:
        """What is shown when it holds: a sentence, then the metric and the size it is about."""
        text = _HOLDS[self.sense] if self.at_least is None else _HOLDS_AT_LEAST[self.sense]
        ratio = c.ratio(self.label, self.metric, self.against)[0]
        while_busy = ""
        if c.is_busy(self.label, self.against):
            low, high = c.ends_while_busy(self.label, self.metric, self.against)
            ratio = low if self.sense in ("faster", "not slower") else high
            while_busy = _("The machine was busy, so this is the least that it can be.")
        fields = {
            "label": self.label,
            "against": c.baseline if self.against is None else self.against,
            "ratio": number(ratio),
            "times": number(1 / ratio if ratio else math.inf),
            "amount": number(self.at_least or 1.0),
            "margin": percent(c.margin),
        }
        metric = ""
        if self.metric:
            metric = _("Clock: {clock}.").format(clock=_(METRICS[self.metric]))
        size = "" if self.size is None else _("Work: {work}.").format(work=count(self.size))
        return sentences(_(text).format(**fields), metric, size, while_busy)


class _Seen(NamedTuple):
    """What a claim is judged by: the verdict, and the ends of the ratio's interval."""

    verdict: str
    low: float
    high: float
    margin: float

    def reciprocal(self) -> "_Seen":
        """The same as seen from the other variant, which is faster if this one is slower."""
        opposite = {"faster": "slower", "slower": "faster"}
        verdict = opposite.get(self.verdict, self.verdict)
        low, high = 1 / self.high, 1 / self.low if self.low else math.inf
        return self._replace(verdict=verdict, low=low, high=high)

    @property
    def is_beyond_the_same(self) -> bool:
        """Does the whole interval say that it is slower by more than counts as the same?"""
        return self.high < 1 / (1 + self.margin)


def _judge_faster(seen: _Seen, at_least: float) -> str:
    """So many times as fast."""
    if seen.verdict == "faster" and seen.low >= at_least:
        return "holds"
    too_little = seen.verdict == "same" or seen.high < at_least
    return "contradicted" if too_little else "undecided"


def _judge_same(seen: _Seen) -> str:
    """The same time to within the margin: the verdict alone decides."""
    if seen.verdict == "same":
        return "holds"
    return "undecided" if seen.verdict == "undecided" else "contradicted"


def _judge_not_slower(seen: _Seen) -> str:
    """The same or faster; a slowdown within the margin counts as the same."""
    if seen.verdict in ("same", "faster") or seen.low >= 1 / (1 + seen.margin):
        return "holds"
    if seen.verdict == "slower" or seen.is_beyond_the_same:
        return "contradicted"
    return "undecided"


@dataclass(frozen=True, repr=False)
class Judgement(Generic[C]):
    """The outcome of a claim, 'holds' or 'undecided', and the comparison that it was judged by.

    If the claim needed more rounds, that comparison has them. A notebook doesn't show a judgement,
    because the line about it was already shown.
    """

    claim: Claim
    outcome: str
    comparison: C

    def __repr__(self) -> str:
        claim = self.claim
        return f"Judgement({claim.label!r}, {claim.sense!r}, {self.outcome!r})"

    def _ipython_display_(self) -> None:
        """Show nothing."""


class Judgements(tuple[Judgement[C], ...]):
    """The judgements of a claim at several sizes; a notebook doesn't show these either."""

    def _ipython_display_(self) -> None:
        """Show nothing."""


MeasureOn = Callable[[Callable[[C], bool]], C]


def judge(c: C, claim: Claim, measure_on: MeasureOn[C] | None) -> Judgement[C]:
    """Show a line if it holds, raise if it is contradicted; otherwise measure on, and say so.

    Args:
        c: what was measured.
        claim: what is said of it.
        measure_on: takes more rounds until what was measured satisfies a question, or for so long;
            None if there are no more.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such metric or variant.
    """

    def is_decided(comparison: C) -> bool:
        narrower = MORE_PROCESSES if comparison.processes else MORE_ROUNDS
        is_open = claim.judged(comparison) == "undecided"
        return not (is_open and claim.has_chance(comparison, math.sqrt(narrower)))

    before = c
    if measure_on is not None and not is_decided(c):
        c = measure_on(is_decided)
    outcome = claim.judged(c)
    if outcome == "contradicted":
        message = sentences(claim.expected(c), _contradicted(c, claim))
        raise ClaimError(f"{message}\n{stamp(c.env, c.seed)}", claim=claim)
    if outcome == "undecided":
        _show(
            claim,
            sentences(claim.expected(c), _undecided(c, claim)),
            MIME,
            busy=c.is_busy(claim.label, claim.against),
        )
    else:
        more = "" if c is before else _needed_more(c)
        _show(claim, sentences(claim.held(c), more), DECIDED)
    return Judgement(claim, outcome, c)


def _needed_more(c: Compared) -> str:
    if c.processes:
        text = _("The table's processes don't show it; {processes} processes do.")
        return text.format(processes=len(c.processes))
    text = _("The table's rounds don't show it; {rounds} rounds do.")
    return text.format(rounds=count(c.rounds))


def _contradicted(c: Compared, claim: Claim) -> str:
    text = _(
        "Received: a ratio of {ratio} ({confidence} interval {low} to {high}, clock {clock}) "
        "in {rounds} rounds, with a noise floor of {floor}. Correct the claim, or what you "
        "compare."
    )
    if c.processes:
        text = _(
            "Received: a ratio of {ratio} ({confidence} interval {low} to {high}, clock {clock}) "
            "in {processes} processes, with a noise floor of {floor}. Correct the claim, or what "
            "you compare."
        )
    return _with_figures(text, c, claim)


def _undecided(c: Compared, claim: Claim) -> str:
    if c.is_busy(claim.label, claim.against) and {*c.env.threads.values()} == {1}:
        text = _(
            "Other programs held up these two in too many of {rounds} rounds to decide it. Compare "
            "when the machine is quieter."
        )
    elif c.is_busy(claim.label, claim.against):
        text = _(
            "Other programs held up these two in too many of {rounds} rounds to decide it. Compare "
            "on one thread, with threads=1, or when the machine is quieter."
        )
    elif c.processes and not math.isfinite(c.ratio(claim.label, claim.metric, claim.against)[2]):
        text = _(
            "Fewer than {fewest} processes give no interval, so they don't decide it. Compare in "
            "{fewest} or more."
        )
    elif c.processes:
        text = _(
            "{processes} processes don't decide it: the {confidence} interval of the ratio, {low} "
            "to {high}, contains the bound or comes within the noise floor ({floor}) of it. Claim "
            "less, or compare in more processes."
        )
    else:
        text = _(
            "{rounds} rounds don't decide it: the {confidence} interval of the ratio, {low} to "
            "{high}, contains the bound or comes within the noise floor ({floor}) of it. Claim "
            "less, or compare with a higher time_limit."
        )
    return _with_figures(text, c, claim)


def _with_figures(text: str, c: Compared, claim: Claim) -> str:
    ratio, low, high = map(number, c.ratio(claim.label, claim.metric, claim.against))
    return text.format(
        ratio=ratio,
        low=low,
        high=high,
        processes=len(c.processes),
        fewest=FEWEST,
        clock=claim.metric or "latency",
        floor=percent(c.floor_of(claim.metric)),
        rounds=c.rounds,
        confidence=percent(c.confidence(claim.label, claim.against)),
    )


def in_ipython() -> bool:
    """Does this run in IPython, as in a notebook, which has more ways to show than text?"""
    ipython = sys.modules.get("IPython")
    return bool(ipython and ipython.get_ipython() is not None)


def _show(claim: Claim, line: str, kind: str, **more: bool) -> None:
    """Print it; in a notebook as an output of a separate type, which tests leave out."""
    if not in_ipython():
        print(line)
        return
    from IPython.display import publish_display_data

    about = {"label": claim.label, "claim": claim.sense, **more}
    publish_display_data({"text/plain": line, kind: about})
