"""Results as text, as HTML and as JSON for programs: a table, and the lines around it."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from html import escape
from math import isfinite
from typing import Any, NamedTuple

from d2lhybrid.backends.variant import NOTHING_COMPILED
from d2lhybrid.core.i18n import (
    count,
    gettext as _,
    listed,
    names,
    ngettext,
    noop as N_,
    number,
    sentences,
)
from d2lhybrid.core.reader import EXPLAIN, IN_FILE, option, typed
from d2lhybrid.core.table import NEVER, UNKNOWN, Column, Table, percent, seconds, span
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.measurement import AGREE, METRICS
from d2lhybrid.measuring.provenance import stamp
from d2lhybrid.measuring.rows import VERDICTS, Row, Rows, Times, not_run, verdict_in_words
from d2lhybrid.measuring.verdict import busy_bound
from d2lhybrid.showing import undecided
from d2lhybrid.showing.advice import advice
from d2lhybrid.why import text as facts_text
from d2lhybrid.why.rules import reason, reasons

_BEST = "★"
_ON_DISK = "†"
_WHILE_BUSY = "‡"
_COMPILER_RUNS = "§"
NEW_MEMORY_SHARE = 0.1  # of a call's time, above which new memory is spoken of
BELIEVABLE_SHARE = 0.75  # above which pages cost less in this call than where that was measured
_STOPPED = {
    "limit": N_("It stopped at the time limit."),
    "interrupted": N_("Measuring was interrupted; these are the results so far."),
}


class Page(NamedTuple):
    """What is shown of a result, from the top; HTML has the details folded."""

    cautions: Sequence[str]  # why times are uncertain, and what else to know before reading them
    table: Table
    advice: str
    reasons: Sequence[str]
    remarks: Sequence[str]
    details: Sequence[str]

    def __str__(self) -> str:
        below = filter(None, [self.advice, *self.reasons, *self.remarks, *self.details])
        return "\n".join([*self.cautions, str(self.table), "", *below])

    def html(self) -> str:
        """The same as HTML."""
        return self._shown() + folded(lines("small", *self.details))

    def html_inside(self) -> str:
        """The same inside something that is folded itself."""
        return self._shown() + lines("small", *self.details)

    def _shown(self) -> str:
        below = lines("strong", self.advice) + lines("span", *self.reasons, *self.remarks)
        return lines("strong", *self.cautions) + self.table.html() + below


def folded(content: str) -> str:
    """HTML that a reader opens under the word "Details"."""
    word = _("Details")  # not in the braces below, where the catalogs' reader finds no message
    return f"<details><summary>{escape(word)}</summary>{content}</details>"


def lines(tag: str, *sentences: str) -> str:
    """Lines as HTML, each in such an element; empty ones are left out."""
    return "".join(f"<div><{tag}>{escape(line)}</{tag}></div>" for line in sentences if line)


def comparison(rows: Rows) -> Page:
    """The table, what to use, why, and how to read it."""
    observed = [str(each) for each in reasons(rows)]
    remarks = [
        *filter(None, [rows.circumstance]),
        *undecided.by_noise_or_few_rounds(rows),
        *_marks(rows),
        *_compilers(rows),
        *_disagreeing(rows),
        *_slower_in_a_stream(rows),
        *_new_memory(rows),
        *_notes(rows),
        *not_run(rows),
    ]
    above, details = cautions([rows]), [*_details(rows)]
    return Page(above, table(rows), advice(rows), observed, remarks, details)


def _notes(rows: Rows) -> Iterator[str]:
    """What measuring has noted, but for what the reasons say more fully."""
    text = _("{label}: {note}.")
    for row in rows:
        is_nothing = row.note in (NOTHING_COMPILED, _(NOTHING_COMPILED))
        is_said = is_nothing and row.facts and row.facts.why_not
        if row.note and not is_said:
            note = _(row.note).replace(EXPLAIN, typed(EXPLAIN, IN_FILE))
            yield text.format(label=row.label, note=note)


def _details(rows: Rows) -> Iterator[str]:
    """Why it stopped, what the figures rest on, where and when."""
    yield _(_STOPPED.get(rows.stopped, ""))
    floor = percent(rows.noise_floor)
    if rows.processes:
        text = ngettext(
            "{n} process with {rounds} rounds in all; noise floor {floor}.",
            "{n} processes with {rounds} rounds in all; noise floor {floor}.",
            rows.processes,
        )
        yield text.format(n=rows.processes, rounds=rows.rounds, floor=floor)
        if rows.disturbed_processes:
            text = _(
                "Other programs disturbed {n} of these processes. A ratio rests on the others, or, "
                "if they are fewer than {fewest}, on all."
            )
            yield text.format(n=rows.disturbed_processes, fewest=stats.FEWEST)
        yield from _ranges_of_processes(rows)
    else:
        text = ngettext(
            "{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", rows.rounds
        )
        yield text.format(n=rows.rounds, floor=floor)
    are_left_out = not any(row.latency.while_busy for row in rows.variants)
    if rows.disturbed_rounds and not rows.busy and are_left_out:
        text = ngettext(
            "In {n} of these rounds, other programs held up a variant; that turn doesn't count.",
            "In {n} of these rounds, other programs held up a variant; those turns don't count.",
            rows.disturbed_rounds,
        )
        yield text.format(n=rows.disturbed_rounds)
    yield stamp(rows.env, rows.seed)


def _ranges_of_processes(rows: Rows) -> Iterator[str]:
    """Where the ratios of the processes lay, and the next one may lie."""
    of_rows = [(row.name, row.latency.range_of_processes) for row in rows.variants]
    ranges = [
        f"{name} {' – '.join(dict.fromkeys(span(*ends, number)))}" for name, ends in of_rows if ends
    ]
    fewest = min((row.latency.processes for row in rows.variants), default=0)
    if ranges and fewest > 1:
        text = _(
            "Lowest and highest ratio of a process: {ranges}. The next process lies between them "
            "with a probability of {less}/{more}."
        )
        chance = Fraction(fewest - 1, fewest + 1)
        yield text.format(ranges=listed(ranges), less=chance.numerator, more=chance.denominator)


def _compilers(rows: Rows) -> Iterator[str]:
    """How much of a cold start it took to start a compiler, and which rows lack that."""
    if not rows.cold_start_is_felt:
        return
    text = _("{label}: its cold start of {cold} includes {time} of starting {compiler}.")
    for row in rows.measured:
        if row.compiler_seconds is not None:
            yield text.format(
                label=row.name,
                cold=seconds(row.cold_seconds or 0.0),
                time=seconds(row.compiler_seconds),
                compiler=row.compiler,
            )
    text = _(
        "{mark}: {compiler} had been started in this process before, so a fresh process pays more."
    )
    for compiler in dict.fromkeys(row.compiler for row in rows if row.lacks_compiler_start):
        yield text.format(mark=_COMPILER_RUNS, compiler=compiler)


def _disagreeing(rows: Rows) -> Iterator[str]:
    """Why a reader who divides two times of the table doesn't get the ratio beside them."""
    disagreeing = [
        row.name
        for row in rows.measured
        if row.role != "baseline"
        and any(
            times_disagree(row.times[metric], rows.baseline.times[metric])
            for metric in rows.metrics
            if metric in row.times
        )
    ]
    if disagreeing:
        text = _(
            "{labels}: the times divided don't give the ratio, because ratios are taken within "
            "each round, and times over all rounds. They come from different rounds."
        )
        if rows.processes:
            text = _(
                "{labels}: the times divided don't give the ratio, because ratios are taken within "
                "each process, and times over all processes. They come from different processes."
            )
        yield text.format(labels=names(disagreeing))


