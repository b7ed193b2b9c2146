"""Causes: the table of rules, and what a reader gets of them, a ``Reason``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from d2lhybrid.core.i18n import count, gettext as _, ngettext, sentences
from d2lhybrid.core.table import seconds
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.why.facts_line import avoided, in_one_line, in_readers_python, line

# The second program of a call is one for another dtype, say, and the second of a shape is dynamic.
# From the third on, what differs will differ again.
FEWEST_AGAIN = 3
AGAIN_PER_CALL = 0.05  # programs: a compilation takes at least as long as some twenty small calls
DECISIVE_SHARE = 0.5  # of the time that was lost or saved


@dataclass(frozen=True)
class Case:
    """A row with its facts, beside the baseline."""

    row: Row
    baseline: Row
    noise: float  # of the ratios, as a part of 1

    @property
    def facts(self) -> Facts:
        return self.row.facts or Facts()

    @property
    def is_baseline(self) -> bool:
        return self.row is self.baseline

    @property
    def is_faster(self) -> bool:
        return self.row.latency.verdict == "faster"

    @property
    def is_slower(self) -> bool:
        return self.row.latency.verdict == "slower"

    @property
    def seconds(self) -> float:
        return self.row.latency.seconds

    @property
    def lost(self) -> float:
        """Seconds that a call takes longer than the baseline, below 0 if it takes less."""
        return self.seconds - self.baseline.latency.seconds

    @cached_property
    def extra_before(self) -> float:
        """Seconds before compiled code begins, beyond those of a baseline that is compiled too."""
        of_baseline = self.baseline.facts and self.baseline.facts.before_seconds
        return (self.facts.before_seconds or 0.0) - (of_baseline or 0.0)


class Rule(NamedTuple):
    """A cause: its kind, when it holds, and what is said then."""

    kind: str
    holds: Callable[[Case], bool]
    sentence: Callable[[Case], str]


def compiles_again(row: Row) -> bool:
    """Is it compiled again and again, by what was counted?"""
    later = row.later_compilations or 0
    return later >= FEWEST_AGAIN and later >= AGAIN_PER_CALL * row.later_calls


def _runs_no_compiled_code(case: Case) -> bool:
    return case.facts.runs_compiled is False and not case.is_baseline and not case.is_faster


def _say_no_compiled_code(case: Case) -> str:
    text = _("No compiled code runs in a call of {label}.")
    return sentences(text.format(label=case.row.label), case.facts.why_not)


def _has_parts_in_python(case: Case) -> bool:
    return bool(case.facts.breaks or in_readers_python(case.facts)) and not case.is_faster


def _say_parts_in_python(case: Case) -> str:
    breaks = case.facts.breaks
    if not breaks:  # the line of facts has the place
        text = _("{label} isn't compiled as a whole: Python runs a part of it.")
        return text.format(label=case.row.label)
    text = ngettext(
        "{label} isn't compiled as a whole: it has {n} graph break, where Python runs a step.",
        "{label} isn't compiled as a whole: it has {n} graph breaks, where Python runs a step.",
        len(breaks),
    ).format(label=case.row.label, n=count(len(breaks)))
    # Translators: such as "It is at net.py, line 7: x.item() – …"
    where = _("It is at {place}") if len(breaks) == 1 else _("The first is at {place}")
    return sentences(text, where.format(place=in_one_line(breaks[0])))


def _is_recompiled(case: Case) -> bool:
    is_again = compiles_again(case.row) or case.facts.again is not None
    return is_again and not case.is_faster


def _say_recompiled(case: Case) -> str:
    text = _("{label} compiles in each call.")
    if compiles_again(case.row):
        text = _(
            "{label} compiles again and again: {programs} programs in {calls} calls after the "
            "first."
        )
    programs, calls = count(case.row.later_compilations or 0), count(case.row.later_calls)
    said = [text.format(label=case.row.label, programs=programs, calls=calls)]
    if case.is_baseline:
        said.append(_("The ratios here measure mostly that."))
    if case.facts.again:  # last, for it ends without a full stop
        said.append(_("The reason: {reason}").format(reason=in_one_line(case.facts.again)))
    return sentences(*said)


def _entering_decides(case: Case) -> bool:
    extra = case.extra_before
    return (
        case.is_slower
        and DECISIVE_SHARE * case.lost <= extra < case.seconds
        and case.seconds - extra <= (1 + case.noise) * case.baseline.latency.seconds
    )


def _say_entering(case: Case) -> str:
    text = _(
        "{label} is slower because of what comes before compiled code begins: {extra} of the "
        "{time} of a call. The rest alone isn't slower than {baseline}."
    )
    if case.baseline.facts and case.baseline.facts.before_seconds:
        text = _(
            "{label} is slower because of what comes before compiled code begins: {extra} more "
            "than in {baseline}. The rest alone isn't slower."
        )
    times = {"extra": seconds(case.extra_before), "time": seconds(case.seconds)}
    return text.format(label=case.row.label, baseline=case.baseline.label, **times)


def _python_decides(case: Case) -> bool:
    less = avoided(case.row, case.baseline)
    return case.is_faster and less is not None and less >= DECISIVE_SHARE * -case.lost


def _say_python(case: Case) -> str:
    facts = case.facts
    text = _(
        "{label} is faster because it avoids the overhead of Python and the framework, which is at "
        "least {all} of the {time} of {baseline} ({each} or more for each operation; operations: "
        "{n})."
    )
    return text.format(
        label=case.row.label,
        baseline=case.baseline.label,
        n=count(facts.eager_operations or 0),
        each=seconds(facts.eager_operation_seconds or 0.0),
        all=seconds(facts.eager_seconds or 0.0),
        time=seconds(case.baseline.latency.seconds),
    )


RULES = (
    Rule("not_compiled", _runs_no_compiled_code, _say_no_compiled_code),
    Rule("graph_break", _has_parts_in_python, _say_parts_in_python),
    Rule("recompiled", _is_recompiled, _say_recompiled),
    Rule("entering", _entering_decides, _say_entering),
    Rule("faster_python", _python_decides, _say_python),
)


@dataclass(frozen=True, repr=False)
class Reason:
    """Why a variant takes as long as it does: one line of facts, and a cause if one is decisive.

    `cause` is the first of these that holds, or "unknown":

    1. "not_compiled": no compiled code ran in a call that was watched; it isn't faster, and isn't
       the baseline. Its sentence says why: never reached, skipped, past the limit, switched off.
    2. "graph_break": Python runs a step in the reader's own code, between two graphs or called from
       one, and it isn't faster. In the framework's own code this is a fact, and never a cause.
    3. "recompiled": three programs or more after the first call, in a twentieth of the calls; or
       the framework says why one more call compiled one. It isn't faster, or it is the baseline.
    4. "entering": it is slower, what comes before compiled code begins is at least half of what it
       lost, and the rest of the call alone isn't slower than the baseline.
    5. "faster_python": the operations that the eager baseline starts, each as quick as the quickest
       of all, take at least half of the time saved, and no more than all of it.
    """

    label: str
    cause: str
    facts: str
    sentence: str

    def __repr__(self) -> str:
        return sentences(self.facts, self.sentence)


class Reasons(tuple[Reason, ...]):
    """The reasons of several variants; as text, a line for each."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def reason(row: Row, rows: Rows) -> Reason:
    """The facts of a row in a line, and the first cause that holds."""
    case = Case(row, rows.baseline, rows.measurements.noise_floor)
    facts = line(row, rows.baseline)
    for rule in RULES:
        if row.facts is not None and rule.holds(case):
            return Reason(row.label, rule.kind, facts, rule.sentence(case))
    if not facts:
        facts = _("{label} apparently isn't compiled.").format(label=row.label)
    return Reason(row.label, "unknown", facts, "")


def reasons(rows: Rows) -> Reasons:
    """Those of all rows of which there are facts, in their order."""
    return Reasons(reason(row, rows) for row in rows.measured if row.facts is not None)
