"""An experiment: what is measured, how, and the rounds taken so far.

``compare``, ``measure`` and ``sweep`` make one and run it. A comparison whose claim is undecided
asks its experiment for more rounds.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.backends.base import INFERENCE
from d2lhybrid.backends.outputs import copy_outputs
from d2lhybrid.backends.variant import DeferredBuild, Variant, in_role
from d2lhybrid.backends.verb import running
from d2lhybrid.core.arguments import Args, Call, Kwargs
from d2lhybrid.core.i18n import general, gettext as _, names, noop as N_
from d2lhybrid.core.progress import show_status
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.measurement import Measurement
from d2lhybrid.measuring.provenance import environment
from d2lhybrid.measuring.rounds import OnTurn, Rounds
from d2lhybrid.measuring.row import Rows
from d2lhybrid.measuring.sampler import Sampler
from d2lhybrid.measuring.training_mode import training_mode_warnings
from d2lhybrid.timing import TimerFunction

if TYPE_CHECKING:  # it loads when a question is asked
    from d2lhybrid.graphs.facts import Facts

# An interval whose ends are closer than this factor is narrow enough to stop.
CLEAR_RATIO_OF_ENDS = 1.1
# The ends of an interval that is within 1% of its middle are closer than this factor.
PRECISE_RATIO_OF_ENDS = 1.02
MOST_SAMPLES = 100_000  # of a callable that is alone
# How long an undecided claim is measured on, by the time limit of the comparison:
CLAIM_LIMITS = 3.0  # for so many limits
CLAIM_LEAST_SECONDS = 20.0  # or for so many seconds, if that is longer
CLAIM_MOST_LIMITS = 30.0  # but never for more limits than these

# By label, and the arguments of each call.
Callables = tuple[Mapping[str, Callable[..., Any] | Call], Args, Kwargs]


@dataclass(eq=False, repr=False)
class Experiment:
    """Callables with their arguments, how they are measured, and the rounds taken so far.

    Its fields are what was handed over, so that it can be described and run again. ``run`` and
    ``measure_on`` take rounds; ``comparison`` and ``measurement`` say what was measured so far.
    """

    functions: Mapping[str, Callable[..., Any] | Call]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    baseline: str
    time_limit: float
    seed: int = 0
    check: bool | float = False
    margin: float = stats.MARGIN
    references: tuple[str, ...] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    build_timeout: float | None = None
    timer: TimerFunction = perf_counter
    progress: bool | None = None
    # A folder in which each label's first call keeps its programs apart; None: they keep theirs.
    cold_caches: Path | None = None
    # Does one of several processes do it? Then the verdicts are those of all, so none has to be
    # clear, but each ratio known to within 1%.
    is_one_of_several: bool = False
    on_turn: OnTurn | None = None
    rounds: Rounds = field(init=False)
    stopped: str = field(default="limit", init=False)  # why no more rounds were taken
    circumstance: str = field(default="", init=False)  # a sentence for the result
    facts: "dict[str, Facts]" = field(default_factory=dict, init=False)  # that were asked so far

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences about calls that answer another question than the reader's."""
        return tuple(training_mode_warnings(self.functions))

    def run(self) -> Comparison:
        """Call each once, warm up, and take rounds until every verdict is clear or time is up."""
        self._prepare()
        is_enough = is_precise if self.is_one_of_several else is_clear
        self.stopped = self.rounds.run(lambda: is_enough(self.comparison()), self.time_limit)
        return self.comparison()

    def run_alone(self) -> Measurement:
        """The same for the baseline without any other: until its median is known to within 1%."""
        self._prepare(is_alone=True)
        self.stopped = self.rounds.run(
            lambda: is_narrow(self.measurement(self.baseline)), self.time_limit, most=MOST_SAMPLES
        )
        return self.measurement(self.baseline)

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Take rounds until `decided` is true of the comparison, or until a claim's time is over.

        Returns the comparison of all rounds so far. An interrupt ends it with those.
        """
        longest = claim_seconds(self.time_limit)
        earliest = stats.ROUNDS_WITH_WIDER_INTERVALS.start  # a single question may be clear soon
        message = N_("the claim is undecided: measuring for up to {seconds} s more")

        def is_over() -> bool:
            return decided(self.comparison())

        with running(self.functions):
            if not is_over():  # by the rounds of an earlier claim
                with show_status(message, self.progress, seconds=general(longest)):
                    self.stopped = self.rounds.run(is_over, longest, earliest)
        return self.comparison()

    def comparison(self) -> Comparison:
        """What the rounds so far say."""
        rounds = self.rounds
        return Comparison(
            measurements=tuple(self.measurement(label) for label in rounds.samplers),
            baseline=self.baseline,
            baseline_repeat=rounds.baseline_repeat.samples(rounds.is_async),
            unavailable=dict(rounds.unavailable),
            references=self.references,
            deprecated=in_role("deprecated", self.functions),
            other_runtimes=in_role("runtime", self.functions),
            checked=self.check,
            seed=self.seed,
            stopped=self.stopped,
            margin=self.margin,
            limit_needed=rounds.limit_needed,
            facts=dict(self.facts),
            warnings=self.warnings,
            circumstance=self.circumstance,
            experiment=self,
        )

    def ask(self, rows: Rows, /) -> "dict[str, Facts]":
        """What is observed of its compiled variants; it is asked once, and kept."""
        if self.facts:
            return dict(self.facts)
        samplers = self.rounds.samplers.values()
        if any(map(Sampler.is_compiled, samplers)) or any(map(Sampler.is_refused, samplers)):
            from d2lhybrid.why.asking import ask

            with running(self.functions):
                self.facts = ask(self.rounds.samplers, rows, progress=self.progress)
        return dict(self.facts)

    def measurement(self, label: str) -> Measurement:
        """The times of one callable in the rounds so far."""
        return self.rounds.samplers[label].measurement(self.rounds.is_async, self.rounds.env)

    def _prepare(self, *, is_alone: bool = False) -> None:
        """Call each once, leave out what fails, and warm up the others."""
        samplers = {
            label: Sampler(label, self._call(function), self.timer)
            for label, function in self.functions.items()
        }
        draw = np.random.default_rng(self.seed)
        self.rounds = Rounds(
            samplers,
            self.baseline,
            environment(),
            draw,
            is_alone,
            unavailable={**self.unavailable},
            on_turn=self.on_turn,
            progress=self.progress,
        )
        self._start_compilers()
        self._call_each_once()
        self.rounds.prepare(self.time_limit)

    def _start_compilers(self) -> None:
        """Start what each needs before any is called, so that each is billed for the same start."""
        for sampler in self.rounds.samplers.values():
            for framework in loaded():
                name, took = framework.compiler.start(sampler.target.function)
                if name:
                    costs = replace(sampler.costs, compiler=name, compiler_seconds=took)
                    sampler.costs = costs

    def _separate_disk_caches(self, label: str, function: Callable[..., Any]) -> None:
        """Let no compiler find what it has compiled for another callable, but for this one."""
        if self.cold_caches:
            # A label may hold any character, so the folder has its hash.
            folder = self.cold_caches / sha256(label.encode()).hexdigest()[:16]
            folder.mkdir(exist_ok=True)
            for framework in loaded():
                framework.compiler.use_disk_cache(folder)
            if isinstance(function, DeferredBuild):
                function.shared = folder

    def _call(self, function: Callable[..., Any] | Call) -> Call:
        """What is called, with its own arguments, and after them those of all."""
        call = Call.of(function, self.args, self.kwargs)
        run = call.function
        # What runs a way, without the indirection that would be measured with it.
        return replace(call, function=run.run) if isinstance(run, Variant) else call

    def _call_each_once(self) -> None:
        """Call each once, the baseline first; leave out what fails or answers something else.

        Raises:
            D2LHybridError: the baseline fails.
        """
        expected: dict[str, Any] = {}  # the baseline's answer

        def call_once(sampler: Sampler) -> None:
            with show_status(N_("building {label}"), self.progress, label=sampler.label):
                self._separate_disk_caches(sampler.label, sampler.target.function)
                output = sampler.call_first(self.build_timeout)
            if self.check is not False:
                self._check(sampler, output, expected)

        samplers = self.rounds.samplers
        others = [sampler for label, sampler in samplers.items() if label != self.baseline]
        self.rounds.each([samplers[self.baseline], *others], call_once)

    def _check(self, sampler: Sampler, output: Any, expected: dict[str, Any]) -> None:
        """Hold an answer against that of the baseline, which comes first and becomes `expected`.

        Raises:
            DifferentAnswerError: it is another one.
        """
        from d2lhybrid.core.compare_outputs import incomparable, require_same

        is_baseline = sampler.label == self.baseline
        random = sampler.random or self.rounds.samplers[self.baseline].random
        if random:  # a compiler draws other numbers, so different losses prove nothing
            if not is_baseline:
                text = _("losses not compared, because random numbers are drawn in: {layers}")
                sampler.notes.append(text.format(layers=names(random)))
            return
        answer = copy_outputs(output)
        if left_out := ", ".join(incomparable(answer)):
            sampler.notes.append(_("not compared: {outputs}").format(outputs=left_out))
        if is_baseline:  # its second answer is held against the first
            expected.update(answer)
            with sampler.compilations.counting():
                output = sampler.call(1)
            answer = copy_outputs(output)
        tolerance = None if self.check is True else self.check
        inference = next((one.inference for one in sampler.waiting.frameworks), INFERENCE)
        require_same(sampler.label, self.baseline, answer, expected, tolerance, inference)


def claim_seconds(limit: float) -> float:
    """How long an undecided claim may be measured on, by the comparison's time limit."""
    longest = max(CLAIM_LIMITS * limit, CLAIM_LEAST_SECONDS)
    return min(longest, CLAIM_MOST_LIMITS * limit)


