"""The sentences around a table: why times are uncertain, what its marks mean, what puzzles."""

from collections.abc import Iterator, Sequence

from d2lhybrid.core.i18n import count, gettext as _, names, number, sentences
from d2lhybrid.core.table import NEVER, percent, seconds
from d2lhybrid.core.wording import option
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.measurement import NEGLIGIBLE_SHARE_OF_A_TIME
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.measuring.verdict import busy_bound
from d2lhybrid.showing.tables import COMPILER_RUNS, ON_DISK, WHILE_BUSY
from d2lhybrid.showing.verdicts import not_run


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
    busy = [rows for rows in comparisons if rows.measurements.busy]
    if busy:
        return _held_up(busy)
    noisy = [rows for rows in comparisons if rows.measurements.noisy and rows.is_open]
    if not noisy:
        return ""
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


def _held_up(busy: Sequence[Rows]) -> str:
    """How often other programs held variants up, what that leaves undecided, and what helps."""
    text = _(
        "⚠ The machine was busy: in {n} of {rounds} rounds, other programs held up a variant. This "
        "leaves undecided: {labels}. {help}"
    )
    held_up = [row for rows in busy for row in rows.undecided or rows.measured if row.is_busy]
    labels = dict.fromkeys(row.name for row in held_up)  # the baseline where it is alone
    what_helps = _("Measure again when the machine is quieter.")
    if busy[0].measurements.env.can_use_fewer_threads:
        what_helps = _("Measure with one thread, with {threads}, or when the machine is quieter.")
    return text.format(
        n=count(sum(rows.measurements.disturbed_rounds for rows in busy)),
        rounds=count(sum(rows.measurements.rounds for rows in busy)),
        labels=names(labels),
        help=what_helps.format(threads=option("threads", 1)),
    )


def remarks(rows: Rows) -> list[str]:
    """All of them, in the order in which they are shown."""
    return [
        *filter(None, [rows.measurements.circumstance]),
        *noise(rows),
        *marks(rows),
        *compilers(rows),
        *disagreeing(rows),
        *slower_in_a_stream(rows),
        *notes(rows),
        *not_run(rows),
    ]


def noise(rows: Rows) -> Iterator[str]:
    """Which rows are undecided for noise; ``marks`` says where rounds were too few to tell."""
    labels = names(row.name for row in rows.undecided if not row.is_busy)
    if labels and rows.measurements.has_interval:
        text = _(
            "Undecided for noise: {labels}. The interval of the ratio contains 1, or comes within "
            "the noise floor of {floor}."
        )
        yield text.format(labels=labels, floor=percent(rows.measurements.noise_floor))


def marks(rows: Rows) -> Iterator[str]:
    """What the marks in the table mean, a line each."""
    if any(times.bound_while_busy for row in rows.measured for times in row.times.values()):
        text = _(
            "{mark}: decided while the machine was busy, which can make a ratio {bound} times too "
            "large or too small."
        )
        yield text.format(mark=WHILE_BUSY, bound=number(busy_bound(rows.measurements.env.threads)))
    paid = [row.pays_after for row in rows.variants] if rows.cold_start_is_felt else []
    if NEVER in paid:
        yield _("∞: its cold start never pays off, because it isn't faster.")
    if any(row.disk_cache_hit for row in rows) and rows.cold_start_is_felt:
        text = _(
            "{mark}: its compiler found the program in its disk cache; without it, the cold start "
            "takes longer."
        )
        yield text.format(mark=ON_DISK)
    if 0 < rows.processes < stats.FEWEST_SAMPLES_FOR_AN_INTERVAL:
        text = _("?: not known, because fewer than {n} processes give no interval.")
        yield text.format(n=stats.FEWEST_SAMPLES_FOR_AN_INTERVAL)
    elif rows.measurements.rounds < stats.FEWEST_SAMPLES_FOR_AN_INTERVAL:
        text = _("?: not known, because fewer than {n} rounds give no interval.")
        limit = rows.measurements.limit_needed
        more = _("Measure again with a {option} of at least {limit}.") if limit else ""
        figures = {"n": stats.FEWEST_SAMPLES_FOR_AN_INTERVAL, "limit": seconds(limit or 0)}
        yield sentences(text, more).format(**figures, option=option("time_limit"))
    elif None in paid:
        yield _("?: not known, because the verdict is undecided.")


def compilers(rows: Rows) -> Iterator[str]:
    """How much of a cold start it took to start a compiler, and which rows lack that."""
    if not rows.cold_start_is_felt:
        return
    text = _("{label}: its cold start of {cold} includes {time} of starting {compiler}.")
    for row in rows.measured:
        if row.compiler_seconds is not None:
            yield text.format(
                label=row.name,
                cold=seconds(row.cold_seconds),
                time=seconds(row.compiler_seconds),
                compiler=row.compiler,
            )
    text = _(
        "{mark}: {compiler} had been started in this process before, so a fresh process pays more."
    )
    for compiler in dict.fromkeys(row.compiler for row in rows if row.lacks_compiler_start):
        yield text.format(mark=COMPILER_RUNS, compiler=compiler)


def disagreeing(rows: Rows) -> Iterator[str]:
    """Why a reader who divides two times of the table doesn't get the ratio beside them."""
    labels = names(row.name for row in rows.measured if _disagrees(row, rows))
    if labels:
        text = _(
            "{labels}: the times divided don't give the ratio, because ratios are taken within "
            "each round, and times over all rounds."
        )
        if rows.processes:
            text = _(
                "{labels}: the times divided don't give the ratio, because ratios are taken within "
                "each process, and times over all processes."
            )
        yield text.format(labels=labels)


def _disagrees(row: Row, rows: Rows) -> bool:
    """Does the baseline's time over this one's, as it is printed, lie outside the interval?"""
    for metric in rows.measurements.metrics:
        if times := row.times.get(metric):
            base = rows.baseline.times[metric].seconds
            low, high = map(_printed, times.interval)
            if not low <= _printed(base / max(times.seconds, stats.SHORTEST)) <= high:
                return True
    return False


def _printed(ratio: float) -> float:
    """To three digits, as ratios are printed."""
    return float(f"{ratio:.3g}")


def slower_in_a_stream(rows: Rows) -> Iterator[str]:
    """Which rows take longer if nobody waits for each call, which a reader takes for a mistake.

    Only by more than the noise floor, because two times differ by that much for no reason.
    """
    text = _(
        "{label}: calls that aren't waited for one by one take longer ({stream} instead of "
        "{time}), so waiting for each is quicker here."
    )
    negligible = max(NEGLIGIBLE_SHARE_OF_A_TIME, rows.measurements.noise_floor)
    for row in rows.measured:
        if row.stream and row.stream.seconds > (1 + negligible) * row.latency.seconds:
            stream, time = seconds(row.stream.seconds), seconds(row.latency.seconds)
            yield text.format(label=row.name, stream=stream, time=time)


def notes(rows: Rows) -> Iterator[str]:
    """What measuring has noted."""
    text = _("{label}: {note}.")
    for row in rows:
        if row.note:
            yield text.format(label=row.label, note=_(row.note))