def times_disagree(times: Times, baseline: Times) -> bool:
    """Does the baseline's time over this one's, as it is printed, lie outside the interval?"""
    quotient = baseline.seconds / max(times.seconds, stats.SHORTEST)
    low, high = times.interval
    return not _rounded(low) <= _rounded(quotient) <= _rounded(high)


def _rounded(ratio: float) -> float:
    """To three digits, as ratios are printed."""
    return float(f"{ratio:.3g}")


def _slower_in_a_stream(rows: Rows) -> Iterator[str]:
    """Which rows take longer if nobody waits for each call, which a reader takes for a mistake."""
    text = _(
        "{label}: calls that aren't waited for one by one take longer ({stream} instead of "
        "{time}), so waiting for each is quicker here."
    )
    for row in rows.measured:
        if row.stream and row.stream.seconds > (1 + AGREE) * row.latency.seconds:
            stream, time = seconds(row.stream.seconds), seconds(row.latency.seconds)
            yield text.format(label=row.name, stream=stream, time=time)


def _new_memory(rows: Rows) -> Iterator[str]:
    """Which rows spend more than a tenth of their time on memory that they ask for anew.

    It may be less: what a page costs was measured on memory that no cache holds yet, and where a
    call reuses its memory, it finds that out of the caches, too.
    """
    text = _(
        "{label}: up to {share} of its time goes into new memory, which each call gets from the "
        "system ({pages} page faults)."
    )
    without_share = _("{label}: each call gets new memory from the system ({pages} page faults).")
    for row in rows.measured:
        share, pages = row.page_fault_share or 0.0, count(round(row.page_faults or 0))
        if share > BELIEVABLE_SHARE:
            yield without_share.format(label=row.name, pages=pages)
        elif share > NEW_MEMORY_SHARE:
            yield text.format(label=row.name, share=percent(share), pages=pages)


