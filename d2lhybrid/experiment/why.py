"""Why a variant takes the time that it takes: a sentence or two, by its row and what was asked.

``inquiry`` asks, ``Facts`` holds the answers, and the rules are in the docstring of ``reason``.
They never guess. A fact that could not be had gives less of a sentence, not a wrong one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from d2lhybrid.core.i18n import (
    count,
    gettext as _,
    listed,
    names,
    ngettext,
    number,
    sentences,
)
from d2lhybrid.display.table import seconds
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.rows import Row, Rows
from d2lhybrid.graphs.explanation import Finding
from d2lhybrid.graphs.program import Program

PAGE = "docs/why.md"  # what to read where nothing is known

# The second program of a call is one for another dtype, say, and the second of a shape is dynamic.
# From the third on, what differs will differ again.
FEWEST_AGAIN = 3
AGAIN_SHARE = 0.05  # of the calls: a compilation takes at least as long as some twenty small calls
# A steady call that takes at least this part of the first one, which compiles, may compile, too; it
# is asked then. A first call that is shorter compiles nothing.
LIKE_THE_FIRST = 0.5
LONG_FIRST_SECONDS = 0.01
# Of the steps, from which on contractions rule: each takes longer than an element-wise step.
LIBRARY_SHARE = 1 / 3
# Of a call's time, or of what a call has lost or saved: what explains so much is a cause.
ENTERING_SHARE = 0.2
MOVED_SHARE = 0.1
EXPLAINS = 0.5
# What explains more leaves nothing for a second cause, and what explains less is none.
EXPLAINS_ALL, EXPLAINS_A_PART = 0.9, 0.1
LEFT_OUT_SHARE = 1 / 3  # of the operations
# An undecided variant whose interval ends below this ratio is not faster by much.
NEARLY = 1.1
# What is left as it is may take a little longer, but not so many times.
MUCH_SLOWER = 1.25


@dataclass(frozen=True, repr=False)
class Reason:
    """Why a variant takes the time that it takes. As text it is the sentence, or two.

    `causes` are, the first one first, "not_whole", "recompiled", "nothing_to_rewrite", "entering",
    "moved_data", "faster_fused", "faster_python", "faster_folded_or_layout" or "unknown".
    """

    label: str
    causes: tuple[str, ...]
    sentence: str

    @property
    def cause(self) -> str:
        """The first of them."""
        return self.causes[0]

    def __repr__(self) -> str:
        return self.sentence


class Reasons(tuple[Reason, ...]):
    """Those of several variants; as text, a line each."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(str, self))


class _Found(NamedTuple):
    """A cause that holds, the sentence about it, and the part of a call's time that it explains."""

    cause: str
    sentence: str
    share: float = 0.0


@dataclass(frozen=True)
class _Case:
    """A row with its facts, beside the baseline."""

    row: Row
    baseline: Row
    facts: Facts

    @property
    def label(self) -> str:
        return self.row.label

    @property
    def seconds(self) -> float:
        return self.row.latency.seconds

    @property
    def saved(self) -> float:
        """Seconds that a call saves, below 0 if it takes longer."""
        return self.baseline.latency.seconds - self.seconds

    @property
    def is_faster(self) -> bool:
        return self.row.latency.shown_verdict == "faster"

    @property
    def is_slower(self) -> bool:
        return self.row.latency.shown_verdict == "slower"

    @property
    def is_much_slower(self) -> bool:
        """Does it take so much longer that a program which stays as it is can't be all of it?"""
        return self.is_slower and self.row.latency.ratio < 1 / MUCH_SLOWER

    @property
    def is_undecided(self) -> bool:
        return self.row.latency.shown_verdict == "undecided"

    @property
    def is_not_faster(self) -> bool:
        """Is it slower, the same, or at most next to nothing faster?"""
        if self.is_undecided:
            return not self.row.is_busy and 0 < self.row.latency.interval[1] < NEARLY
        return not self.is_faster

    @property
    def program(self) -> Program | None:
        """The graphs of a call, counted; None if it has loops, whose steps nobody has counted."""
        program = self.facts.program
        return program if program and not program.control_flow else None


