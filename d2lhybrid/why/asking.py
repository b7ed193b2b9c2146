"""What is asked after the rounds, within a second: see ``d2lhybrid.why``.

Measuring has read the counters, and the first call of each row has noted what it compiled. What is
left are the questions below: one call that is watched, what a call spends before compiled code
begins, and what that saves. A question that fails has no answer, nothing of the user's is compiled
for one, and nothing is printed.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic, perf_counter
from typing import NamedTuple, TypeVar

from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.overhead import quickest
from d2lhybrid.backends.owners import framework_of_call
from d2lhybrid.core.i18n import noop as N_
from d2lhybrid.core.output import quiet, silent
from d2lhybrid.core.progress import show_status
from d2lhybrid.core.user_code import is_users
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.measuring.sampler import Sampler
from d2lhybrid.why.rules import compiles_again

QUESTION_SECONDS = 1.0  # that all questions may take together
SHARE_OF_A_COMPILING_CALL = 0.2  # of the first call: a call that takes as long may compile as well

NOTHING = Explanation("", "", compilations=0, graph_count=0)
_logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")


@dataclass
class Subject:
    """A row that is asked, and the facts that are known of it so far."""

    row: Row
    sampler: Sampler
    framework: Framework
    explanation: Explanation  # of what its first call has compiled
    is_compiled: bool  # is it, as far as one can see, or as its first call has compiled a program?
    against_eager: bool  # is the baseline eager code of the same framework?
    facts: Facts


class Question(NamedTuple):
    """Whether it applies, the facts that its answer adds, and how long it takes, if it is known."""

    applies: Callable[[Subject], bool]
    ask: Callable[[Subject], Facts]
    seconds: Callable[[Subject], float] = lambda subject: 0.0


def ask(
    samplers: Mapping[str, Sampler],
    rows: Rows,
    *,
    progress: bool | None = None,
    clock: Callable[[], float] = monotonic,
) -> dict[str, Facts]:
    """Facts of each row that is compiled, by label: the recommended one first, then the baseline.

    An interrupt ends it with what has been answered. Nothing cuts a question short, because not all
    native code is whole after that. So one that takes more than what is left isn't asked.

    Args:
        samplers: by label, what was measured.
        rows: what came of it.
        progress: say that it is done; None does so in a notebook and in a terminal.
        clock: by which the questions have their time.
    """
    end = clock() + QUESTION_SECONDS
    subjects: list[Subject] = []
    with suppress(KeyboardInterrupt), show_status(N_("finding out why"), progress):
        subjects += _subjects(samplers, rows)
        for subject, question in _in_order(subjects):
            if not question.applies(subject):
                continue
            if clock() + question.seconds(subject) >= end:
                subject.facts = replace(subject.facts, is_cut_short=True)
                continue
            try:
                subject.facts = _answer(partial(question.ask, subject)) or subject.facts
            except KeyboardInterrupt:
                subject.facts = replace(subject.facts, is_cut_short=True)
                end = clock()  # for all that are left
    return {subject.row.label: subject.facts for subject in subjects}


def _in_order(subjects: list[Subject]) -> Iterator[tuple[Subject, Question]]:
    """Whether compiled code runs, of all rows, before what takes long is asked of any.

    Without the answer, the rest could be taken for something else: where there was no time for it,
    the rest isn't asked.
    """
    for subject in subjects:
        for question in WHETHER_IT_RUNS:
            yield subject, question
    for subject in subjects:
        if not subject.facts.is_cut_short:
            for question in WHAT_A_CALL_COSTS:
                yield subject, question


def _answer(ask: Callable[[], Answer]) -> Answer | None:
    """None if the question fails, because it may lose nothing that was measured."""
    with quiet():
        try:
            with silent(prints=True):
                return ask()
        except Exception:
            _logger.debug("a question failed", exc_info=True)
    return None


# Who is asked


def _subjects(samplers: Mapping[str, Sampler], rows: Rows) -> Iterator[Subject]:
    """The rows that are compiled, or meant to be: the recommended one first, then the baseline.

    A row that compiles again and again is among them. So is one that a framework passes by whatever
    the user does, such as a plain Block of Gluon's; the baseline is what it is compared with.
    """
    against, _explanation, is_compiled = _seen(samplers[rows.baseline.label])
    eager = None if is_compiled else against
    for row in sorted(rows.measured, key=lambda row: (not row.is_best, row is not rows.baseline)):
        sampler = samplers[row.label]
        framework, explanation, is_compiled = _seen(sampler)
        if framework is None or row.role == "reference":
            continue
        facts = _recorded(explanation)
        if not (is_compiled or compiles_again(row)):
            ask = partial(framework.why.why_not_compiled, sampler.function)
            if row is rows.baseline or not (why_not := _answer(ask)):
                continue
            facts = Facts(runs_compiled=False, why_not=why_not)
        elif row.build_seconds is not None:  # compiled ahead of time, it has no other code
            facts = replace(facts, runs_compiled=True, programs_run=1)
        yield Subject(row, sampler, framework, explanation, is_compiled, framework is eager, facts)


def _seen(sampler: Sampler) -> tuple[Framework | None, Explanation, bool]:
    """The framework of what was measured, what its first call compiled, and is it compiled at all?

    It is, as far as one can see, or as its first call has compiled a program.
    """
    waited_for = sampler.waiting.frameworks
    framework = waited_for[0] if len(waited_for) == 1 else None
    for other, compiled in sampler.compilations.recorded.items():
        if framework in (None, other) and (explanation := compiled()):
            return other, explanation, True
    target, function = sampler.target, sampler.function
    framework = framework or framework_of_call(function, target.args, target.kwargs)
    is_compiled = framework is not None and framework.why.is_compiled(function)
    return framework, NOTHING, is_compiled


def _recorded(explanation: Explanation) -> Facts:
    """How many graphs there are, where they end, and what runs in Python."""
    # A compiler that meets a line again, as in a loop, notes another break.
    by_line = {(one.file, one.line): one for one in reversed(explanation.breaks)}
    own = tuple(one for one in reversed(by_line.values()) if is_users(one.file))
    return Facts(
        graphs=explanation.graph_count or None,
        breaks=own,
        breaks_inside=len(by_line) - len(own),
        in_python=explanation.fallbacks,
    )


# What is asked


def _may_run(subject: Subject) -> bool:
    return subject.facts.runs_compiled is None


def _watch(subject: Subject) -> Facts:
    """Whether compiled code runs in a call, how often, and why it compiles again, if it does."""
    row, facts = subject.row, subject.facts
    programs, again = subject.framework.why.watched_call(subject.sampler.call_apart)
    if programs == 0 and subject.is_compiled:
        return Facts(runs_compiled=False)
    may_compile = row.latency.seconds >= SHARE_OF_A_COMPILING_CALL * row.first_seconds
    return replace(
        facts,
        runs_compiled=True if programs else None,  # else its programs are the framework's own
        programs_run=programs or None,
        again=again if may_compile or compiles_again(row) else None,
    )


def _is_without_a_reason(subject: Subject) -> bool:
    return subject.facts.runs_compiled is False and not subject.facts.why_not


def _why_not(subject: Subject) -> Facts:
    why_not = subject.framework.why.why_not_compiled(subject.sampler.function)
    return replace(subject.facts, why_not=why_not)


def _is_entered_once(subject: Subject) -> bool:
    """Does a call run one program, which it doesn't compile again? Else it begins several times."""
    facts = subject.facts
    is_again = facts.again is not None or compiles_again(subject.row)
    return facts.runs_compiled is not False and not is_again and facts.programs_run in (None, 1)