def sweep(sizes: Sequence[float], comparisons: Sequence[Rows]) -> Page:
    """The table of sizes, and what the signs in it mean."""
    details = [stamp(comparisons[0].env, comparisons[0].seed)]
    circumstances = dict.fromkeys(rows.circumstance for rows in comparisons if rows.circumstance)
    reasons = not_run(row for rows in comparisons for row in rows)
    table, remarks = sweep_table(sizes, comparisons), [signs(), *circumstances, *reasons]
    return Page(cautions(comparisons), table, "", [], remarks, details)


def signs() -> str:
    """What the signs of the verdicts mean, in one line."""
    return listed(f"{verdict.sign} {_(verdict.word)}" for verdict in VERDICTS.values())


def cautions(comparisons: Sequence[Rows]) -> list[str]:
    """Why times are uncertain, and warnings that another question was measured, a line each."""
    return [*filter(None, [uncertain(comparisons)]), *warnings(comparisons)]


def warnings(comparisons: Sequence[Rows]) -> list[str]:
    """What says that another question was measured, a line each."""
    return list(dict.fromkeys(f"⚠ {warning}" for rows in comparisons for warning in rows.warnings))


def uncertain(comparisons: Sequence[Rows]) -> str:
    """One line that says why times are uncertain, and what helps; empty where they are not.

    The machine is busy where other programs held the variants up, noisy where times vary so much
    without any. Noise that leaves no verdict undecided is a detail, which the noise floor states.
    """
    if busy := undecided.by_load(comparisons):
        return busy
    noisy = [rows for rows in comparisons if rows.noisy and rows.is_open]
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
        options = {"time_limit": option("time_limit"), "processes": option("processes", 6)}
        return text.format(floor=percent(max(rows.noise_floor for rows in noisy)), **options)
    return ""


def metric_title(metric: str, metrics: Sequence[str]) -> str:
    """What a metric shows; latency is plain time where nothing is queued."""
    plain = metric == "latency" and "throughput" not in metrics
    return _("time per call") if plain else _(METRICS[metric])


class TableColumn(NamedTuple):
    """A column of a comparison's table, and what it shows of a row."""

    column: Column
    cell: Callable[[Row], str]


def table(rows: Rows) -> Table:
    """A row a variant: verdict, ratio and time by each metric, then what is paid once."""
    columns = [TableColumn(Column(_("variant"), left=True), _name_cell)]
    for metric in rows.metrics:
        columns += _columns_by(metric, rows)
    columns += _columns_paid_once(rows)
    measured = rows.measured
    cells = [[cell(row) for _column, cell in columns] for row in measured]
    best = {at for at, row in enumerate(measured) if row.is_best}
    return Table([column for column, _cell in columns], cells, strong=best)


def _name_cell(row: Row) -> str:
    return f"{row.name} {_BEST}" if row.is_best else row.name