def need_reasons(rows: Rows) -> list[Row]:
    """The rows that are asked why: the baseline, the recommended one, and those not faster.

    References and what is deprecated are not among them. The baseline is first, the recommended one
    next, so that there is time for these.
    """
    choice = [row for row in rows.variants if not row.deprecated]
    best = [row for row in choice if row.is_best]
    others = [row for row in choice if row.latency.shown_verdict != "faster"]
    return [rows.baseline, *best, *others]


def shown_reasons(rows: Rows) -> Reasons:
    """Those that a comparison shows, of the rows that were asked.

    What isn't known is shown of a row that isn't faster than eager code, if at least its graphs
    could be asked for.
    """
    reasons = []
    for row in need_reasons(rows):
        if row.facts is None:
            continue
        found = reason(row, rows)
        has_answer = row.facts.graph_count is not None and row.facts.is_against_eager
        is_open = row.latency.shown_verdict in ("undecided", "faster") or row is rows.baseline
        if found.cause != "unknown" or (has_answer and not is_open):
            reasons.append(found)
    return Reasons(reasons)


def reason(row: Row, rows: Rows) -> Reason:
    """Why this one takes the time that it takes.

    The rules in their order; the first that holds is the reason, and a second sentence is of one
    that holds beside it.

    0. The call computes nothing: it returns the same objects at every call, or no step runs for it.
    1. Not compiled, or not as a whole: nothing was compiled, or there are graph breaks, or parts
       run in Python. It is no reason to be faster, so it comes second there, unless nothing was
       compiled at all.
    2. Compiled again and again: three more programs than the first call made, in a twentieth of the
       calls; or one more call, which was asked because it takes about as long as the first one,
       compiled a program. If the baseline does so, that is the reason for a ratio above 1.
    3. Nothing to rewrite, of what is not faster: a third of the steps that run are contractions. If
       entering or moving data takes more than half of the call, that comes first.
    4. Entering costs more than it saves, of what is not faster: entering compiled code takes longer
       than an eager call of the same function, by half of what a call has lost, or, where nothing
       is lost, by a fifth of its time.
    5. Moved data: it takes a tenth of the time of a call to convert arguments or to bring them to
       another device. Of what is faster it is the second sentence.
       If none of 3 to 5 holds of what is not faster, and no two operations run as one step and none
       was left out, there is nothing to rewrite either.
    6. Faster: Python is left out, if as many eager operations as were recorded take half of the
       time saved; fused, folded or unused operations, and another memory layout, for what this
       leaves. The larger part is named first.
    7. Otherwise it is not known.

    What is undecided, and may well be faster, has 1 and 2 for facts, and no reason. Rules 3 to 6
    hold against eager code of the same framework alone, except for 5: they are about what its
    compiler changes.
    """
    case = _Case(row, rows.baseline, row.facts or Facts())
    if row.facts is None:
        text = _(
            "Nothing was found out about {label}: it isn't compiled, as far as one can see, or the "
            "comparison was released."
        )
        return Reason(row.label, ("unknown",), text.format(label=row.label))
    found = _found(case, rows)[:2]
    causes = tuple(dict.fromkeys(each.cause for each in found))
    if "not_whole" in causes and row.later_compilations and case.facts.fallbacks:
        causes += ("recompiled",)  # up to the limit of which the sentence speaks
    said = [each.sentence for each in found] or [_unknown(case)]
    if case.is_undecided:
        said = [_undecided(case), *said]
    return Reason(row.label, causes or ("unknown",), sentences(*said))


def _found(case: _Case, rows: Rows) -> list[_Found]:
    """The causes that hold, by the rules of ``reason``."""
    if nothing := _computes_nothing(case):
        return [nothing]
    if case.row is rows.baseline:
        return [*_baseline_recompiled(case)]
    facts = [*_not_whole(case), *_recompiled(case)]
    if facts and (case.facts.not_compiled or not case.is_faster):
        return facts[:1]
    if case.is_faster and (because_of_baseline := [*_compared_with_a_compiler(case)]):
        return [*because_of_baseline, *facts[:1]]
    if not case.facts.is_against_eager:
        return facts or [*_moved(case)]
    if case.is_faster:
        return [*_faster(case), *facts[:1], *_moved(case)]
    return _not_faster(case) if case.is_not_faster else []


# 0 to 2: facts whatever the verdict


def _computes_nothing(case: _Case) -> _Found | None:
    if case.facts.computes_nothing:
        text = _("{label} computes nothing: each call returns the same objects.")
    elif case.program and case.facts.graph_count and not case.program.steps:
        text = _("{label} computes nothing: no step runs for a call.")
    else:
        return None
    return _Found("nothing_to_rewrite", text.format(label=case.label))