def _before(subject: Subject) -> Facts:
    before_seconds = subject.framework.why.seconds_before(subject.sampler.call_apart)
    return replace(subject.facts, before_seconds=before_seconds)


def _starts_eager_code(subject: Subject) -> bool:
    return subject.against_eager and _runs_what_was_recorded(subject)


def _eager(subject: Subject) -> Facts:
    """What the baseline starts at least in place of what was recorded, and the quickest of that."""
    why = subject.framework.why
    return replace(
        subject.facts,
        eager_operations=why.eager_operations(subject.explanation),
        eager_operation_seconds=_quickest_of(why.eager_operation()),
    )


def _quickest_of(operation: Callable[[], object] | None) -> float | None:
    """Seconds of the quickest of some calls; None if there is nothing to call."""
    if operation is None:
        return None

    def taken() -> list[float]:
        start = perf_counter()
        operation()
        return [perf_counter() - start]

    return quickest(taken)[0]


def _runs_what_was_recorded(subject: Subject) -> bool:
    return subject.facts.runs_compiled is not False and subject.explanation.graph_count > 0


def _program(subject: Subject) -> Facts:
    """The graphs, counted, and the memory layout that the compiler chose."""
    program = subject.explanation.program
    graphs = subject.explanation.graphs() if program else ()
    layout = next((graph.layout for graph in graphs if graph.layout), "")
    return replace(subject.facts, program=program, layout=layout)


def _making_graphs(subject: Subject) -> float:
    recording = subject.explanation.recording
    return recording.seconds if recording else 0.0


def _two_calls(subject: Subject) -> float:
    """The second is watched, as the first may compile what watching needs."""
    return 2 * subject.row.latency.seconds


def _three_calls(subject: Subject) -> float:
    """One that finds the program, and two that are timed: of the whole, and of the program."""
    return 3 * subject.row.latency.seconds


WHETHER_IT_RUNS = (
    Question(_may_run, _watch, _two_calls),
    Question(_is_without_a_reason, _why_not),
)
WHAT_A_CALL_COSTS = (
    Question(_starts_eager_code, _eager),  # which takes least
    Question(_is_entered_once, _before, _three_calls),
    Question(_runs_what_was_recorded, _program, _making_graphs),
)
