"""What is asked after the rounds, within a second: see ``d2lhybrid.why``.

Measuring has read the counters, and the first call of each row has noted what it compiled. What is
left: one more call that is watched, why a call compiles again, the graphs in numbers, and what a
call spends before compiled code begins. A question that fails has no answer, nothing is compiled
a second time, and nothing is printed.
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic, perf_counter
from typing import TypeVar

from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.owners import framework_of_call
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.output import quiet, silent
from d2lhybrid.core.progress import show_status
from d2lhybrid.core.user_code import is_users
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.measuring.sampler import Sampler
from d2lhybrid.why.rules import compiles_again

SECONDS = 1.0  # that all questions may take together
LIKE_THE_FIRST = 0.2  # of the first call: a call that takes as long may compile as well
CALLS_OF_AN_OPERATION = 20  # of which the quickest counts

_logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")


def ask(
    samplers: Mapping[str, Sampler],
    rows: Rows,
    *,
    seconds: float = SECONDS,
    progress: bool | None = None,
    clock: Callable[[], float] = monotonic,
) -> dict[str, Facts]:
    """Facts of each row that is compiled, by label: the recommended one first, then the baseline.

    An interrupt ends it with what has been answered.

    Args:
        samplers: by label, what was measured.
        rows: what came of it.
        seconds: for all questions together, by `clock`.
        progress: say that it is done; None does so where the standard error is a terminal.
    """
    time = _Time(clock() + seconds, clock)
    baseline = _Subject(samplers[rows.baseline.label], rows.baseline)
    in_order = sorted(rows.measured, key=lambda row: (not row.is_best, row is not rows.baseline))
    subjects = [_Subject(samplers[row.label], row) for row in in_order if row.role != "reference"]
    found: dict[str, Facts] = {}
    with suppress(KeyboardInterrupt), show_status(N_("finding out why"), progress):
        # Whether compiled code runs, and is compiled again, is asked of all rows before what takes
        # long is asked of any: without the answer, the rest could be taken for something else.
        for ask_stage in (_whether_compiled_code_runs, _what_a_call_costs):
            for subject in subjects:
                time.is_over, label = False, subject.row.label
                if facts := ask_stage(subject, baseline, found.get(label), time):
                    is_cut_short = facts.is_cut_short or time.is_over
                    found[label] = replace(facts, is_cut_short=is_cut_short)
    return found


class _Subject:
    """What a row has measured: the callable, its framework, and what its first call compiled."""

    def __init__(self, sampler: Sampler, row: Row) -> None:
        target = sampler.target
        self.row, self.run, self.function = row, sampler.call_apart, sampler.function
        self.explanation: Explanation | None = None
        frameworks = sampler.waits_for if len(sampler.waits_for) == 1 else ()
        self.framework: Framework | None = next(iter(frameworks), None)
        for framework, compiled in sampler.compiled.items():
            if self.framework in (None, framework) and (explanation := compiled()):
                self.framework, self.explanation = framework, explanation
        if self.framework is None:
            self.framework = framework_of_call(self.function, target.args, target.kwargs)

    @property
    def is_compiled(self) -> bool:
        """Is it, as far as one can see, or as its first call has compiled a program?"""
        if self.framework is None:
            return False
        return self.explanation is not None or self.framework.why.is_compiled(self.function)


@dataclass
class _Time:
    """The time there is for questions, until `end` by `clock` or an interrupt."""

    end: float
    clock: Callable[[], float]
    is_over: bool = False  # did a question find too little of it?

    def answer(self, ask: Callable[[], Answer], takes: float = 0.0) -> Answer | None:
        """The answer to a question; None if it fails, or if too little time is left.

        Nothing cuts a question short, because not all native code is whole after that. So it isn't
        asked if the seconds that it `takes`, as far as they are known, are more than what is left.
        """
        if self.clock() + takes >= self.end:
            self.is_over = True
            return None
        with quiet():
            try:
                with silent(prints=True):
                    return ask()
            except KeyboardInterrupt:
                self.end, self.is_over = self.clock(), True
            except Exception:  # nothing that is asked may lose what was measured
                _logger.debug("a question failed", exc_info=True)
        return None


def _whether_compiled_code_runs(
    subject: _Subject, baseline: _Subject, _facts: Facts | None, time: _Time
) -> Facts | None:
    """Whether a call of a compiled row runs compiled code, and why it compiles again, if it does.

    None of a row that isn't compiled, unless its framework passes it by whatever the user does.
    """
    framework, function, run, row = subject.framework, subject.function, subject.run, subject.row
    a_call = row.latency.seconds
    if framework is None:
        return None
    if not (subject.is_compiled or compiles_again(row)):
        if row is baseline.row:
            return None
        why_not = time.answer(lambda: framework.why.why_not_compiled(function))
        if not why_not:
            return None
        programs = time.answer(lambda: framework.why.programs_run(run), takes=a_call)
        return Facts(runs_compiled=False, why_not=why_not) if programs == 0 else None
    if setting := framework.why.switched_off():
        text = _("{setting} switches the compiler off.")
        return Facts(runs_compiled=False, why_not=text.format(setting=setting))
    programs = 1  # compiled ahead of time, it has no other code
    if row.build_seconds is None:
        programs = time.answer(lambda: framework.why.programs_run(run), takes=a_call)
    if programs == 0 and not subject.is_compiled:  # its programs are the framework's own
        programs = None
    if programs == 0:
        why_not = time.answer(lambda: framework.why.why_not_compiled(function))
        return Facts(runs_compiled=False, why_not=why_not or "")
    why_not = None
    if subject.explanation is not None and subject.explanation.fallbacks:
        why_not = time.answer(lambda: framework.why.limit_reached(function))
    facts = Facts(
        why_not=why_not or "",
        runs_compiled=None if programs is None else True,
        programs_run=programs,
    )
    if compiles_again(row) or _is_like_the_first(row):
        again = time.answer(lambda: framework.why.compiled_again(run), takes=a_call)
        return replace(facts, again=again)
    return facts


def _what_a_call_costs(
    subject: _Subject, baseline: _Subject, facts: Facts | None, time: _Time
) -> Facts | None:
    """What a call of compiled code has to do, and what that saves; None if no such code runs."""
    framework, a_call = subject.framework, subject.row.latency.seconds
    if framework is None or facts is None or facts.runs_compiled is False:
        return None
    is_entered_once = facts.programs_run in (None, 1)  # else there are several such times
    if facts.again is None and not compiles_again(subject.row) and is_entered_once:
        before = time.answer(lambda: framework.why.seconds_before(subject.run), takes=a_call)
        facts = replace(facts, before_seconds=before)
    explanation = subject.explanation
    if explanation is None:
        return facts
    if baseline.framework is framework and not baseline.is_compiled:
        facts = replace(
            facts,
            eager_operations=time.answer(lambda: framework.why.eager_operations(explanation)),
            eager_operation_seconds=time.answer(lambda: _quickest(framework.why.eager_operation())),
        )
    return _with_graphs(facts, explanation, time)


def _is_like_the_first(row: Row) -> bool:
    return row.latency.seconds >= LIKE_THE_FIRST * row.first_seconds


def _with_graphs(facts: Facts, explanation: Explanation, time: _Time) -> Facts:
    """How many graphs there are, where they end, and what they come to in numbers."""
    # A compiler that meets a line again, as in a loop, notes another break.
    by_line = {(one.file, one.line): one for one in reversed(explanation.breaks)}
    own = tuple(one for one in reversed(by_line.values()) if is_users(one.file))
    takes = explanation.recording.seconds if explanation.recording else 0.0
    program = time.answer(lambda: explanation.program, takes)
    graphs = explanation.graphs() if program else ()
    return replace(
        facts,
        graphs=explanation.graph_count,
        breaks=own,
        breaks_inside=len(by_line) - len(own),
        in_python=explanation.fallbacks,
        program=program,
        layout=next((graph.layout for graph in graphs if graph.layout), ""),
    )


def _quickest(operation: Callable[[], object] | None) -> float | None:
    """Seconds of the quickest of some calls; None if there is nothing to call."""
    if operation is None:
        return None
    times = []
    for _turn in range(CALLS_OF_AN_OPERATION):
        start = perf_counter()
        operation()
        times.append(perf_counter() - start)
    return min(times)