def _not_whole(case: _Case) -> Iterator[_Found]:
    facts = case.facts
    if facts.not_compiled:
        text = _("{label} runs without a compiler.").format(label=case.label)
        yield _Found("not_whole", sentences(text, facts.not_compiled))
    elif facts.breaks:
        text = ngettext(
            "{label} isn't compiled as a whole: it has {n} graph break, where Python runs a step. "
            "It is at {place}",
            "{label} isn't compiled as a whole: it has {n} graph breaks, where Python runs a step. "
            "The first is at {place}",
            len(facts.breaks),
        )
        place = _in_one_line(facts.breaks[0])
        text = text.format(label=case.label, n=len(facts.breaks), place=place)
        yield _Found("not_whole", text)
    elif facts.fallbacks and not (case.is_faster and facts.fallbacks[0].is_limit):
        text = _("{label} isn't compiled as a whole: a part of it runs in Python. {place}")
        if facts.fallbacks[0].is_limit:  # a call that fits one of its programs runs that
            text = _("{label} compiles no more programs. {place}")
        place = _in_one_line(facts.fallbacks[0])
        yield _Found("not_whole", text.format(label=case.label, place=place))


def _recompiled(case: _Case) -> Iterator[_Found]:
    text = _how_often(case)
    if text:
        yield _Found("recompiled", sentences(text, *_why_again(case)))


def _baseline_recompiled(case: _Case) -> Iterator[_Found]:
    text = _how_often(case)
    if text:
        so = _("Every ratio here is mostly the time of its compiler.")
        yield _Found("recompiled", sentences(text, so, *_why_again(case)))


def _compared_with_a_compiler(case: _Case) -> Iterator[_Found]:
    """What is faster than a baseline that compiles in its calls is so because it doesn't."""
    if compiles_again(case.baseline) and not compiles_again(case.row):
        text = _(
            "{label} is faster because {baseline} itself compiles again and again: {programs} "
            "programs in {calls} calls after the first."
        )
        yield _Found("recompiled", _with_compilations(text, case.label, case.baseline))


def compiles_again(row: Row) -> bool:
    """Is it compiled again and again, by what was counted?

    A call may take several programs, as one with graph breaks does, so it is compared with the
    first call.
    """
    later, calls = row.later_compilations or 0, row.later_calls
    again = later / max(1, row.first_compilations or 0)
    return again >= FEWEST_AGAIN and later >= AGAIN_SHARE * calls


def is_like_the_first(row: Row) -> bool:
    """Does a call take about as long as the first one, which compiles, so that it may do so too?"""
    first = row.first_seconds or 0.0
    return first >= LONG_FIRST_SECONDS and row.latency.seconds >= LIKE_THE_FIRST * first


def _how_often(case: _Case) -> str:
    """The sentence that says so, or nothing."""
    if compiles_again(case.row):
        text = _(
            "{label} compiles again and again: {programs} programs in {calls} calls after the "
            "first."
        )
        return _with_compilations(text, case.label, case.row)
    if case.facts.compiled_again:
        text = _("{label} compiles in each call, which takes {time} where the first took {first}.")
        first = seconds(case.row.first_seconds or 0.0)
        return text.format(label=case.label, time=seconds(case.seconds), first=first)
    return ""


def _with_compilations(text: str, label: str, row: Row) -> str:
    programs, calls = count(row.later_compilations or 0), count(row.later_calls)
    return text.format(label=label, baseline=row.label, programs=programs, calls=calls)


def _why_again(case: _Case) -> Iterator[str]:
    if again := case.facts.compiled_again:
        yield _("The reason: {reason}").format(reason=_in_one_line(again))
    if case.facts.mixed_modes:
        text = _("These arguments were made in another mode than the others: {arguments}.")
        yield text.format(arguments=names(case.facts.mixed_modes))


def _in_one_line(finding: Finding) -> str:
    """The place in the user's code and the first line of the framework's reason."""
    short = replace(finding, reason=finding.reason.strip().partition("\n")[0])
    return str(short).replace("\n", " – ")


# 3 to 5: why it isn't faster


