"""What makes a variant faster, as clauses of one sentence: rule 6 of ``why.reason``."""

import math
from collections.abc import Iterator

from d2lhybrid.core.i18n import count, gettext as _, ngettext
from d2lhybrid.display.table import seconds
from d2lhybrid.experiment.causes import Case, Found, left_out
from d2lhybrid.experiment.facts import MANY_TENSORS
from d2lhybrid.graphs.program import Program

# Of the time that a call saves: what explains so much comes first. What explains more leaves
# nothing for a second cause, and what explains less is none.
EXPLAINS, EXPLAINS_ALL, EXPLAINS_A_PART = 1 / 2, 2 / 3, 1 / 3
LEFT_OUT_SHARE = 1 / 3  # of the operations


def faster(case: Case) -> Iterator[Found]:
    """One sentence with the parts that make it faster, the larger one first; no part, no sentence.

    What Python costs is known from below, and what fusing saves from above.
    """
    share, by_python = _python_share(case), _python_left_out(case)
    by_program = _rewritten(case)
    if share >= EXPLAINS or (by_program and share >= _most_by_fusing(case)):
        parts = [by_python, *(by_program if share < EXPLAINS_ALL else ())]
    elif by_program:
        parts = [*by_program, *([by_python] if share >= EXPLAINS_A_PART else ())]
    else:
        return
    first, *others = parts[:2]
    # Translators: {reason} is one of the clauses below, such as "its 9 operations are fused into 2
    # steps".
    text = _("{label} is faster because {reason}.")
    if others:
        # Translators: {reason} and {other} are two of the clauses below. Where that is clumsy, such
        # as in Chinese, translate it as a list of two reasons.
        text = _("{label} is faster because {reason}, and because {other}.")
    clauses = {"reason": first.sentence, "other": "".join(part.sentence for part in others)}
    causes = tuple(dict.fromkeys(cause for part in parts[:2] for cause in part.causes))
    yield Found(causes, text.format(label=case.label, **clauses))


def _python_share(case: Case) -> float:
    """The part of the time saved that this takes."""
    return _eager_seconds(case) / case.saved if case.saved > 0 else 0.0


def _most_by_fusing(case: Case) -> float:
    """The most that fusing can be of the time saved, if that is all that the compiler did.

    A step of the fused program takes at least as long as one of its operations does alone, so that
    each step less saves no more than a step of it takes.
    """
    program = case.program
    if not program or case.saved <= 0 or case.facts.layout or left_out(program):
        return math.inf
    fewer = (program.recorded - program.free) / max(1, program.steps) - 1
    return max(0.0, fewer) * case.seconds / case.saved


def _eager_seconds(case: Case) -> float:
    """What Python and the framework take in an eager call, apart from arithmetic.

    One operation less, because entering compiled code takes as long as that at least.
    """
    return max(0, (case.facts.eager_calls or 0) - 1) * _seconds_of_eager_call(case)


def _seconds_of_eager_call(case: Case) -> float:
    """What one operation, or one layer, takes of this; each tensor of ``add_one`` is one."""
    tensors = case.facts.entry_tensors
    added = tensors if tensors <= MANY_TENSORS else 1
    return (case.facts.eager_entry_seconds or 0.0) / max(1, added)


def _python_left_out(case: Case) -> Found:
    calls = case.facts.eager_calls or 0
    text = ngettext(
        "it avoids the overhead of Python and the framework for {n} operation or layer, {time} in "
        "eager mode",
        "it avoids the overhead of Python and the framework for {n} operations or layers, "
        "{time} each in eager mode",
        calls,
    )
    time = seconds(_seconds_of_eager_call(case))
    return Found(("faster_python",), text.format(n=count(calls), time=time))


def _rewritten(case: Case) -> list[Found]:
    """What the compiler made of the program, the most important first."""
    found = []
    if case.facts.layout:
        text = _("the compiler chose another memory layout ({layout})")
        found.append(Found(("faster_folded_or_layout",), text.format(layout=case.facts.layout)))
    program = case.program
    if program is None:
        return found
    fused, not_run = [*_fused(program)], [*_not_run(program)]
    is_mostly_left_out = left_out(program) > program.fused
    return [*found, *not_run, *fused] if is_mostly_left_out else [*found, *fused, *not_run]


def _fused(program: Program) -> Iterator[Found]:
    if program.fused > 1 and program.steps < program.recorded:
        text = ngettext(
            "its {recorded} operations are fused into {n} step",
            "its {recorded} operations are fused into {n} steps",
            program.steps,
        )
        said = text.format(recorded=count(program.recorded), n=count(program.steps))
        yield Found(("faster_fused",), said)


def _not_run(program: Program) -> Iterator[Found]:
    number = left_out(program)
    if number >= max(1, LEFT_OUT_SHARE * program.recorded):
        text = ngettext(
            "{n} of its {recorded} operations doesn't run at all, because it is constant, repeated "
            "or unused",
            "{n} of its {recorded} operations don't run at all, because they are constant, "
            "repeated or unused",
            number,
        )
        if program.folded == number:
            text = ngettext(
                "{n} of its {recorded} operations depends on no argument and was computed once for "
                "all calls",
                "{n} of its {recorded} operations depend on no argument and were computed once for "
                "all calls",
                number,
            )
        said = text.format(n=count(number), recorded=count(program.recorded))
        yield Found(("faster_folded_or_layout",), said)