def is_clear(comparison: Comparison) -> bool:
    """Has each variant a verdict, and an interval that is narrow enough to read?

    The intervals of the references, and of the baseline against its own second turn, have to be as
    narrow.
    """
    return _are_ratios_within(CLEAR_RATIO_OF_ENDS, comparison) and not any(
        comparison.verdict(label, metric) == "undecided"
        for label in comparison.others
        for metric in ("latency", "throughput")
    )


def is_precise(comparison: Comparison) -> bool:
    """Is every ratio known to within 1%?"""
    is_busy = any(map(comparison.is_busy, comparison))
    return not is_busy and _are_ratios_within(PRECISE_RATIO_OF_ENDS, comparison)


def is_narrow(measured: Measurement) -> bool:
    """Is the median known to within 1% by latency and throughput?"""
    intervals = [measured.interval(metric) for metric in ("latency", "throughput")]
    return all(0 < high < PRECISE_RATIO_OF_ENDS * low for low, high in intervals)


def _are_ratios_within(width: float, comparison: Comparison) -> bool:
    """Are the ends of the interval of every ratio closer than this factor?"""
    ratios = [
        comparison.ratio(label, metric)
        for label in comparison
        for metric in ("latency", "throughput")
    ]
    return all(high <= width * low for _estimate, low, high in ratios)