def _not_faster(case: _Case) -> list[_Found]:
    parts = sorted([*_entering(case), *_moved(case)], key=lambda part: -part.share)
    library = [*_calls_of_a_library(case)]
    if parts and parts[0].share > EXPLAINS:
        return [parts[0], *library, *parts[1:]]
    if parts:
        return [*library, *parts]
    as_it_is = library or [*_nothing_to_fuse(case)]
    if as_it_is and case.is_much_slower:
        text = _("It isn't known what makes it slower.")
        return [*as_it_is, _Found("unknown", text)]
    return as_it_is


def _calls_of_a_library(case: _Case) -> Iterator[_Found]:
    program = case.program
    if not program or not program.contractions >= max(1, LIBRARY_SHARE * program.steps):
        return
    if program.steps == 1:
        text = _(
            "{label} finds nothing to rewrite: the one step that runs is a matrix product, a "
            "convolution or attention, a call of a library that no compiler here rewrites."
        )
    else:
        text = ngettext(
            "{label} finds little to rewrite: {n} of the {steps} steps that run is a matrix "
            "product, a convolution or attention (operations recorded: {recorded}), a call of a "
            "library that no compiler here rewrites.",
            "{label} finds little to rewrite: {n} of the {steps} steps that run are matrix "
            "products, convolutions or attention (operations recorded: {recorded}), calls of a "
            "library that no compiler here rewrites.",
            program.contractions,
        )
    yield _Found("nothing_to_rewrite", _with_program(text, case.label, program))


def _nothing_to_fuse(case: _Case) -> Iterator[_Found]:
    program = case.program
    if program and program.steps >= program.recorded and not program.fused + _left_out(program):
        text = _(
            "{label} finds nothing to rewrite: no two operations run as one step (operations "
            "recorded: {recorded}, steps that run: {steps})."
        )
        yield _Found("nothing_to_rewrite", _with_program(text, case.label, program))


def _with_program(text: str, label: str, program: Program) -> str:
    recorded, steps = count(program.recorded), count(program.steps)
    return text.format(label=label, recorded=recorded, steps=steps, n=count(program.contractions))


def _entering(case: _Case) -> Iterator[_Found]:
    entry, eager = case.facts.entry_seconds, case.facts.eager_entry_seconds
    if entry is None or eager is None or entry <= eager:
        return
    extra = entry - eager
    enough = -EXPLAINS * case.saved if case.is_slower else ENTERING_SHARE * case.seconds
    if extra < enough:
        return
    if case.is_slower:
        text = _(
            "Entering compiled code costs more than it saves: a compiled {example} takes {entry}, "
            "an eager one {eager}, and a call of {label} {time}."
        )
    else:
        text = _(
            "Entering compiled code costs what it saves: a compiled {example} takes {entry}, an "
            "eager one {eager}, and a call of {label} {time}."
        )
    times = {"entry": seconds(entry), "eager": seconds(eager), "time": seconds(case.seconds)}
    said = text.format(label=case.label, example="x + 1", **times)
    yield _Found("entering", said, extra / case.seconds)


def _moved(case: _Case) -> Iterator[_Found]:
    facts, took = case.facts, case.facts.converted_seconds or 0.0
    arguments = (*facts.converted, *facts.moved)
    if not arguments or took < MOVED_SHARE * case.seconds:
        return
    if facts.moved:
        text = _(
            "Each call of {label} brings {arguments} to another device, which takes {took} of its "
            "{time}."
        )
    else:
        text = _(
            "Each call of {label} makes tensors of {arguments}, NumPy arrays, which takes {took} "
            "of its {time}."
        )
    times = {"took": seconds(took), "time": seconds(case.seconds)}
    said = text.format(label=case.label, arguments=names(arguments), **times)
    yield _Found("moved_data", said, took / case.seconds)


# 6: why it is faster


def _faster(case: _Case) -> list[_Found]:
    """One sentence with the parts that make it faster, the larger one first; no part, no sentence.

    What Python costs is an estimate from below, so the program has the rest, whatever it rewrites.
    """
    share, by_python = _python_share(case), _python_left_out(case)
    by_program = _rewritten(case)
    if share >= EXPLAINS:
        parts = [by_python, *(by_program if share < EXPLAINS_ALL else ())]
    elif by_program:
        parts = [*by_program, *([by_python] if share >= EXPLAINS_A_PART else ())]
    else:
        return []
    said = [part.sentence for part in parts[:2]]
    text = _("{label} is faster because {reason}.")
    if len(said) > 1:
        text = _("{label} is faster because {reason}, and because {other}.")
    sentence = text.format(label=case.label, reason=said[0], other=said[-1])
    # One sentence has all causes, and the first of them carries it.
    return [_Found(parts[0].cause, sentence), *(_Found(part.cause, "") for part in parts[1:2])]


