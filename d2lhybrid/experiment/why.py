"""Why a variant takes as long as it does: a sentence or two, from its row and its facts.

``inquiry`` asks, ``Facts`` holds the answers, and the rules are in the docstring of ``reason``.
The rules never guess. A missing fact makes the sentence say less, not something wrong.
"""

from dataclasses import dataclass

from d2lhybrid.core.i18n import gettext as _, listed, number, sentences
from d2lhybrid.core.reader import EXPLAIN, IN_FILE, is_in_shell
from d2lhybrid.experiment.causes import (
    MOST,
    NEARLY_ALL,
    Case,
    Found,
    baseline_recompiled,
    calls_of_a_library,
    compared_with_a_compiler,
    compiles_again,
    compiles_in_most_calls,
    computes_nothing,
    moved,
    not_faster,
    not_whole,
    recompiled,
    with_program,
)
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.gains import faster
from d2lhybrid.experiment.rows import Row, Rows

PAGE = "docs/why.md"  # what to read where nothing is known
HOLD_ANYWAY = {"not_whole", "recompiled"}  # that hold whatever the verdict


@dataclass(frozen=True, repr=False)
class Reason:
    """Why a variant takes as long as it does. As text, it is a sentence or two.

    If the verdict is undecided, `undecided` says so first.

    `causes`, the most important first, are "not_whole", "recompiled", "nothing_to_rewrite",
    "entering", "moved_data", "faster_fused", "faster_python", "faster_folded_or_layout" or
    "unknown".
    """

    label: str
    causes: tuple[str, ...]
    sentence: str
    undecided: str = ""

    @property
    def cause(self) -> str:
        """The first cause."""
        return self.causes[0]

    def __repr__(self) -> str:
        return sentences(self.undecided, self.sentence)


class Reasons(tuple[Reason, ...]):
    """The reasons of several variants; as text, a line for each."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


def need_reasons(rows: Rows) -> list[Row]:
    """The rows that are asked why: the baseline, the recommended one, and those not faster.

    References and what is deprecated are not among them. The baseline is first, the recommended one
    next, so that there is time for these.
    """
    choice = [row for row in rows.variants if not row.deprecated]
    best = [row for row in choice if row.is_best]
    others = [row for row in choice if row.latency.shown_verdict != "faster"]
    return [rows.baseline, *best, *others]


def has_reason(row: Row) -> bool:
    """Was a row asked, and is there anything to say but that it isn't compiled?"""
    facts = row.facts
    if facts is None:
        return False
    recompiled = compiles_again(row) or facts.compiled_again is not None
    return facts.is_compiled or facts.computes_nothing or recompiled


def shown_reasons(rows: Rows) -> Reasons:
    """Those that a comparison shows, of the rows that were asked.

    What isn't known is shown of a row that isn't faster than eager code, if at least its graphs
    could be asked for.
    """
    reasons = []
    for row in need_reasons(rows):
        if row.facts is None or not has_reason(row):
            continue
        found = reason(row, rows)
        has_answer = row.facts.graph_count is not None and row.facts.is_against_eager
        is_open = row.latency.shown_verdict in ("undecided", "faster") or row is rows.baseline
        if found.cause != "unknown" or (has_answer and not is_open):
            reasons.append(found)
    return Reasons(reasons)


