"""What is asked after the rounds, of the rows whose time needs a reason: see ``why``.

Measuring has counted compilations. The rest is asked once, for so many seconds: the graphs that the
compiler makes of a call, what entering compiled code costs, why one more call compiles a program,
what converting arguments takes. What has no time left, or fails, is noted as unasked. Nothing of it
changes what the user has compiled, and nothing is printed.
"""

import logging
import statistics
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from time import monotonic, perf_counter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from d2lhybrid.core.arguments import Call
from d2lhybrid.core.host_array import HostArray, dtype_and_shape
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.interrupts import interrupt_after
from d2lhybrid.core.output import quiet, silent
from d2lhybrid.core.pytree import leaves
from d2lhybrid.display.progress import show_status
from d2lhybrid.experiment.causes import compiles_again, is_like_the_first
from d2lhybrid.experiment.facts import Facts
from d2lhybrid.experiment.provenance import environment
from d2lhybrid.experiment.rounds import Rounds, StoppingRule
from d2lhybrid.experiment.rows import Row, Rows
from d2lhybrid.experiment.sampler import Sampler
from d2lhybrid.experiment.variants import Variants, way_of
from d2lhybrid.experiment.why import need_reasons
from d2lhybrid.frameworks import find_framework
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.variant import Args, DeferredBuild, Function
from d2lhybrid.graphs.explanation import Explanation
from d2lhybrid.graphs.program import counted