def _columns_by(metric: str, rows: Rows) -> Iterator[TableColumn]:
    """Verdict, ratio, its interval and time; UNKNOWN if a variant has no time by the metric.

    A program of its own, for example, has no events on the accelerator.
    """
    verdict_head, time_head = _("verdict"), metric_title(metric, rows.metrics)
    if len(rows.metrics) > 1:
        verdict_head, time_head = f"{time_head}\n{verdict_head}", _("time")

    def verdict(row: Row) -> str:
        if metric not in row.times:
            return ""
        if row.role == "baseline":
            return _("baseline")
        if row.role == "reference":
            return _("reference")
        return _verdict_with_sign(row.times[metric], rows)

    def ratio(row: Row) -> str:
        if metric not in row.times:
            return UNKNOWN
        return "1" if row.role == "baseline" else row.times[metric].shown_ratio

    def interval(row: Row) -> str:
        if metric not in row.times or row.role == "baseline":
            return ""
        return " – ".join(dict.fromkeys(span(*row.times[metric].interval)))

    def time(row: Row) -> str:
        return seconds(row.times[metric].seconds) if metric in row.times else UNKNOWN

    if rows.processes:
        text = ngettext("in {n} process", "in {n} processes", rows.processes)
        where = text.format(n=rows.processes)
    else:
        where = _("in this process")
    interval_head = _("interval")
    if rows.has_interval:
        interval_head = _("{confidence} interval").format(confidence=percent(rows.confidence))
    interval_head = f"{interval_head}\n{where}"
    yield TableColumn(Column(verdict_head, left=True), verdict)
    yield TableColumn(Column(_("ratio")), ratio)
    yield TableColumn(Column(interval_head), interval)
    yield TableColumn(Column(time_head), time)


def _verdict_with_sign(times: Times, rows: Rows) -> str:
    sign = VERDICTS[times.shown_verdict].sign
    mark = "" if times.while_busy is None else f" {_WHILE_BUSY}"
    return f"{sign} {verdict_in_words(times, rows.rounds, rows.processes)}{mark}"


def _columns_paid_once(rows: Rows) -> Iterator[TableColumn]:
    """What is paid once, as far as it says something."""
    if any(row.build_seconds for row in rows):
        yield TableColumn(
            Column(_("build")), lambda row: seconds(row.build_seconds) if row.build_seconds else ""
        )
    if rows.cold_start_is_felt:
        yield TableColumn(Column(_("cold start")), _cold_start_cell)
        head = _("pays after")
        if any(map(_shows_build, rows)):
            # Translators: below "pays after", for the number in parentheses in that column
            with_build = _("(with its build)")
            head = f"{head}\n{with_build}"
        yield TableColumn(Column(head), _pays_after_cell)


def _shows_build(row: Row) -> bool:
    """Does its build change after how many calls it pays off?"""
    return row.pays_after not in (None, NEVER) and row.pays_after_with_build is not None


def _pays_after_cell(row: Row) -> str:
    """The calls, then in parentheses what they would be with its build counted."""
    if row.role != "variant":
        return ""
    with_build = f" ({row.calls_to_pay_with_build})" if _shows_build(row) else ""
    return row.calls_to_pay + with_build


def _cold_start_cell(row: Row) -> str:
    """Its seconds, and a mark if a fresh process, or one with empty caches, would pay more."""
    marks = [_ON_DISK] * row.disk_cache_hit + [_COMPILER_RUNS] * row.lacks_compiler_start
    return " ".join([seconds(row.cold_seconds or 0.0), *marks])


def _marks(rows: Rows) -> Iterator[str]:
    """What the marks in the table mean, a line each."""
    if any(times.while_busy for row in rows.measured for times in row.times.values()):
        text = _(
            "{mark}: decided while the machine was busy, which can make a ratio {bound} times too "
            "large or too small."
        )
        yield text.format(mark=_WHILE_BUSY, bound=number(busy_bound(rows.env.threads)))
    paid = [row.pays_after for row in rows.variants] if rows.cold_start_is_felt else []
    if NEVER in paid:
        yield _("∞: its cold start never pays off, because it isn't faster.")
    if any(row.disk_cache_hit for row in rows) and rows.cold_start_is_felt:
        text = _(
            "{mark}: its compiler found the program in its disk cache; without it, the cold start "
            "takes longer."
        )
        yield text.format(mark=_ON_DISK)
    if 0 < rows.processes < stats.FEWEST:
        text = _("?: not known, because fewer than {n} processes give no interval.")
        yield text.format(n=stats.FEWEST)
    elif rows.rounds < stats.FEWEST:
        text = _("?: not known, because fewer than {n} rounds give no interval.")
        limit = rows.limit_needed
        more = _("Measure again with a {option} of at least {limit}.") if limit else ""
        figures = {"n": stats.FEWEST, "limit": seconds(limit or 0)}
        yield sentences(text, more).format(**figures, option=option("time_limit"))
    elif None in paid:
        yield _("?: not known, because the verdict is undecided.")


