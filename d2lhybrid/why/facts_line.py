"""The facts of a row in one line, and as plain data for programs that compare them."""

from collections.abc import Iterator
from typing import Any

from d2lhybrid.core.i18n import count, gettext as _, listed, names, ngettext
from d2lhybrid.core.table import seconds
from d2lhybrid.core.user_code import is_users
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.graphs.program import with_contractions
from d2lhybrid.measuring.row import Row


def avoided(row: Row, baseline: Row) -> float | None:
    """Seconds of Python and the framework that a faster row avoids at least; None if not known.

    Not known, too, where that would be more than the row saves, or than eager code's whole call:
    then the time of the quickest operation holds no lower bound for the others.
    """
    facts = row.facts
    saved = baseline.latency.seconds - row.latency.seconds
    if facts is None or facts.eager_seconds is None or saved <= 0:
        return None
    if facts.eager_seconds > baseline.latency.seconds:
        return None
    less = max(0.0, facts.eager_seconds - (facts.before_seconds or 0.0))
    return less if less <= saved else None


def line(row: Row, baseline: Row) -> str:
    """The facts of a row, always in the same order; empty if nothing is known."""
    facts = row.facts
    if facts is None:
        return ""
    # Translators: {label} names a variant; {facts} are the phrases below, such as "compiled once".
    text = _("{label}: {facts}.")
    said = listed(filter(None, map(names, _groups(row, facts, baseline))))
    return text.format(label=row.label, facts=said) if said else ""


def _groups(row: Row, facts: Facts, baseline: Row) -> Iterator[list[str]]:
    """Phrases that belong together: how it was compiled, what became of it, what it costs."""
    if facts.runs_compiled is False:
        yield [_("no compiled code ran (one call watched)")]
        return
    yield [*_compiled(row, facts), *_whole(facts)]
    yield [*_program(facts)]
    yield [*_times(row, facts, baseline)]
    if facts.is_cut_short:
        yield [_("there was no time to find out more")]


def _compiled(row: Row, facts: Facts) -> Iterator[str]:
    first, later = row.first_compilations, row.later_compilations
    if row.build_seconds is not None:
        yield _("compiled ahead of time")
    elif facts.again and not later:  # what no counter has seen
        yield _("compiled in each call")
    elif first and not later:
        text = _("compiled once")
        if first > 1:
            text = _("{n} programs compiled in the first call")
        yield text.format(n=count(first))
    elif first == 0 and not later:
        yield _("compiled before it was measured")
    if later:
        text = ngettext(
            "{n} program compiled in {calls} calls after the first",
            "{n} programs compiled in {calls} calls after the first",
            later,
        )
        yield text.format(n=count(later), calls=count(row.later_calls))


def _whole(facts: Facts) -> Iterator[str]:
    if facts.is_whole:
        # Translators: it was compiled as one graph
        yield _("whole")
    elif facts.graphs:
        yield ngettext("{n} graph", "{n} graphs", facts.graphs).format(n=count(facts.graphs))
    if facts.graphs and (facts.programs_run or 0) > facts.graphs:
        text = _("compiled code is called {n} times in each call")
        yield text.format(n=count(facts.programs_run or 0))
    if facts.breaks:
        n = len(facts.breaks)
        yield ngettext("{n} graph break", "{n} graph breaks", n).format(n=count(n))
    if facts.breaks_inside:
        text = ngettext(
            "{n} graph break in the framework's own code",
            "{n} graph breaks in the framework's own code",
            facts.breaks_inside,
        )
        yield text.format(n=count(facts.breaks_inside))
    if facts.in_python:
        yield _part_in_python(facts)


def in_readers_python(facts: Facts) -> tuple[Finding, ...]:
    """What runs in Python at a known place in the reader's code, such as a callback."""
    return tuple(one for one in facts.in_python if one.file and is_users(one.file))


def _part_in_python(facts: Facts) -> str:
    """With the first place of the reader's code that is known, such as that of a callback."""
    for finding in in_readers_python(facts):
        return _("part of it in Python ({place})").format(place=in_one_line(finding))
    return _("part of it in Python")


def _program(facts: Facts) -> Iterator[str]:
    program = facts.program
    if program is None:
        return
    recorded = ngettext("{n} operation", "{n} operations", program.recorded)
    if program.control_flow:
        text = _("{operations} recorded, with loops or branches whose steps aren't counted")
        yield text.format(operations=recorded.format(n=count(program.recorded)))
        return
    text = ngettext("{operations} in {n} step", "{operations} in {n} steps", program.steps)
    operations = recorded.format(n=count(program.recorded))
    in_steps = text.format(operations=operations, n=count(program.steps))
    if program.contractions:
        in_steps = with_contractions(in_steps, program)
    yield in_steps
    if program.folded:
        yield _("{n} computed while compiling").format(n=count(program.folded))
    if program.copies:
        text = ngettext("{n} copy besides", "{n} copies besides", program.copies)
        yield text.format(n=count(program.copies))
    if facts.layout:
        yield _("memory layout {layout}").format(layout=facts.layout)


def _times(row: Row, facts: Facts, baseline: Row) -> Iterator[str]:
    if facts.before_seconds is not None and facts.before_seconds < row.latency.seconds:
        text = _("{before} of {time} before compiled code begins")
        times = {"before": facts.before_seconds, "time": row.latency.seconds}
        yield text.format(**{name: seconds(value) for name, value in times.items()})
    less = avoided(row, baseline)
    if less and row.latency.verdict == "faster":
        text = _("at least {avoided} of the {saved} saved are overhead of Python and the framework")
        saved = baseline.latency.seconds - row.latency.seconds
        yield text.format(avoided=seconds(less), saved=seconds(saved))


def counts(row: Row) -> dict[str, Any]:
    """The facts without times, as plain data for programs that compare what was found."""
    facts = row.facts
    if facts is None:
        return {}
    program = facts.program
    known = {
        "runs_compiled": facts.runs_compiled,
        "programs_run": facts.programs_run,
        "first_compilations": row.first_compilations,
        "graphs": facts.graphs,
        "breaks": None if facts.graphs is None else len(facts.breaks),
        "breaks_inside": None if facts.graphs is None else facts.breaks_inside,
        "recorded": program and program.recorded,
        "steps": program and program.steps,
        "contractions": program and program.contractions,
        "folded": program and program.folded,
        "copies": program and program.copies,
        "is_cut_short": facts.is_cut_short or None,
    }
    return {name: value for name, value in known.items() if value is not None}


def in_one_line(finding: Finding) -> str:
    """The place in the reader's code, and the first line of the framework's reason."""
    place, _newline, reason = str(finding).partition("\n")
    reason = reason.partition("\n")[0]
    return f"{place} – {reason}" if reason else place
