"""Results as text and HTML, in the reader's language."""

from collections.abc import Sequence
from html import escape

from d2lhybrid.i18n import count, ngettext, number, pad, sentences, width
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.records import NEVER, Comparison, Environment, Measurement, Sweep

Table = tuple[list[str], list[list[str]]]


def seconds(value: float) -> str:
    """A time with its unit.

    >>> seconds(2.34567e-05), seconds(0.5), seconds(83.2)
    ('23.5 µs', '500 ms', '83.2 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 1e-9)} ns"


def percent(value: float) -> str:
    """A fraction as percent, with two digits."""
    return f"{number(100 * value, 2)}%" if value < 10 else "> 1000%"


def stamp(env: Environment, seed: int | None = None) -> str:
    """Where and when, in one line."""
    known = [name for name in env.versions if name not in ("numpy", "d2lhybrid")]
    names = {"python": "Python", "torch": "PyTorch", "tensorflow": "TensorFlow", "mxnet": "MXNet"}
    parts = [env.date[:10], *(f"{names.get(name, name)} {env.versions[name]}" for name in known)]
    parts += [env.cpu, *env.accelerators]
    parts.append(ngettext("{n} core", "{n} cores", env.cores).format(n=env.cores))
    for name, threads in env.threads.items():
        text = ngettext("{framework}: {n} thread", "{framework}: {n} threads", threads)
        parts.append(text.format(framework=names.get(name, name), n=threads))
    if env.governor:
        parts.append(_("governor {name}").format(name=env.governor))
    if env.load is not None:
        parts.append(_("load {load}").format(load=number(env.load, 2)))
    if seed is not None:
        parts.append(_("seed {seed}").format(seed=seed))
    return " · ".join(parts)


def measurement(m: Measurement) -> str:
    """One line for one callable, and the stamp."""
    low, high = map(seconds, m.ci95) if len(m.samples) > 5 else ("?", "?")
    text = _(
        "{label}: {median} per call (95% interval {low} to {high}); first call {cold}; "
        "{calls} calls of warm-up."
    )
    said = text.format(
        label=m.label,
        median=seconds(m.median),
        low=low,
        high=high,
        cold=seconds(m.cold_seconds),
        calls=m.warmup_calls,
    )
    if m.device_median is not None:
        device = _("On the device: {time}.").format(time=seconds(m.device_median))
        said = sentences(said, device)
    return f"{said}\n{stamp(m.env)}"


def sentence(c: Comparison, label: str) -> str:
    """The verdict on one variant, with its numbers."""
    estimate, low, high = c.ratio(label)
    verdict = c.verdict(label)
    if verdict == "faster":
        text = _("{label} is {ratio} times as fast as {baseline} (95% interval {low} to {high}).")
    elif verdict == "slower":
        estimate, low, high = 1 / estimate, 1 / high, 1 / low
        text = _(
            "{label} takes {ratio} times as long as {baseline} (95% interval {low} to {high})."
        )
    elif verdict == "same":
        text = _(
            "{label} and {baseline} take the same time to within {margin} "
            "(95% interval of the ratio {low} to {high})."
        )
    else:
        text = _(
            "It is undecided whether {label} is faster than {baseline} (95% interval of the ratio "
            "{low} to {high}, noise floor {floor})."
        )
    said = text.format(
        label=label,
        baseline=c.baseline,
        ratio=number(estimate),
        low=number(low),
        high=number(high),
        margin=percent(c.margin),
        floor=percent(c.noise_floor),
    )
    found = c.break_even(label)
    if found is None or found == NEVER:
        return said
    calls = int(found)
    if calls == 1:
        return sentences(said, _("It pays from the first call on."))
    text = ngettext(
        "Its cold start has paid for itself after {n} call.",
        "Its cold start has paid for itself after {n} calls.",
        calls,
    )
    return sentences(said, text.format(n=count(calls)))


def table(c: Comparison) -> Table:
    """Heads and rows; a column for device time where there is any."""
    verdicts = {
        "faster": _("faster"),
        "slower": _("slower"),
        "same": _("same"),
        "undecided": _("undecided"),
    }
    device = any(c[label].device_median is not None for label in c)
    heads = [_("variant"), _("time per call"), _("95% interval"), _("cold start"), _("ratio")]
    heads += [_("95% interval"), _("verdict"), _("pays after")]
    if device:
        heads.insert(3, _("device time"))
    rows = []
    for label in c:
        m = c[label]
        low, high = m.ci95
        row = [label, seconds(m.median), f"{seconds(max(low, 0))} – {seconds(high)}"]
        if device:
            row.append(seconds(m.device_median) if m.device_median is not None else "")
        row.append(seconds(m.cold_seconds))
        if label == c.baseline:
            row += ["1", "", _("baseline"), ""]
        else:
            estimate, low, high = c.ratio(label)
            calls = c.break_even(label)
            row += [number(estimate), f"{number(low)} – {number(high)}", verdicts[c.verdict(label)]]
            row.append(count(calls) if calls and calls != NEVER else "–")
        rows.append(row)
    return heads, rows


def remarks(c: Comparison) -> list[str]:
    """What is said below the table: verdicts, what could not run, how it ended."""
    lines = [sentence(c, label) for label in c if label != c.baseline]
    for label, reason in c.unavailable.items():
        why = _(reason).rstrip(".。")  # a reason may be the sentence of an error
        lines.append(_("{label} was not run: {reason}.").format(label=label, reason=why))
    if c.stopped == "limit":
        lines.append(_("The time limit came first."))
    elif c.stopped == "interrupted":
        lines.append(_("It was interrupted; this is what had been measured."))
    rounds = c.rounds
    text = ngettext("{n} round; noise floor {floor}.", "{n} rounds; noise floor {floor}.", rounds)
    return [*lines, text.format(n=rounds, floor=percent(c.noise_floor))]


def text(c: Comparison) -> str:
    """The table, the sentences and the stamp as text."""
    return "\n".join([_columns(table(c)), "", *remarks(c), stamp(c.env, c.seed)])


def html(c: Comparison) -> str:
    """The same as HTML."""
    said = "".join(f"<div>{escape(line)}</div>" for line in remarks(c))
    return f"{_html_table(table(c))}{said}<small>{escape(stamp(c.env, c.seed))}</small>"


def sweep_table(s: Sweep) -> Table:
    """One row a size: the time of each variant, and its ratio to the baseline."""
    labels = list(dict.fromkeys(label for c in s.comparisons for label in c))
    rows = []
    for work, c in zip(s.work, s.comparisons, strict=True):
        row = [count(work)]
        for label in labels:
            cell = seconds(c[label].median) if label in c else "–"
            if label in c and label != c.baseline:
                cell += f" ({number(c.ratio(label)[0])}×)"
            row.append(cell)
        rows.append(row)
    return [_("work"), *labels], rows


def sweep_remarks(s: Sweep) -> list[str]:
    """Where each variant meets the baseline."""
    first = s.comparisons[0]
    lines = []
    for label in first:
        if label == first.baseline:
            continue
        met = s.meeting(label)
        said = _("{label} is faster than {baseline} up to the largest size.")
        if met is not None:
            said = _("From {work} on, {label} is not known to be faster than {baseline}.")
        lines.append(said.format(label=label, baseline=first.baseline, work=count(met or 0)))
    return [*lines, stamp(first.env, first.seed)]


def sweep_text(s: Sweep) -> str:
    """The sweep as text."""
    return "\n".join([_columns(sweep_table(s)), "", *sweep_remarks(s)])


def sweep_html(s: Sweep) -> str:
    """The sweep as HTML."""
    lines = "".join(f"<div>{escape(line)}</div>" for line in sweep_remarks(s))
    return f"{_html_table(sweep_table(s))}{lines}"


def _columns(content: Table) -> str:
    lines = [content[0], *content[1]]
    widths = [max(width(line[i]) for line in lines) for i in range(len(content[0]))]
    return "\n".join(_line(line, widths) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """The first column to the left, the others to the right."""
    pairs = zip(cells[1:], widths[1:], strict=True)
    rest = [" " * (columns - width(cell)) + cell for cell, columns in pairs]
    return "  ".join([pad(cells[0], widths[0]), *rest]).rstrip()


def _html_table(content: Table) -> str:
    heads = "".join(f"<th>{escape(head)}</th>" for head in content[0])
    rows = "".join(
        f"<tr><td>{escape(label)}</td>" + "".join(map(_unbroken, cells)) + "</tr>"
        for label, *cells in content[1]
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


def _unbroken(cell: str) -> str:
    """A cell that stays on one line, so that a narrow page parts no number from its unit."""
    return f"<td>{escape(cell).replace(' ', '&nbsp;')}</td>"