SECONDS = 10.0  # that all questions may take together
# That must be left for one to be asked: most take less, and one that is interrupted has no answer.
LEAST_SECONDS = 2.0
ENTERING_SECONDS = 0.3  # of the rounds that measure what entering costs
COPIES = 5  # of an argument, of which the quickest counts
# A call that returns what was there before takes a tenth of this; the quickest operation of NumPy,
# which may write into an array that it returns each time, takes twice as long.
NOTHING_SECONDS = 2e-7
# What was asked, as it is called where there was no answer.
BASELINE = N_("whether the baseline is eager")
AGAIN = N_("why a call compiles again")
GRAPHS = N_("its graphs")
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
        Facts by label, of the rows that were asked anything.
    """
    chosen = need_reasons(rows)
    if labels is not None:
        chosen = [row for row in rows.measured if row.label in labels]
    subjects = {
        row.label: _Subject(functions, row, args, kwargs, (runs or {}).get(row.label))
        for row in rows.measured
    }
    inquiry = _Inquiry(subjects[rows.baseline.label], subjects, _Time(clock() + seconds, clock))
    found: dict[str, Facts] = {}
    with suppress(KeyboardInterrupt), show_status(N_("finding out why"), progress):
        for row in chosen:
            try:
                facts = inquiry.facts(row)
            except Exception:  # nothing that is asked may lose what was measured
                _logger.debug("%s: nothing found out", row.label, exc_info=True)
                continue
            if facts is not None:
                found[row.label] = facts
    return found


@dataclass
class _Time:
    """The time there is for questions, which ends at `end` by `clock`, or at an interrupt."""

    end: float
    clock: Callable[[], float]
    unasked: list[str] = field(default_factory=list)  # without an answer so far

    def answer(self, question: str, ask: Callable[[], Answer]) -> Answer | None:
        """The answer to a question; None, with a note, if it fails or takes too long."""
        left = self.end - self.clock()
        if left >= LEAST_SECONDS:
            in_main_thread = threading.current_thread() is threading.main_thread()
            with quiet():
                try:
                    with (
                        interrupt_after(left if in_main_thread else None),
                        silent(prints=True),
                    ):
                        return ask()
                except KeyboardInterrupt:
                    self.end = self.clock()  # nothing more is asked
                except Exception:
                    _logger.debug("%s: no answer", question, exc_info=True)
        self.unasked.append(question)
        return None


class _Subject:
    """The callable of a row with its arguments, and how it is compiled."""

    def __init__(
        self,
        functions: Mapping[str, Any],
        row: Row,
        args: Args,
        kwargs: Mapping[str, Any],
        run: Callable[[], Any] | None,
    ) -> None:
        function = functions[row.label]
        inside = function if isinstance(function, Call) else Call(function, (), {})
        self.row = row
        self.call = inside.with_more(args, kwargs)
        self.function = self.call.function
        self.args, self.kwargs = self.call.args, self.call.kwargs
        self.way = way_of(self.function)
        self.is_ours = self.way is not None or (
            isinstance(functions, Variants) and row.label in functions.code
        )
        self.run = run or partial(self.function, *self.args, **self.kwargs)

    @property
    def framework(self) -> Framework | None:
        """That of the model or function, or of its arguments."""
        return find_framework(self.model, self.args, self.kwargs)

    @property
    def is_ahead(self) -> bool:
        """Is it compiled ahead of time, so that a program is loaded and nothing traced?"""
        return isinstance(self.function, DeferredBuild) and self.function.ahead

    def is_compiled(self, framework: Framework) -> bool:
        """Is it, as far as one can see, or as its first call compiled a program?"""
        if self.is_ours:
            return self.way is not None and self.way.explained is not None
        has_compiled = bool(self.row.first_compilations) and not framework.compiles_operations
        return has_compiled or framework.is_compiled(self.function)

    @property
    def explained(self) -> Function:
        """What has its graphs."""
        explained = self.way.explained if self.way else None
        return explained or self.function

    @property
    def model(self) -> Function:
        """The model that it runs, uncompiled if that is known."""
        return self.way.model if self.way else self.function

    def tensors(self, framework: Framework) -> list[Any]:
        """Those of its arguments."""
        inputs = leaves([self.args, self.kwargs])
        return [leaf for _path, leaf in inputs if framework.is_tensor(leaf)]

    @property
    def named_arguments(self) -> list[tuple[str, Any]]:
        """Its arguments, each with what a reader calls it."""
        text = _("argument {number}")
        by_position = [(text.format(number=n), arg) for n, arg in enumerate(self.args, 1)]
        return [*by_position, *self.kwargs.items()]

    def smallest(
        self, framework: Framework, tensors: Sequence[Any]
    ) -> tuple[Function, Function | None]:
        """The smallest model of its kind: eager, and compiled in the same way if there is one."""
        model = framework.add_one(self.model)
        if self.way is None:
            return model, framework.compiled_like(self.function, model)
        by_name = framework.variants(
            model,
            (*tensors,),
            {},
            include_expert=True,
            compiler_options=self.way.compiler_options,
        )
        eager, same = by_name["eager"].run, by_name[self.way.name].run
        compiled = None if isinstance(same, str) else same  # a text says why there is none
        return model if isinstance(eager, str) else eager, compiled


class _Entry(NamedTuple):
    """Seconds of a call of the smallest model, compiled in the same way and eager."""

    compiled: float | None
    eager: float


_entries: dict[tuple[Any, ...], _Entry] = {}  # of variants, which are the same at each comparison


@dataclass
class _Inquiry:
    """The questions about the rows of one comparison; what two rows share is asked once."""

    baseline: _Subject
    subjects: Mapping[str, _Subject]
    time: _Time
    explanations: dict[int, Explanation | None] = field(default_factory=dict)

    @cached_property
    def eager_framework(self) -> Framework | None:
        """The framework of which the baseline is eager code; None if it is anything else."""
        output = self.time.answer(BASELINE, self.baseline.run)
        framework = find_framework(output)
        if framework is None or self.baseline.is_compiled(framework):
            return None
        return framework

    def facts(self, row: Row) -> Facts | None:
        """What can be found out of a row; None if there is nothing to ask."""
        subject = self.subjects[row.label]
        if row.latency.seconds < NOTHING_SECONDS and _returns_the_same(subject.run):
            return Facts(computes_nothing=True)
        framework, self.time.unasked = subject.framework, []
        if framework is None:
            return None
        is_compiled = subject is not self.baseline and subject.is_compiled(framework)
        facts = Facts()
        if compiles_again(row) or (is_compiled and is_like_the_first(row)):
            facts = self._again(subject, framework)
        elif not is_compiled:
            return None
        if is_compiled:
            facts = self._with_answers(facts, subject, framework)
        return replace(facts, unasked=tuple(dict.fromkeys(self.time.unasked)))

    def _with_answers(self, facts: Facts, subject: _Subject, framework: Framework) -> Facts:
        """What there is to ask about something compiled, until a cause is found."""
        facts = self._with_graphs(facts, subject, framework)
        is_faster = subject.row.latency.shown_verdict == "faster"
        has_cause = facts.compiled_again or facts.not_compiled or facts.breaks or facts.fallbacks
        if has_cause and not is_faster:
            return facts
        facts = self._with_conversions(facts, subject, framework)
        if self.eager_framework is not framework:
            return facts
        facts = replace(facts, is_against_eager=True)
        facts = self._with_program(facts, subject, framework)
        return self._with_entering(facts, subject, framework, is_faster)

    def _again(self, subject: _Subject, framework: Framework) -> Facts:
        """Why one more call compiles a program."""
        again = self.time.answer(AGAIN, lambda: framework.compiled_again(subject.run))
        return Facts(compiled_again=again, mixed_modes=_mixed_modes(subject, framework))

    def _explanation(self, subject: _Subject, framework: Framework) -> Explanation | None:
        key = id(subject.explained)
        if key not in self.explanations:
            self.explanations[key] = self.time.answer(
                GRAPHS,
                lambda: framework.explain(subject.explained, subject.args, {**subject.kwargs}),
            )
        elif self.explanations[key] is None:
            self.time.unasked.append(GRAPHS)
        return self.explanations[key]

    def _with_graphs(self, facts: Facts, subject: _Subject, framework: Framework) -> Facts:
        """What the compiler makes of a call, and what it leaves to Python."""
        explanation = self._explanation(subject, framework)
        if explanation is None:
            return facts
        if subject.is_ahead:  # from one graph, or it couldn't be built
            return replace(facts, graph_count=explanation.graph_count)
        # A way has programs of its own, and one that its first call made is not over the limit.
        fallbacks = [
            finding
            for finding in explanation.fallbacks
            if not (finding.is_limit and subject.way and not subject.row.later_compilations)
        ]
        is_refused = bool(explanation.unsupported)
        # What has compiled a program is compiled, even if its graphs cannot be found.
        has_none = not (explanation.graph_count or is_refused or subject.row.first_compilations)
        return replace(
            facts,
            graph_count=explanation.graph_count,
            breaks=explanation.breaks if explanation.graph_count else (),
            fallbacks=tuple(fallbacks) if explanation.graph_count else (),
            unsupported=explanation.unsupported,
            not_compiled=next(iter(explanation.notes), "") if has_none else "",
        )

    def _with_program(self, facts: Facts, subject: _Subject, framework: Framework) -> Facts:
        """The graphs of a call, counted."""
        explanation = self._explanation(subject, framework)
        if explanation is None or not explanation.graph_count:
            return facts
        if subject.is_ahead and explanation.graph_count > 1:
            return facts
        graphs = self.time.answer(GRAPHS, explanation.graphs)
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
        self, facts: Facts, subject: _Subject, framework: Framework, is_faster: bool
    ) -> Facts:
        """What a call of the smallest model takes, eager, and compiled if the row isn't faster.

        What was compiled ahead of time is entered in ways of its own, which nobody asks for.
        """
        tensors = subject.tensors(framework)
        if not tensors:
            return facts
        needs_compiled = not (is_faster or subject.is_ahead)
        entry = self.time.answer(
            ENTERING, partial(_entry, subject, framework, tensors, needs_compiled)
        )
        if entry is None:
            return facts
        return replace(
            facts,
            entry_seconds=entry.compiled,
            eager_entry_seconds=entry.eager,
            entry_tensors=len(tensors),
        )

    def _with_conversions(self, facts: Facts, subject: _Subject, framework: Framework) -> Facts:
        """The arguments that each call converts or moves, and what that takes."""
        arguments = subject.named_arguments
        arrays = [name for name, argument in arguments if isinstance(argument, np.ndarray)]
        if arrays and framework.takes_arrays:
            took = self.time.answer(CONVERTING, partial(_conversion_seconds, subject, framework))
            return replace(facts, converted=tuple(arrays), converted_seconds=took)
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
        took = self.time.answer(CONVERTING, lambda: sum(map(_quickest, copies)))
        moved = tuple(name for name, _tensor in on_host)
        return replace(facts, moved=moved, converted_seconds=took)


def _returns_the_same(run: Callable[[], Any]) -> bool:
    """Does each call return the same objects? Numbers and texts may be the same by themselves."""
    first, second = ([leaf for _path, leaf in leaves(run())] for _turn in range(2))
    kinds = (bool, int, float, complex, str, bytes, np.generic, type(None))
    are_objects = bool(first) and not any(isinstance(leaf, kinds) for leaf in first)
    return are_objects and [*map(id, first)] == [*map(id, second)]


def _mixed_modes(subject: _Subject, framework: Framework) -> tuple[str, ...]:
    """The arguments that were made in a mode, where there are others."""
    named = [pair for pair in subject.named_arguments if framework.is_tensor(pair[1])]
    modes = [framework.mode_of(tensor) for _name, tensor in named]
    if len({*modes}) < 2:
        return ()
    return tuple(name for (name, _tensor), mode in zip(named, modes, strict=True) if mode)


def _of_one_element(tensor: Any) -> Any:
    """The first element of a tensor, with its dtype, on its device, with as many dimensions."""
    _dtype, shape = dtype_and_shape(tensor)
    return tensor[tuple(slice(0, 1) for _axis in shape)] if shape else tensor


def _entry(
    subject: _Subject, framework: Framework, tensors: Sequence[Any], needs_compiled: bool
) -> _Entry:
    """What a call of the smallest model takes, with one element of each of these tensors."""
    tensors = [_of_one_element(tensor) for tensor in tensors]
    key: tuple[Any, ...] = ()
    if subject.way is not None:
        kinds = [dtype_and_shape(tensor) for tensor in tensors]
        options = sorted(map(repr, subject.way.compiler_options.items()))
        places = [framework.is_accelerated(tensor) for tensor in tensors]
        name, kind = subject.way.name, type(subject.model)
        key = (framework.name, name, kind, needs_compiled, *options, *kinds, *places)
    if key and key in _entries:
        return _entries[key]
    eager, compiled = subject.smallest(framework, tensors)
    functions = {"eager": eager}
    if compiled is not None and needs_compiled:
        functions["compiled"] = compiled
    times = _seconds_of({label: Call(run, (*tensors,), {}) for label, run in functions.items()})
    entry = _Entry(times.get("compiled"), times["eager"])
    if key:
        _entries[key] = entry
    return entry


def _seconds_of(calls: Mapping[str, Call]) -> dict[str, float]:
    """The latencies of these, in a few rounds of their own."""
    samplers = {label: Sampler(label, call, perf_counter) for label, call in calls.items()}
    rounds = Rounds(samplers, next(iter(calls)), environment())
    rounds.each([*samplers.values()], lambda sampler: sampler.call_first())
    rounds.prepare(ENTERING_SECONDS, 20)
    if rounds.run(StoppingRule(ENTERING_SECONDS, lambda: False)) == "interrupted":
        raise KeyboardInterrupt
    measured = {label: s.samples(rounds.is_async) for label, s in rounds.samplers.items()}
    return {label: statistics.median(times.of()) for label, times in measured.items()}


def _conversion_seconds(subject: _Subject, framework: Framework) -> float:
    """What a call takes longer with NumPy arrays than with tensors made of them before."""

    def converted(argument: Any) -> Any:
        is_array = isinstance(argument, np.ndarray)
        return framework.from_host(HostArray.of(argument), {}) if is_array else argument

    args = tuple(map(converted, subject.args))
    kwargs = {name: converted(argument) for name, argument in subject.kwargs.items()}
    calls = {"arrays": subject.call, "tensors": Call(subject.function, args, kwargs)}
    times = _seconds_of(calls)
    return max(0.0, times["arrays"] - times["tensors"])


def _quickest(copy: Callable[[], Any]) -> float:
    """Seconds of the quickest of a few copies."""
    times = []
    for _turn in range(COPIES):
        start = perf_counter()
        copy()
        times.append(perf_counter() - start)
    return min(times)
