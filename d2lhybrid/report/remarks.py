"""The sentences that stand above and below a table: verdicts, marks, what went otherwise."""

from collections.abc import Sequence

from d2lhybrid import stats
from d2lhybrid.i18n import count, listed, ngettext, number, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.comparisons import ComparisonRecord, SweepRecord
from d2lhybrid.report.units import NEVER, percent, seconds, span
from d2lhybrid.report.verdicts import VERDICTS

# What a clock shows: in a word or two, and as the heading of sentences.
_CLOCKS = {
    "latency": (N_("latency"), N_("Latency, each call waited for:")),
    "throughput": (N_("throughput"), N_("Throughput, time per call in a stream of calls:")),
    "device": (N_("device time"), N_("Device time, per call in a stream of calls:")),
    "plain": (N_("time per call"), N_("Time per call:")),  # the latency where nothing is queued
}


def busy(comparisons: Sequence[ComparisonRecord]) -> str:
    """One line that says that the machine was busy, at its worst; empty where it was not."""
    found = [c for c in comparisons if c.busy]
    if not found:
        return ""
    text = _("⚠ This machine was busy (noise floor {floor}): measure again when it is quiet.")
    loads = [c.env.load for c in found if c.env.load is not None]
    if loads:
        text = _(
            "⚠ This machine was busy (load {load} on {cores} cores, noise floor {floor}): "
            "measure again when it is quiet."
        )
    load, cores = number(max(loads, default=0), 2), count(found[0].env.cores)
    floor = percent(max(c.noise_floor for c in found))
    return text.format(load=load, cores=cores, floor=floor)


def clock_title(clock: str, clocks: Sequence[str]) -> str:
    """What a clock shows, in a word or two; latency is plain time where nothing is queued."""
    return _(_CLOCKS[_kind(clock, clocks)][0])


def not_run(reason: str) -> str:
    """Why a variant was not run, without a full stop: it may be the sentence of an error."""
    return _(reason).rstrip(".。")


def sentence(c: ComparisonRecord, label: str, clock: str) -> str:
    """The verdict on one variant by a clock, with its numbers."""
    estimate, low, high = c.ratio(label, clock)
    verdict = c.verdict(label, clock)
    if verdict == "slower":
        estimate, low, high = 1 / estimate, 1 / high, 1 / low
    ends = span(low, high)
    said = _(VERDICTS[verdict].said).format(
        label=label,
        baseline=c.baseline,
        ratio=number(estimate),
        confidence=percent(stats.confidence(c.rounds)),
        low=ends[0],
        high=ends[1],
        margin=percent(c.margin),
        floor=percent(c.floor_of(clock)),
    )
    return sentences(said, _pays(c, label) if clock == "latency" else "")


def comparison(c: ComparisonRecord) -> list[str]:
    """The verdicts by each clock, and how the rounds ended."""
    lines = []
    for clock in c.clocks:
        lines += _heading(clock, c.clocks)
        labels = [label for label in c if label != c.baseline and c[label].times.of(clock)]
        lines += [sentence(c, label, clock) for label in labels]
    if c.stopped == "limit":
        lines.append(_("The time limit came first."))
    elif c.stopped == "interrupted":
        lines.append(_("It was interrupted; this is what had been measured."))
    text = ngettext("{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", c.rounds)
    return [*lines, text.format(n=c.rounds, floor=percent(c.noise_floor))]


def reading(c: ComparisonRecord) -> list[str]:
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
    return lines


def pay_off(c: ComparisonRecord) -> dict[str, float | None]:
    """`break_even` of the variants; empty where none has to be called more than once to pay."""
    calls = {label: c.break_even(label) for label in c.others}
    return calls if any(found not in (None, NEVER, 1) for found in calls.values()) else {}


def sweep(s: SweepRecord) -> list[str]:
    """What the signs mean, and at which sizes each variant is what, by each clock."""
    lines = [listed(f"{one.sign} {_(one.word)}" for one in VERDICTS.values())]
    for clock in s.clocks:
        lines += _heading(clock, s.clocks)
        for label in s.labels:
            if label != s.comparisons[0].baseline:
                lines += _over_sizes(s, label, clock)
    text = _("{label} was not run: {reason}.")
    reasons = {label: why for c in s.comparisons for label, why in c.unavailable.items()}
    return [*lines, *(text.format(label=k, reason=not_run(why)) for k, why in reasons.items())]


def _over_sizes(s: SweepRecord, label: str, clock: str) -> list[str]:
    """A sentence for each verdict, in the order in which the sizes bring them."""
    points: dict[str, list[int]] = {}
    for at, c in enumerate(s.comparisons):
        if label in c and c[label].times.of(clock):
            points.setdefault(c.verdict(label, clock), []).append(at)
    lines = []
    for verdict, where in points.items():
        said = VERDICTS[verdict]
        text = _(said.every_size if len(where) == len(s.work) else said.some_sizes)
        baseline = s.comparisons[0].baseline
        lines.append(text.format(label=label, baseline=baseline, sizes=_sizes(s.work, where)))
    return lines


def _sizes(work: Sequence[float], where: Sequence[int]) -> str:
    """Sizes as a list, those that follow one another as a range."""
    firsts = [at for at in where if at - 1 not in where]
    lasts = [at for at in where if at + 1 not in where]
    ends = [(count(work[a]), count(work[b])) for a, b in zip(firsts, lasts, strict=True)]
    return listed(low if low == high else f"{low} – {high}" for low, high in ends)


def _heading(clock: str, clocks: Sequence[str]) -> list[str]:
    """The line above what is said by a clock, where there are several."""
    return [_(_CLOCKS[_kind(clock, clocks)][1])] if len(clocks) > 1 else []


def _kind(clock: str, clocks: Sequence[str]) -> str:
    return "plain" if clock == "latency" and "throughput" not in clocks else clock


def _pays(c: ComparisonRecord, label: str) -> str:
    calls = c.break_even(label)
    if calls is None or calls == NEVER or label in c.references:
        return ""
    if calls == 1:
        return _("It pays from the first call on.")
    text = ngettext(
        "Its cold start has paid for itself after {n} call.",
        "Its cold start has paid for itself after {n} calls.",
        int(calls),
    )
    return text.format(n=count(calls))
