"""The sentences that stand above and below a table: verdicts, marks, what went otherwise."""

from collections.abc import Sequence

from d2lhybrid.i18n import count, listed, ngettext, number, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.stats import FEWEST
from d2lhybrid.report.records import NEVER, Comparison, Measurement, Sweep
from d2lhybrid.report.units import percent, seconds, span
from d2lhybrid.report.verdicts import VERDICTS


def busy(comparisons: Sequence[Comparison]) -> str:
    """One line that says that the machine was busy, at its worst; empty where it was not."""
    found = [c for c in comparisons if c.busy]
    if not found:
        return ""
    floor = max(c.noise_floor for c in found)
    loads = [c.env.load for c in found if c.env.load is not None]
    text = _("⚠ This machine was busy (noise floor {floor}): measure again when it is quiet.")
    if loads:
        text = _(
            "⚠ This machine was busy (load {load} on {cores} cores, noise floor {floor}): "
            "measure again when it is quiet."
        )
    load, cores = number(max(loads, default=0), 2), count(found[0].env.cores)
    return text.format(load=load, cores=cores, floor=percent(floor))


def clock_title(clock: str, clocks: Sequence[str]) -> str:
    """What a clock shows, in a word or two; latency is plain time where nothing is queued."""
    if clock == "latency" and "throughput" not in clocks:
        return _("time per call")
    titles = {"latency": _("latency"), "throughput": _("throughput"), "device": _("device time")}
    return titles[clock]


def sentence(c: Comparison, label: str, clock: str = "latency") -> str:
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
        low=ends[0],
        high=ends[1],
        margin=percent(c.margin),
        floor=percent(c.floor_of(clock)),
    )
    return sentences(said, _pays(c, label) if clock == "latency" else "")


def comparison(c: Comparison) -> list[str]:
    """The verdicts by each clock, and how the rounds ended."""
    lines = []
    for clock in c.clocks:
        if len(c.clocks) > 1:
            lines.append(_heading(clock, c.clocks))
        labels = [label for label in c if label != c.baseline and c[label].times.of(clock)]
        lines += [sentence(c, label, clock) for label in labels]
    if c.stopped == "limit":
        lines.append(_("The time limit came first."))
    elif c.stopped == "interrupted":
        lines.append(_("It was interrupted; this is what had been measured."))
    text = ngettext("{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", c.rounds)
    return [*lines, text.format(n=c.rounds, floor=percent(c.noise_floor))]


def reading(c: Comparison) -> list[str]:
    """How to read what would puzzle in the table, a line each; none where nothing does."""
    lines = []
    calls = pay_off(c).values()
    if NEVER in calls:
        lines.append(_("∞: its cold start never pays, for it is not faster."))
    if c.rounds < FEWEST:
        lines.append(_few(c))
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
    for label in c:
        note = c[label].note
        if note:
            lines.append(_("{label}: {note}.").format(label=label, note=_(note)))
    return lines


def pay_off(c: Comparison) -> dict[str, float | None]:
    """`break_even` of the variants; empty where none has to be called more than once to pay."""
    others = [label for label in c if label != c.baseline and label not in c.references]
    calls = {label: c.break_even(label) for label in others}
    return calls if any(found not in (None, NEVER, 1) for found in calls.values()) else {}


def more_times(m: Measurement) -> list[str]:
    """The times of a measurement beside latency and first call, a sentence each."""
    lines = []
    stream = m.times.throughput and m.median_of("throughput")
    if stream:
        text = _("In a stream of calls: {time} per call.")
        lines.append(text.format(time=seconds(stream)))
    if m.device_median is not None:
        lines.append(_("On the device: {time}.").format(time=seconds(m.device_median)))
    if m.build_seconds is not None:
        lines.append(_("Built ahead in {time}.").format(time=seconds(m.build_seconds)))
    if m.load_seconds is not None:
        lines.append(_("Loaded in {time}.").format(time=seconds(m.load_seconds)))
    return lines


def sweep(s: Sweep) -> list[str]:
    """At which sizes each variant is faster, slower, the same or undecided, by each clock."""
    clocks = sweep_clocks(s)
    lines = []
    for clock in clocks:
        if len(clocks) > 1:
            lines.append(_heading(clock, clocks))
        for label in sweep_labels(s):
            if label != s.comparisons[0].baseline:
                lines += _over_sizes(s, label, clock)
    reasons = {label: why for c in s.comparisons for label, why in c.unavailable.items()}
    for label, reason in reasons.items():
        why = _(reason).rstrip(".。")  # a reason may be the sentence of an error
        lines.append(_("{label} was not run: {reason}.").format(label=label, reason=why))
    return lines


def sweep_labels(s: Sweep) -> list[str]:
    """Every variant that was measured at some size."""
    return list(dict.fromkeys(label for c in s.comparisons for label in c))


def sweep_clocks(s: Sweep) -> list[str]:
    """The clocks that say something of their own at some size."""
    return list(dict.fromkeys(clock for c in s.comparisons for clock in c.clocks))


def _over_sizes(s: Sweep, label: str, clock: str) -> list[str]:
    """A sentence for each verdict, in the order in which the sizes bring them."""
    points = [
        (at, c.verdict(label, clock))
        for at, c in enumerate(s.comparisons)
        if label in c and c[label].times.of(clock)
    ]
    lines = []
    for verdict in dict.fromkeys(found for _at, found in points):
        where = [at for at, found in points if found == verdict]
        said = VERDICTS[verdict]
        text = _(said.every_size if len(where) == len(s.work) else said.some_sizes)
        baseline = s.comparisons[0].baseline
        lines.append(text.format(label=label, baseline=baseline, sizes=_sizes(s.work, where)))
    return lines


def _sizes(work: Sequence[float], where: Sequence[int]) -> str:
    """Sizes as a list, those that follow one another as a range."""
    runs: list[list[int]] = []
    for at in where:
        if runs and runs[-1][-1] == at - 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    ends = [(count(work[run[0]]), count(work[run[-1]])) for run in runs]
    return listed(low if low == high else f"{low} – {high}" for low, high in ends)


def _heading(clock: str, clocks: Sequence[str]) -> str:
    if clock == "latency" and "throughput" not in clocks:
        return _("Time per call:")
    headings = {
        "latency": _("Latency, each call waited for:"),
        "throughput": _("Throughput, time per call in a stream of calls:"),
        "device": _("Device time, per call in a stream of calls:"),
    }
    return headings[clock]


def _pays(c: Comparison, label: str) -> str:
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


def _few(c: Comparison) -> str:
    if c.limit_needed is None:
        text = _("?: not known, for fewer than {n} rounds give no interval.")
        return text.format(n=FEWEST)
    text = _(
        "?: not known, for fewer than {n} rounds give no interval. "
        "Measure again with a time_limit of at least {limit}."
    )
    return text.format(n=FEWEST, limit=seconds(c.limit_needed))