def sweep_table(sizes: Sequence[float], comparisons: Sequence[Rows]) -> Table:
    """One row a size: the time of each variant by each metric, its ratio and a sign for it."""
    metrics = metrics_of(comparisons)
    names = names_of(comparisons)
    columns = [Column(_("work"), left=True)]
    for metric in metrics:
        heads = [*names.values()]
        if len(metrics) > 1:
            heads[0] = f"{metric_title(metric, metrics)}\n{heads[0]}"
        columns += map(Column, heads)
    cells = []
    for size, rows in zip(sizes, comparisons, strict=True):
        by_label = {row.label: row for row in rows.measured}
        pairs = [(by_label.get(label), metric) for metric in metrics for label in names]
        cells.append([count(size), *(_cell_with_ratio(row, metric, "–") for row, metric in pairs)])
    return Table(columns, cells)


def metrics_of(comparisons: Sequence[Rows]) -> list[str]:
    """The metrics that say something of their own in some of them."""
    return list(dict.fromkeys(metric for rows in comparisons for metric in rows.metrics))


def names_of(comparisons: Sequence[Rows]) -> dict[str, str]:
    """By its label, what each variant that was run in some of them is called."""
    return {row.label: row.name for rows in comparisons for row in rows.measured}


def narrow_table(rows: Sequence[Row], metrics: Sequence[str], cold_starts: bool) -> Table:
    """A row a variant, a column a metric, then the cold start if wanted.

    It is narrower than ``table``: a cell holds the time, its ratio and a sign for the verdict.
    """
    columns = [Column(_("variant"), left=True)]
    columns += [Column(metric_title(metric, metrics)) for metric in metrics]
    cells = [
        [row.name, *(_cell_with_ratio(row, metric, UNKNOWN) for metric in metrics)] for row in rows
    ]
    if cold_starts:
        columns.append(Column(_("cold start")))
        for line, row in zip(cells, rows, strict=True):
            line.append("" if row.cold_seconds is None else seconds(row.cold_seconds))
    return Table(columns, cells)


def _cell_with_ratio(row: Row | None, metric: str, unknown: str) -> str:
    """A time, the ratio, and the sign of the verdict, in one cell; of the baseline, the time."""
    if row is None or metric not in row.times:
        return unknown
    times = row.times[metric]
    if row.role == "baseline":
        return seconds(times.seconds)
    return f"{seconds(times.seconds)} ({times.shown_ratio}× {VERDICTS[times.shown_verdict].sign})"


def summary(rows: Rows) -> dict[str, Any]:
    """What the table shows, as plain data for programs that read notebooks."""
    return {
        "kind": "comparison",
        "baseline": rows.baseline.label,
        "metrics": list(rows.metrics),
        "recommended": next((row.label for row in rows if row.is_best), None),
        "rows": [_row_summary(row, rows) for row in rows.measured],
        "not_run": [row.label for row in rows.not_run],
        "processor": rows.env.cpu,
        "cores": rows.env.cores,
        "busy": rows.busy,
        "processes": rows.processes,
        "date": rows.env.date[:10],
    }


def _row_summary(row: Row, rows: Rows) -> dict[str, Any]:
    is_queued = "throughput" in rows.metrics
    latency, throughput = row.latency, row.times["throughput"]
    low, high = latency.interval
    return {
        "label": row.label,
        "verdict": latency.verdict,
        "role": row.role,
        "deprecated": row.deprecated,
        "other_runtime": row.other_runtime,
        "latency": latency.seconds,
        "throughput": throughput.seconds if is_queued else None,
        "ratio": _finite(latency.ratio),
        "low": _finite(low),
        "high": _finite(high),
        "throughput_ratio": _finite(throughput.ratio) if is_queued else None,
        "cold": row.cold_seconds,
        "compiler": row.compiler or None,
        "compiler_seconds": row.compiler_seconds,
        "pays_after": _finite(row.pays_after),
        "pays_after_with_build": _finite(row.pays_after_with_build),
        "compilations_per_call": row.compilations_per_call,
        "facts": facts_text.counts(row),
        "cause": _cause(row, rows),
        "before_seconds": row.facts and row.facts.before_seconds,
    }


def _cause(row: Row, rows: Rows) -> str | None:
    """The kind of the cause; None if nobody asked."""
    return reason(row, rows).cause if row.facts else None


def _finite(number: float | None) -> float | None:
    """A number that JSON has, and that is not the 0 of an interval without an end."""
    return number if number and isfinite(number) else None