def reason(row: Row, rows: Rows) -> Reason:
    """Why this one takes as long as it does.

    The rules in their order: the first that holds is the reason, and a second sentence comes from
    one that also holds.

    0. The call computes nothing: it returns the same objects at every call, or it runs no step.
    1. Not compiled, or not as a whole: nothing was compiled, or there are graph breaks, or parts
       run in Python. It is no reason to be faster: there, graph breaks come second, and parts in
       Python are left out.
    2. Compiled again and again: three times as many programs as the first call made, in a twentieth
       of the calls; or one more call, which was asked because it takes about as long as the first
       one, compiled a program. In half of the calls, it comes before 1; if the baseline compiles in
       so many, that is the reason for a ratio above 1.
    3. Nothing to rewrite, of what is not or hardly faster: a third of the steps that run are
       contractions. If entering or moving data takes more than half of the call, that is the
       reason instead.
    4. Entering costs more than it saves, of what is not faster: entering compiled code takes longer
       than an eager call of the same function, by half of what a call has lost and a twentieth of
       its time, or, where nothing is lost, by a fifth of its time.
    5. Moved data: it takes a tenth of the time of a call to convert arguments or to bring them to
       another device. Of what is faster it is the second sentence; if it takes more than half of
       the call, it comes before 1 and 2, and, of what is hardly faster, first. Nine tenths leave
       nothing to say of the rest.
       If none of 3 to 5 holds of what takes the same time, and no two operations run as one step
       and none was left out, there is nothing to rewrite either.
    6. Faster: Python is left out, if as many eager operations as were recorded take half of the
       time saved, or at least as much as fusing could; fused, folded or unused operations, and
       another memory layout, for what this leaves. The larger part is named first.
    7. Otherwise the reason is unknown.

    What is undecided, and may well be faster, has 1 and 2 for facts, and no reason. Rules 3 to 6
    hold against eager code of the same framework alone, except for 5: they are about what its
    compiler changes.
    """
    case = Case(row, rows.baseline, row.facts or Facts())
    if row.facts is None:
        text = _("{label} was not examined, or its framework is unknown.")
        return Reason(row.label, ("unknown",), text.format(label=row.label))
    if not has_reason(row):
        text = _("{label} apparently isn't compiled.")
        if row is rows.baseline:
            text = _("{label} is the baseline, with which the others are compared.")
        is_open = case.is_faster or row is rows.baseline
        cause = "unknown" if is_open else "not_whole"
        sentence = sentences(text.format(label=row.label), row.facts.not_compiled)
        return Reason(row.label, (cause,), sentence)
    found = _found(case, rows)[:2]
    causes = tuple(dict.fromkeys(cause for each in found for cause in each.causes))
    said = [each.sentence for each in found] or [_unknown(case)]
    undecided = _undecided(case) if case.is_undecided and not {*causes} & HOLD_ANYWAY else ""
    return Reason(row.label, causes or ("unknown",), sentences(*said), undecided)


def _found(case: Case, rows: Rows) -> list[Found]:
    """The causes that hold, by the rules of ``reason``."""
    if nothing := computes_nothing(case):
        return [nothing]
    if case.row is rows.baseline:
        return [*baseline_recompiled(case)]
    facts = [*not_whole(case), *recompiled(case)]
    if compiles_in_most_calls(case.row):
        facts.reverse()
    mostly_moved = [part for part in moved(case) if part.share > MOST]
    if facts and (case.facts.not_compiled or not case.is_faster):
        is_all = any(part.share > NEARLY_ALL for part in mostly_moved)
        return mostly_moved if is_all else [*mostly_moved, *facts[:1]]
    if case.is_faster and (because_of_baseline := [*compared_with_a_compiler(case)]):
        return [*because_of_baseline, *facts[:1]]
    if not case.facts.is_against_eager:
        return facts or [*moved(case)]
    if case.is_faster and case.is_hardly_faster and mostly_moved:
        return [*mostly_moved, *faster(case)]
    if case.is_faster:
        kept = [*calls_of_a_library(case)] if case.is_hardly_faster else []
        return [*kept, *faster(case), *facts[:1], *moved(case)]
    return not_faster(case) if case.is_not_faster else []


def _undecided(case: Case) -> str:
    text = _("It is undecided whether {label} is faster.")
    if case.is_not_faster:
        text = _("It is undecided whether {label} is faster; at most, it is {ratio} times as fast.")
    return text.format(label=case.label, ratio=number(case.row.latency.interval[1]))


def _unknown(case: Case) -> str:
    """What to say where no cause is known: what is known, and where to look."""
    said = []
    if case.is_undecided:
        if case.program:
            text = _(
                "Operations recorded: {recorded}, steps that run: {steps}, of these matrix "
                "products, convolutions or attention: {n}."
            )
            said.append(with_program(text, case.label, case.program))
    elif case.is_faster:
        said.append(_("It isn't known why {label} is faster.").format(label=case.label))
    else:
        said.append(_("It isn't known why {label} isn't faster.").format(label=case.label))
    if case.facts.unasked:
        questions = listed(map(_, case.facts.unasked))
        text = _("No answer was found, or time ran out, for these questions: {questions}.")
        said.append(text.format(questions=questions))
    text = _("{explain} and {graph} show what the compiler makes of it; {page} has more.")
    calls = {"explain": EXPLAIN, "graph": "graph(net, x)"}
    if is_in_shell():  # which has no graph
        text = _("{explain} shows what the compiler makes of it; {page} has more.")
        calls = {"explain": IN_FILE}
    return sentences(*said, text.format(**calls, page=PAGE))