def _python_share(case: _Case) -> float:
    """The part of the time saved that this takes."""
    return _eager_seconds(case) / case.saved if case.saved > 0 else 0.0


def _eager_seconds(case: _Case) -> float:
    """What Python and the framework take in an eager call, apart from arithmetic.

    One operation less, because entering compiled code takes as long as that at least.
    """
    return max(0, (case.facts.eager_calls or 0) - 1) * _seconds_of_eager_call(case)


def _seconds_of_eager_call(case: _Case) -> float:
    """What one operation, or one layer, takes of this; each tensor of ``add_one`` is one."""
    return (case.facts.eager_entry_seconds or 0.0) / max(1, case.facts.entry_tensors)


def _python_left_out(case: _Case) -> _Found:
    calls = case.facts.eager_calls or 0
    text = ngettext(
        "it leaves out what Python and the framework do around {n} operation or layer, {time} in "
        "eager mode",
        "it leaves out what Python and the framework do around {n} operations or layers, {time} "
        "each in eager mode",
        calls,
    )
    time = seconds(_seconds_of_eager_call(case))
    return _Found("faster_python", text.format(n=count(calls), time=time))


def _left_out(program: Program) -> int:
    """The operations that don't run because they are constant, equal others, or are not used."""
    return program.folded + program.merged + program.dropped


def _rewritten(case: _Case) -> list[_Found]:
    """What the compiler made of the program, the most important first."""
    program, found = case.program, []
    if case.facts.layout:
        text = _("the compiler chose another memory layout ({layout})")
        found.append(_Found("faster_folded_or_layout", text.format(layout=case.facts.layout)))
    if program is None:
        return found
    fused, left_out = [*_fused(program)], [*_operations_left_out(program)]
    is_mostly_left_out = _left_out(program) > program.fused
    return [*found, *left_out, *fused] if is_mostly_left_out else [*found, *fused, *left_out]


def _fused(program: Program) -> Iterator[_Found]:
    if program.fused > 1 and program.steps < program.recorded:
        text = ngettext(
            "its {recorded} operations are fused into {n} step",
            "its {recorded} operations are fused into {n} steps",
            program.steps,
        )
        said = text.format(recorded=count(program.recorded), n=count(program.steps))
        yield _Found("faster_fused", said)


def _operations_left_out(program: Program) -> Iterator[_Found]:
    left_out = _left_out(program)
    if left_out >= max(1, LEFT_OUT_SHARE * program.recorded):
        text = _(
            "{n} of its {recorded} operations don't run at all, because they are constant, "
            "repeated or unused"
        )
        said = text.format(n=count(left_out), recorded=count(program.recorded))
        yield _Found("faster_folded_or_layout", said)


# 7: what isn't known


def _undecided(case: _Case) -> str:
    text = _("It is undecided whether {label} is faster.")
    if case.is_not_faster:
        text = _("It is undecided whether {label} is faster; at most, it is {ratio} times as fast.")
    return text.format(label=case.label, ratio=number(case.row.latency.interval[1]))


def _unknown(case: _Case) -> str:
    """What to say where no cause is known: what is known, and where to look."""
    said = []
    if case.is_undecided:
        if case.program:
            text = _("Operations recorded: {recorded}, steps that run: {steps}.")
            said.append(_with_program(text, case.label, case.program))
    elif case.is_faster:
        said.append(_("It isn't known why {label} is faster.").format(label=case.label))
    else:
        said.append(_("It isn't known why {label} isn't faster.").format(label=case.label))
    if case.facts.unasked:
        questions = listed(map(_, case.facts.unasked))
        text = _("There was no answer, or no time for one, to this: {questions}.")
        said.append(text.format(questions=questions))
    text = _("{explain} and {graph} show what the compiler makes of it; {page} has more.")
    calls = {"explain": "explain(net, x)", "graph": "graph(net, x)"}
    return sentences(*said, text.format(**calls, page=PAGE))
