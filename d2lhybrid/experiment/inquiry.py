"""What is asked after the rounds about the rows whose time needs a reason: see ``why``.

Measuring has counted compilations. The rest is asked once, within a time limit: the graphs that the
compiler makes of a call, what entering compiled code costs, why one more call compiles a program,
and what converting arguments takes. A question that fails or has no time left is noted as unasked.
None of this changes what the user has compiled, and nothing is printed.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import monotonic
from typing import Any, TypeVar

import numpy as np

from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.interrupts import LimitExceeded, call_within
from d2lhybrid.core.output import quiet, silent
from d2lhybrid.core.pytree import leaves
from d2lhybrid.display.progress import show_status
from d2lhybrid.experiment.causes import compiles_again, is_like_the_first
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.fixed_costs import (
    conversion_seconds,
    converting_share,
    entry_of,
    quickest,
)
from d2lhybrid.experiment.rows import Row, Rows
from d2lhybrid.experiment.subject import Subject
from d2lhybrid.experiment.why import has_reason, need_reasons
from d2lhybrid.frameworks import find_framework
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.variant import Args
from d2lhybrid.graphs.explanation import Explanation, nothing_compiled
from d2lhybrid.graphs.program import counted

SECONDS = 10.0  # that all questions may take together
# That must be left for one to be asked: most take less, and one that is interrupted has no answer.
LEAST_SECONDS = 1.0
# A call that returns what was there before takes a tenth of this; the quickest operation of NumPy,
# which may write into an array that it returns each time, takes twice as long.
NOTHING_SECONDS = 2e-7
CALLS_TRIED = 20  # of what has reached the limit of its compilations
# What was asked, as it is called where there was no answer.
# Translators: these stand in "…, for these questions: its graphs; why a call …".
FRAMEWORK = N_("its framework")
BASELINE = N_("whether the baseline is eager")
AGAIN = N_("why a call compiles again")
GRAPHS = N_("its graphs")
EAGERLY = N_("whether its calls run eagerly")
ENTERING = N_("what entering compiled code costs")
CONVERTING = N_("what converting its arguments takes")

_logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")
Runs = Mapping[str, Callable[[], Any]]  # by label, a call of what was measured


def ask(
    functions: Mapping[str, Any],
    args: Args,
    kwargs: Mapping[str, Any],
    rows: Rows,
    *,
    labels: Iterable[str] | None = None,
    runs: Runs | None = None,
    seconds: float = SECONDS,
    progress: bool | None = None,
    clock: Callable[[], float] = monotonic,
) -> dict[str, Facts]:
    """Ask why variants take their time. An interrupt ends it with what has been answered.

    Args:
        functions, args, kwargs: as ``compare`` got them.
        rows: what was measured.
        labels: of which; of those that need a reason if None.
        runs: by label, one more call of what was measured, where it was built already.
        seconds: for all questions together, by `clock`.
        progress: say that it is done; None does so where the standard error is a terminal.

    Returns:
        Facts by label: of `labels`, or of those rows of which there is more to say than that they
        aren't compiled.
    """
    chosen = need_reasons(rows)
    if labels is not None:
        chosen = [row for row in rows.measured if row.label in labels]
    subjects = {
        row.label: Subject(functions, row, args, kwargs, (runs or {}).get(row.label))
        for row in rows.measured
    }
    inquiry = _Inquiry(subjects[rows.baseline.label], subjects, _Time(clock() + seconds, clock))
    found: dict[str, Facts] = {}
    with suppress(KeyboardInterrupt), show_status(N_("finding out why"), progress):
        for row in chosen:
            try:
                facts = inquiry.facts(row)
            except Exception:  # nothing that is asked may lose what was measured
                _logger.debug("%s", row.label, exc_info=True)
                continue
            if facts and (labels is not None or has_reason(replace(row, facts=facts))):
                found[row.label] = facts
    return found


@dataclass
class _Time:
    """The time there is for questions, which ends at `end` by `clock`, or at an interrupt."""

    end: float
    clock: Callable[[], float]
    unasked: list[str] = field(default_factory=list)  # without an answer so far

    def answer(
        self, question: str, ask: Callable[[], Answer], needs: float = LEAST_SECONDS
    ) -> Answer | None:
        """The answer to a question; None, with a note, if it fails or takes too long.

        `needs`: the seconds that it is likely to take, in native code that nothing interrupts.
        """
        left = self.end - self.clock()
        if left >= max(LEAST_SECONDS, needs):
            in_main_thread = threading.current_thread() is threading.main_thread()
            with quiet():
                try:
                    with silent(prints=True):
                        return call_within(left if in_main_thread else None, ask)
                except (KeyboardInterrupt, LimitExceeded):
                    self.end = self.clock()  # nothing more is asked
                except Exception:
                    _logger.debug("%s", question, exc_info=True)
        self.unasked.append(question)
        return None


@dataclass
class _Inquiry:
    """The questions about the rows of one comparison; what two rows share is asked once."""

    baseline: Subject
    subjects: Mapping[str, Subject]
    time: _Time
    explanations: dict[tuple[Any, ...], Explanation | None] = field(default_factory=dict)

    @cached_property
    def eager_framework(self) -> Framework | None:
        """The framework of which the baseline is eager code; None if it is anything else."""
        output = self.time.answer(BASELINE, self.baseline.run)
        framework = find_framework(output)
        if framework is None or self.baseline.is_hidden or self.baseline.is_compiled(framework):
            return None
        return framework

    def facts(self, row: Row) -> Facts | None:
        """What can be found out of a row; None if there is nothing to ask."""
        subject = self.subjects[row.label]
        is_quick = row.times["throughput"].seconds < NOTHING_SECONDS  # waiting may take longer
        if is_quick and _returns_the_same(subject.run):
            return Facts(computes_nothing=True)
        framework = self.time.answer(FRAMEWORK, subject.framework)
        self.time.unasked = []
        if framework is None or (subject.is_hidden and not compiles_again(row)):
            return None
        is_compiled = subject is not self.baseline and subject.is_compiled(framework)
        facts = Facts(is_compiled=is_compiled)
        if compiles_again(row) or (is_compiled and is_like_the_first(row)):
            facts = self._again(facts, subject, framework)
        if is_compiled:
            facts = self._with_answers(facts, subject, framework)
        elif subject is not self.baseline:
            reason = framework.why_never_compiled(subject.function)
            facts = replace(facts, not_compiled=nothing_compiled(reason) if reason else "")
        return replace(facts, unasked=tuple(dict.fromkeys(self.time.unasked)))

    def _with_answers(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """What there is to ask about something compiled, until a cause is found."""
        setting = framework.switched_off()
        if setting:
            reason = _("{setting} switches the compiler off").format(setting=setting)
            return replace(facts, graph_count=0, not_compiled=nothing_compiled(reason))
        facts = self._with_graphs(facts, subject, framework)
        facts = self._with_limit(facts, subject, framework)
        is_faster = subject.row.latency.shown_verdict == "faster"
        has_cause = facts.compiled_again or facts.not_compiled or facts.breaks or facts.fallbacks
        facts = self._with_conversions(facts, subject, framework)
        if (has_cause and not is_faster) or self.eager_framework is not framework:
            return facts
        facts = replace(facts, is_against_eager=True)
        facts = self._with_program(facts, subject, framework)
        return self._with_entering(facts, subject, framework, is_faster)

    def _again(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """Why one more call compiles a program."""
        again = self.time.answer(AGAIN, lambda: framework.compiled_again(subject.run))
        modes = _mixed_modes(subject, framework)
        return replace(facts, compiled_again=again, mixed_modes=modes)

    def _explanation(self, subject: Subject, framework: Framework) -> Explanation | None:
        arguments = [*enumerate(subject.args), *subject.kwargs.items()]
        key = id(subject.explained), *((name, id(argument)) for name, argument in arguments)
        if key not in self.explanations:
            self.explanations[key] = self.time.answer(
                GRAPHS,
                lambda: framework.explain(subject.explained, subject.args, {**subject.kwargs}),
            )
        elif self.explanations[key] is None:
            self.time.unasked.append(GRAPHS)
        return self.explanations[key]

    def _with_graphs(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """What the compiler makes of a call, and what it leaves to Python."""
        explanation = self._explanation(subject, framework)
        if explanation is None:
            return facts
        if subject.is_ahead:  # from one graph, or it couldn't be built
            return replace(facts, graph_count=explanation.graph_count)
        # What has compiled a program in its first call, and none since, runs that, although others
        # that share its code have reached the limit. A way has programs of its own.
        row = subject.row
        has_own_program = subject.way is not None or bool(row.first_compilations)
        is_within_limit = has_own_program and not row.later_compilations
        fallbacks = [
            finding
            for finding in explanation.fallbacks
            if not (finding.is_limit and is_within_limit)
        ]
        is_refused = bool(explanation.unsupported)
        # What has compiled a program is compiled, even if its graphs cannot be found.
        has_none = not (explanation.graph_count or is_refused or row.first_compilations)
        return replace(
            facts,
            graph_count=explanation.graph_count,
            breaks=explanation.breaks if explanation.graph_count else (),
            fallbacks=tuple(fallbacks) if explanation.graph_count else (),
            unsupported=explanation.unsupported,
            not_compiled=next(iter(explanation.notes), "") if has_none else "",
        )

    def _with_limit(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """How many calls run no program of what has reached the limit; no limit if all run one.

        What has several graphs may run some of them.
        """
        if facts.graph_count != 1 or not any(finding.is_limit for finding in facts.fallbacks):
            return facts
        tried = self.time.answer(
            EAGERLY, lambda: [framework.runs_eagerly(subject.run) for _call in range(CALLS_TRIED)]
        )
        if not tried or None in tried:
            return facts
        if not any(tried):
            others = [finding for finding in facts.fallbacks if not finding.is_limit]
            return replace(facts, fallbacks=tuple(others))
        return replace(facts, calls_tried=CALLS_TRIED, calls_in_python=sum(map(bool, tried)))

    def _with_program(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """The graphs of a call, counted."""
        explanation = self._explanation(subject, framework)
        if explanation is None or not explanation.graph_count:
            return facts
        if subject.is_ahead and explanation.graph_count > 1:
            return facts
        took = max(subject.row.build_seconds or 0.0, subject.row.first_seconds or 0.0)
        needs = took if framework.compiles_graphs else LEAST_SECONDS
        graphs = self.time.answer(GRAPHS, explanation.graphs, needs)
        program = counted(graphs) if graphs else None
        if graphs is None or program is None:
            return facts
        return replace(
            facts,
            program=program,
            layout=next((graph.layout for graph in graphs if graph.layout), ""),
            eager_calls=framework.eager_calls(subject.model, program.recorded),
        )

    def _with_entering(
        self, facts: Facts, subject: Subject, framework: Framework, is_faster: bool
    ) -> Facts:
        """What entering costs if the row isn't faster, and a call of the smallest model, eager.

        If the framework cannot tell what entering costs, the smallest model is compiled, too. What
        was compiled ahead of time is entered in ways of its own, which nobody asks for.
        """
        tensors = subject.tensors(framework)
        if not tensors:  # it holds its own
            tensors = [framework.from_host(HostArray.of(np.ones(1, np.float32)), {})]
        needs_compiled = not (is_faster or subject.is_ahead)
        entering: float | None = None
        if needs_compiled:
            entering = self.time.answer(ENTERING, lambda: framework.entering_seconds(subject.run))
        entry = self.time.answer(
            ENTERING,
            partial(entry_of, subject, framework, tensors, needs_compiled and entering is None),
        )
        if entry is None:
            return replace(facts, entry_seconds=entering)
        return replace(
            facts,
            entry_seconds=entry.compiled if entering is None else entering,
            eager_entry_seconds=entry.eager,
            entry_tensors=len(tensors),
        )

    def _with_conversions(self, facts: Facts, subject: Subject, framework: Framework) -> Facts:
        """The arguments that each call converts or moves, and what that takes."""
        arguments = subject.named_arguments
        arrays = [name for name, argument in arguments if isinstance(argument, np.ndarray)]
        if arrays and framework.takes_arrays:
            took = self.time.answer(CONVERTING, partial(conversion_seconds, subject, framework))
            if took:
                return replace(facts, converted=tuple(arrays), converted_seconds=took)
        if framework.conversions and not subject.is_ours:
            # What runs in Python for the compiler may convert by itself.
            by_user = bool(facts.fallbacks)
            ask = partial(converting_share, subject, framework, by_user)
            share = self.time.answer(CONVERTING, ask)
            took = (share or 0.0) * subject.row.latency.seconds
            facts = replace(facts, converted=tuple(arrays), converted_seconds=took)
        on_host = [
            (name, argument)
            for name, argument in arguments
            if framework.is_tensor(argument) and not framework.is_accelerated(argument)
        ]
        if not (on_host and framework.accelerators()):
            return facts
        output = self.time.answer(CONVERTING, subject.run)
        results = [leaf for _path, leaf in leaves(output) if framework.is_tensor(leaf)]
        if not any(map(framework.is_accelerated, results)):
            return facts
        copies = [partial(framework.to_host, tensor) for _name, tensor in on_host]
        copying = self.time.answer(CONVERTING, lambda: sum(map(quickest, copies)))
        moved = tuple(name for name, _tensor in on_host)
        return replace(facts, moved=moved, converted_seconds=copying)


def _returns_the_same(run: Callable[[], Any]) -> bool:
    """Does each call return the same objects? Numbers and texts may be the same by themselves."""
    first, second = ([leaf for _path, leaf in leaves(run())] for _turn in range(2))
    kinds = (bool, int, float, complex, str, bytes, np.generic, type(None))
    are_objects = bool(first) and not any(isinstance(leaf, kinds) for leaf in first)
    return are_objects and [*map(id, first)] == [*map(id, second)]


def _mixed_modes(subject: Subject, framework: Framework) -> tuple[str, ...]:
    """The arguments that were made in a mode, where there are others."""
    named = [pair for pair in subject.named_arguments if framework.is_tensor(pair[1])]
    modes = [framework.mode_of(tensor) for _name, tensor in named]
    if len({*modes}) < 2:
        return ()
    return tuple(name for (name, _tensor), mode in zip(named, modes, strict=True) if mode)
