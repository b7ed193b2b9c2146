"""What ``compare`` and ``sweep`` return: what was measured, what follows, how it is shown."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol, overload

import msgspec

from d2lhybrid.core import stats
from d2lhybrid.core.arguments import unknown_label
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.stats import Estimate
from d2lhybrid.core.toolchain import require
from d2lhybrid.core.usage import written_as
from d2lhybrid.display.table import NEVER
from d2lhybrid.experiment import advice, drawn, shown
from d2lhybrid.experiment.claim import SENSES, Claim, Judgement, Judgements, judge
from d2lhybrid.experiment.measurement import (
    AGREE,
    METRICS,
    NOISY_FLOOR,
    Measurement,
    Result,
    Samples,
    Seconds,
)
from d2lhybrid.experiment.provenance import Environment
from d2lhybrid.experiment.rows import Row, Rows, Times
from d2lhybrid.experiment.verdict import (
    busy_bound,
    decide_verdict,
    decide_while_busy,
    in_each,
)
from d2lhybrid.why.facts import Facts
from d2lhybrid.why.rules import Reason, Reasons, reason, reasons

# What a result shows, for programs that read notebooks: the site, README, whoever collects them.
MIME = "application/vnd.d2lhybrid.comparison+json"


CLAIMS = "claim('compiled', 'faster')", "claim('compiled', 'faster', at_least=1.5)"


def _misclaimed(given: Mapping[str, Any]) -> str:
    is_swapped = given["label"] in SENSES and given["sense"] not in SENSES
    return _("The variant comes first, then what you claim.") if is_swapped else ""


def _no_list(given: Mapping[str, Any]) -> str:
    is_one = isinstance(given["labels"], str)
    return _("The labels come in a list.") if is_one else ""


class MeasuresOn(Protocol):
    """What a comparison came from, as far as it can take more rounds and answer questions."""

    def measure_on(self, decided: "Callable[[Comparison], bool]", /) -> "Comparison":
        """Take rounds until `decided` is true of the result, or for so long; all rounds so far."""

    def ask(self, rows: Rows, /) -> dict[str, Facts]:
        """What is observed of its compiled variants."""


@dataclass(frozen=True, repr=False)
class Comparison(Result, Mapping[str, Measurement]):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Sample i of every measurement is from round i, and so is sample i of `baseline_repeat`, the
    baseline's second turn in that round, which gives the noise floor. `unavailable` says why a
    variant was not measured. `references` are programs to compare with, not to choose from,
    `deprecated` the variants that their makers have deprecated, and `other_runtimes` those that run
    in a package other than the framework. `stopped` is 'clear', 'limit' or
    'interrupted'; `limit_needed` is the time limit, in seconds, that six rounds would have needed,
    or None if there are six.

    `processes` are the comparisons of the fresh processes, if any were asked for. Then sample i of
    every measurement is the median of process i, one-time costs are those of the first, and a
    ratio has one value per process: the median over its rounds.

    `facts` holds, by label, what was observed of the compiled variants.

    `warnings` are sentences about calls that answer another question, such as those of a model in
    training mode.

    `circumstance` is a sentence on how it was measured, if that isn't as usual, such as with one
    thread. `took` are the seconds of all of it, with building, first calls and warm-up.

    `experiment` can take more rounds for an undecided claim, and keeps the callables and their
    arguments for that. It isn't part of the data: equality, JSON, copies and pickles leave it out.

    >>> from d2lhybrid import compare
    >>> functions = {"sum": sum, "max": max}
    >>> result = compare(functions, range(9), check=False, time_limit=0.3, progress=False)
    >>> list(result), result.baseline
    (['sum', 'max'], 'sum')
    >>> Comparison.from_json(result.to_json()) == result
    True
    """

    measurements: tuple[Measurement, ...]
    baseline: str
    baseline_repeat: Samples
    unavailable: dict[str, str] = field(hash=False)
    references: tuple[str, ...]
    deprecated: tuple[str, ...]
    other_runtimes: tuple[str, ...]
    checked: Seconds | bool
    seed: int
    stopped: str
    margin: Seconds = stats.MARGIN
    limit_needed: Seconds | None = None
    processes: "tuple[Comparison, ...]" = ()
    facts: dict[str, Facts] = field(default_factory=dict, hash=False)
    warnings: tuple[str, ...] = ()
    circumstance: str = ""
    took: Seconds | None = field(default=None, compare=False)
    experiment: MeasuresOn | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError unless every measurement went through the same rounds."""
        times = [self.baseline_repeat, *(m.times for m in self.measurements)]
        kinds = {(samples.rounds, samples.throughput is None) for samples in times}
        is_short = self.processes and len(self.processes) != self.baseline_repeat.rounds
        if is_short or len(kinds) > 1 or self.baseline not in {m.label for m in self.measurements}:
            raise ValueError(_("rounds are missing"))

    def __getitem__(self, label: str) -> Measurement:
        for measurement in self.measurements:
            if measurement.label == label:
                return measurement
        raise unknown_label(label, self, self.unavailable)

    def __iter__(self) -> Iterator[str]:
        return iter([measurement.label for measurement in self.measurements])

    def __len__(self) -> int:
        return len(self.measurements)

    def __getstate__(self) -> dict[str, Any]:
        data = {each.name: getattr(self, each.name) for each in fields(self)}
        return data | {"experiment": None}

    def __repr__(self) -> str:
        return str(shown.comparison(self.rows))

    def _repr_html_(self) -> str:
        return shown.comparison(self.rows).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {MIME: self.summary()}

    def _plain(self) -> dict[str, Any]:
        content: dict[str, Any] = msgspec.to_builtins(self.release())
        del content["experiment"]
        content["processes"] = [process._plain() for process in self.processes]
        return content

    def _derived(self) -> dict[str, Any]:
        return {"summary": self.summary()}

    def release(self) -> "Comparison":
        """The same comparison without its experiment, so it keeps no models and inputs alive.

        Claims on it use only the rounds that were taken.
        """
        return replace(self, experiment=None)

    @property
    def others(self) -> list[str]:
        """The variants: all labels except the baseline and the references."""
        return [label for label in self if self._role(label) == "variant"]

    @property
    def env(self) -> Environment:
        """Where and when it was measured."""
        return self.measurements[0].env

    @property
    def rounds(self) -> int:
        """How many rounds there were, in all processes."""
        return sum(process.rounds for process in self.processes) or self.baseline_repeat.rounds

    @property
    def disturbed_rounds(self) -> int:
        """In how many rounds other programs held up at least one of the callables."""
        if self.processes:
            return sum(process.disturbed_rounds for process in self.processes)
        turns = [self.baseline_repeat, *(m.times for m in self.measurements)]
        return len({at for samples in turns for at in samples.disturbed})

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that add information: 'latency', and others that differ from it."""
        pairs = [(m.median, m.median_of("throughput")) for m in self.measurements]
        apart = any(max(pair) > (1 + AGREE) * min(pair) for pair in pairs)
        says = {"latency": True, "throughput": apart, "device": bool(self.baseline_repeat.device)}
        return tuple(metric for metric in METRICS if says[metric])

    @property
    def noise_floor(self) -> float:
        """How far a ratio must be from 1 to count, as a fraction (0.01 is 1%), by latency."""
        return self.floor_of()

    def floor_of(self, metric: str | None = None) -> float:
        """The noise floor by a metric: how far the baseline's ratio to itself reaches from 1."""
        return stats.noise_floor(self.log_ratios(self.baseline, metric))

    def is_busy(self, label: str, against: str | None = None) -> bool:
        """Did other programs hold up these two so often that nothing can be decided?

        This is so if fewer than six undisturbed rounds, or processes, are left. If an operation can
        use several threads, at least half of the rounds have to be left.
        """
        if self.processes:
            left = len(self._quiet_processes(label, against))
            return left < self._enough_processes
        mine, its = self._pair(label, against)
        return mine.is_busy(self.env, its)

    @property
    def busy(self) -> bool:
        """Did other programs leave the verdict on some variant undecided?"""
        if not self.others:
            return any(map(self.is_busy, self))
        held_up = filter(self.is_busy, self.others)
        return any(self.verdict(label) == "undecided" for label in held_up)

    @property
    def noisy(self) -> bool:
        """Do times vary by more than 20% by themselves, without other programs interfering?"""
        return not self.busy and NOISY_FLOOR < self.noise_floor < math.inf

    def _pair(self, label: str, against: str | None) -> tuple[Samples, Samples]:
        """The samples of this one, and those that they are set against.

        Those of the baseline itself are set against its own second turns.
        """
        other = self.baseline if against is None else against
        is_repeat = label == other == self.baseline
        samples = self.baseline_repeat if is_repeat else self[label].times
        return samples, self[other].times

    @property
    def _enough_processes(self) -> int:
        return min(stats.FEWEST, len(self.processes))

    def _quiet_processes(self, label: str, against: str | None) -> "list[Comparison]":
        """The processes in which there were enough undisturbed rounds of these two."""
        for name in (label, self.baseline if against is None else against):
            _row = self[name]  # raises if it was left out
        return [each for each in self.processes if not each.is_busy(label, against)]

    def _used_processes(self, label: str, against: str | None = None) -> "list[Comparison]":
        """The quiet processes, on which the ratio rests; all, if those are too few."""
        quiet = self._quiet_processes(label, against)
        return quiet if len(quiet) >= self._enough_processes else [*self.processes]

    def log_ratios(
        self, label: str, metric: str | None = None, against: str | None = None
    ) -> list[float]:
        """The logarithms of the ratios that decide everything: one per round, or per process."""
        if self.processes:
            return [
                statistics.median(process.log_ratios(label, metric, against))
                for process in self._used_processes(label, against)
            ]
        mine, its = self._pair(label, against)
        return its.log_ratios(mine, metric)

    def confidence(self, label: str, against: str | None = None) -> float:
        """The confidence level of the ratio's interval, as a fraction, such as 0.95.

        In one process, it is 0.99 for 8 to 19 rounds, and 0.95 otherwise. For several processes, it
        follows from the order statistics, such as 0.969 for six. It is 0 if there are too few for
        an interval.
        """
        count = len(self.log_ratios(label, None, against))
        if self.processes:
            return stats.coverage(count)
        return stats.confidence(count)

    @property
    def advice(self) -> str:
        """What to use, by the rules in ``d2lhybrid.experiment.advice``."""
        return advice.advice(self.rows)

    @written_as("ratio('compiled')", "ratio('compiled', metric='throughput')")
    def ratio(self, label: str, metric: str | None = None, against: str | None = None) -> Estimate:
        """Time of the baseline (or `against`) over this one's: (estimate, low, high).

        Above 1 is faster. The estimate is the median of the ratios within each round, and the
        interval that of the sign test: 95%, or 99% for 8 to 19 rounds; for fewer than six rounds it
        is infinite. It holds in this process. For several processes, the estimate is the median of
        their ratios, and the interval comes from order statistics: for six processes it reaches
        from the lowest to the highest (97%), for ten from the second to the ninth (98%), and for
        fewer than six it is infinite. It assumes nothing about how processes differ (Conover,
        *Practical Nonparametric Statistics*, 3.2). For the baseline itself, it is the ratio of its
        two turns.
        """
        logarithms = self.log_ratios(label, metric, against)
        if self.processes:
            return stats.ratio(logarithms, stats.CONFIDENCE)
        return stats.ratio(logarithms, stats.confidence(len(logarithms)))

    def ends_while_busy(
        self, label: str, metric: str | None = None, against: str | None = None
    ) -> tuple[float, float]:
        """Between what the ratio lies of two that other programs held up: (low, high).

        With one thread, waiting moves a ratio by no more than ``busy_bound``, so this is the
        interval of all rounds, of each process if there are six or more, wider by that at each end.
        Threads that wait for each other can move it anywhere: from 0 to infinity.
        """
        if {*self.env.threads.values()} != {1} or 0 < len(self.processes) < stats.FEWEST:
            return 0.0, math.inf
        # Where too few rounds were left, ``ratio`` rests on all of them.
        ratios = [each.ratio(label, metric, against) for each in self.processes or (self,)]
        low, high = min(low for _, low, _ in ratios), max(high for *_, high in ratios)
        bound = busy_bound(self.env.threads)
        return low / bound, high * bound

    def range_of_processes(
        self, label: str, metric: str | None = None
    ) -> tuple[float, float] | None:
        """The lowest and the highest ratio of a process; None if only one process measured.

        The next process lies between them with a probability of (n - 1) / (n + 1): 5/7 for six.
        """
        if not self.processes:
            return None
        logarithms = self.log_ratios(label, metric)
        return math.exp(min(logarithms)), math.exp(max(logarithms))

    @written_as("verdict('compiled')", "verdict('compiled', metric='throughput')")
    def verdict(self, label: str, metric: str | None = None, against: str | None = None) -> str:
        """'faster', 'slower', 'same' or 'undecided', against the baseline or another.

        'same' if the whole interval of the ratio lies within `margin` of 1; else 'faster' or
        'slower' if it lies beyond the noise floor; else 'undecided'. If other programs held the two
        up so often that too few rounds are left (``is_busy``), it is 'faster' or 'slower' only if
        the whole interval lies beyond what waiting can do to a ratio (``ends_while_busy``).

        Raises:
            UnknownLabelError: There is no such variant.
            ArgumentError: There is no such metric, or it was not taken.
        """
        interval = self.ratio(label, metric, against)
        if label == (self.baseline if against is None else against):
            return "same"
        if self.is_busy(label, against):
            return decide_while_busy(*self.ends_while_busy(label, metric, against))
        return decide_verdict(interval, self.floor_of(metric), self.margin)

    @written_as("break_even('compiled')")
    def break_even(self, label: str, *, with_build: bool = False) -> float | None:
        """Calls after which this one has paid off its cold start.

        A process pays for starting the compiler, for loading and for the first call; what is
        compiled ahead of time is built once for all processes. It gains with each call that it
        waits for. If nobody timed how long the compiler takes to start (`lacks_compiler_start`),
        this is the least number of calls.

        Args:
            label: the variant.
            with_build: also count what is built once, as if there were only this process.

        Returns:
            An integer; ``math.inf`` if it never does, because it isn't faster; None if that
            isn't known.
        """
        verdict = self.verdict(label)
        if verdict != "faster":
            return None if verdict == "undecided" else NEVER
        mine, base = self[label], self[self.baseline]
        saved = base.median - mine.median
        if self.is_busy(label):  # the least of what it saves
            saved = base.median * (1 - 1 / self.ends_while_busy(label)[0])
        extra = mine.cold_seconds - base.cold_seconds
        if with_build:
            extra += (mine.build_seconds or 0.0) - (base.build_seconds or 0.0)
        return 1 + max(0, math.ceil(extra / saved)) if saved > 0 else None

    @cached_property
    def rows(self) -> Rows:
        """Everything that is shown: a row for each variant, and for each that was not run."""
        measured = [self._row(measurement) for measurement in self.measurements]
        not_run = [
            Row(label, reason=reason, ended_later=any(label in each for each in self.processes))
            for label, reason in self.unavailable.items()
        ]
        rows = Rows(
            (*measured, *not_run),
            metrics=self.metrics,
            rounds=self.rounds,
            disturbed_rounds=self.disturbed_rounds,
            processes=len(self.processes),
            disturbed_processes=sum(each.busy for each in self.processes),
            confidence=min(
                map(self.confidence, [label for label in self if label != self.baseline] or self)
            ),
            noise_floor=self.noise_floor,
            margin=self.margin,
            busy=self.busy,
            noisy=self.noisy,
            stopped=self.stopped,
            limit_needed=self.limit_needed,
            seed=self.seed,
            env=self.env,
            warnings=self.warnings,
            circumstance=self.circumstance,
            took=self.took,
        )
        best = advice.best(rows)
        marked = (replace(row, is_best=True) if row is best else row for row in rows)
        return replace(rows, rows=tuple(marked))

    def _row(self, m: Measurement) -> Row:
        role = self._role(m.label)
        is_variant = role == "variant"
        is_built = is_variant and m.build_seconds is not None
        return Row(
            m.label,
            role=role,
            deprecated=m.label in self.deprecated,
            other_runtime=m.label in self.other_runtimes,
            is_busy=self.is_busy(m.label),
            has_stream="throughput" in self.metrics,
            times={
                metric: self._times(m, metric)
                for metric in METRICS
                if m.times.has(metric) and self[self.baseline].times.has(metric)
            },
            build_seconds=m.build_seconds,
            load_seconds=m.load_seconds,
            first_seconds=m.first_seconds,
            cold_seconds=m.cold_seconds,
            compiler=m.compiler,
            compiler_seconds=m.compiler_seconds,
            lacks_compiler_start=m.lacks_compiler_start,
            pays_after=self.break_even(m.label) if is_variant else None,
            pays_after_with_build=self.break_even(m.label, with_build=True) if is_built else None,
            disk_cache_hit=m.disk_cache_hit,
            page_faults=m.page_faults,
            page_fault_share=m.page_fault_share,
            first_compilations=m.first_compilations,
            later_compilations=m.later_compilations,
            later_calls=m.later_calls,
            facts=self.facts.get(m.label),
            note=m.note,
        )

    def _role(self, label: str) -> str:
        if label == self.baseline:
            return "baseline"
        return "reference" if label in self.references else "variant"

    def _times(self, m: Measurement, metric: str) -> Times:
        samples, (low, high) = m.times.of(metric), m.interval(metric)
        spread = max(low, min(samples)), min(high, max(samples))
        if m.label == self.baseline:
            return Times(m.median_of(metric), spread=spread)
        ratio, *ends = self.ratio(m.label, metric)
        is_busy, verdict, nearer = self.is_busy(m.label), self.verdict(m.label, metric), None
        if is_busy and verdict != "undecided":
            ends = [*self.ends_while_busy(m.label, metric)]
            nearer = ends[0] if verdict == "faster" else ends[1]
        return Times(
            m.median_of(metric),
            ratio,
            (ends[0], ends[1]),
            verdict,
            "" if is_busy else in_each(self.log_ratios(m.label, metric)),
            spread,
            self.range_of_processes(m.label, metric),
            len(self._used_processes(m.label)),
            self._differs_between_processes(m.label, metric),
            nearer,
        )

    def _differs_between_processes(self, label: str, metric: str) -> bool:
        return stats.differs_between_processes(
            [process.log_ratios(label, metric) for process in self._used_processes(label)]
        )

    @written_as(*CLAIMS, check=_misclaimed)
    def claim(
        self,
        label: str,
        sense: str,
        *,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> "Judgement[Comparison]":
        """Check a claim, such as "tf.function is faster", against what was measured.

        If the claim holds, a line says so: "✓ tf.function is faster than eager: 4.21 times." If it
        is undecided, and the comparison has its experiment, more rounds are taken, for up to three
        times the comparison's limit or 20 s, whichever is longer, but at most 30 times the limit;
        or in up to three times as many processes. The line then says how many rounds or processes
        it took, because this comparison stays as it is, or that the claim is still undecided, and
        why. A terminal says meanwhile that it measures, unless the comparison had
        ``progress=False``. If more of them could not decide it, the line says so at once. If other
        programs held a variant up, nothing contradicts a claim, and the line says so at once,
        unless there are fewer than 20 rounds, or than six processes.

        Args:
            label: the variant.
            sense: 'faster', 'slower', 'same', 'not slower' or 'not faster'.
            at_least: how many times as fast it must be, or how many times as long it must take.
            against: the other variant; the baseline if None.
            metric: 'latency', 'throughput' or 'device'; the latency if None.

        Returns:
            A Judgement, with the comparison of all rounds that were taken for it.

        Raises:
            ClaimError: what was measured contradicts it.
            ArgumentError, UnknownLabelError: there is no such claim, metric or variant.
        """
        return self._judge(Claim(label, sense, at_least, against, metric))

    def _judge(self, claim: Claim) -> "Judgement[Comparison]":
        return judge(self, claim, self.experiment.measure_on if self.experiment else None)

    @overload
    def why(self, label: str) -> Reason: ...

    @overload
    def why(self, label: None = None) -> Reasons: ...

    @written_as("why()", "why('compiled')")
    def why(self, label: str | None = None) -> Reason | Reasons:
        """What was observed of a compiled variant, in one line, and a cause if one is decisive.

        ``print(comparison.why("torch.compile"))`` prints both, and
        ``comparison.why("torch.compile").cause`` is a word for the cause: "not_compiled",
        "graph_break", "recompiled", "entering" or "faster_python", or "unknown" if the facts stand
        alone. If nobody has asked yet, this takes up to a second.

        Args:
            label: the variant; None for all compiled variants, with a line for each.

        Raises:
            UnknownLabelError: there is no such variant.
        """
        if label is not None:
            self[label]  # raises if there is none
        rows = self.asked().rows
        if label is None:
            return reasons(rows)
        return reason(next(row for row in rows if row.label == label), rows)

    def asked(self) -> "Comparison":
        """The same comparison with what is observed of its variants, if that isn't known yet."""
        if self.experiment is None or self.facts:
            return self
        return replace(self, facts=self.experiment.ask(self.rows))

    @written_as("plot()", "plot(metric='throughput')")
    def plot(self, metric: str = "latency") -> Any:
        """Draw the times per call and their intervals with matplotlib, and return the axes.

        Args:
            metric: 'latency', 'throughput' or 'device'.
        """
        self[self.baseline].times.of(metric)  # raises if there is none
        return drawn.comparison(self.rows, metric)

    @written_as("waterfall(['compiled', 'eager'])", check=_no_list)
    def waterfall(self, labels: Sequence[str], metric: str = "latency") -> Any:
        """Draw what each layer of software adds to the time of a call, and return the axes.

        Args:
            labels: the variants in the order of the steps, such as from "C" up to "eager".
            metric: 'latency', 'throughput' or 'device'.
        """
        for label in labels:
            self[label].times.of(metric)  # raises if there is none
        return drawn.waterfall(self.rows, labels, metric)

    def to_frame(self) -> Any:
        """A pandas data frame with a row per variant; raises MissingPackageError without pandas.

        Times are in seconds per call, and ratios above 1 are faster. `pays_after` is also missing
        if a cold start never pays off, and `pays_after_with_build` if nothing was
        built ahead of time. `compilations_per_call` counts the calls after the first.
        `facts` is a dict of what was counted of a compiled variant, `cause` the kind of a decisive
        cause, and `before_seconds` what a call spends before compiled code begins.
        """
        frame = require("pandas", "notebooks").DataFrame(self.summary()["rows"]).set_index("label")
        frame.loc[self.baseline, "verdict"] = "baseline"
        return frame

    def summary(self) -> dict[str, Any]:
        """What the table shows, as plain data for programs that read notebooks."""
        return shown.summary(self.rows)


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The same comparison over a range of sizes.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes
    (1000, 100000)
    """

    sizes: tuple[int | float, ...]
    comparisons: tuple[Comparison, ...]

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) > 0:
            raise ValueError(_("rounds are missing"))

    def __repr__(self) -> str:
        return str(shown.sweep(self.sizes, self.rows))

    def _repr_html_(self) -> str:
        return shown.sweep(self.sizes, self.rows).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        comparisons = [each.summary() for each in self.comparisons]
        busy = any(each.busy for each in self.comparisons)
        shown = {"sizes": list(self.sizes), "comparisons": comparisons, "busy": busy}
        return {MIME: {"kind": "sweep", **shown}}

    def _plain(self) -> dict[str, Any]:
        comparisons = [comparison._plain() for comparison in self.comparisons]
        return {"sizes": list(self.sizes), "comparisons": comparisons}

    @property
    def rows(self) -> list[Rows]:
        """The rows of the comparison at each size."""
        return [comparison.rows for comparison in self.comparisons]

    @property
    def labels(self) -> list[str]:
        """Every variant that was measured at any size."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c))

    @property
    def deprecated(self) -> list[str]:
        """The deprecated variants."""
        return list(dict.fromkeys(label for c in self.comparisons for label in c.deprecated))

    @property
    def metrics(self) -> list[str]:
        """The metrics that add information at any size."""
        return list(dict.fromkeys(metric for c in self.comparisons for metric in c.metrics))

    @written_as(*CLAIMS, check=_misclaimed)
    def claim(
        self,
        label: str,
        sense: str,
        *,
        size: float | None = None,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> Judgements[Comparison]:
        """Like ``Comparison.claim``, at one size, or at all sizes with a line for each."""
        if size is not None and size not in self.sizes:
            text = _("Expected a size among {known}. Received: {received!r}.")
            known = ", ".join(map(str, self.sizes))
            raise ArgumentError(text.format(known=known, received=size))
        return Judgements(
            comparison._judge(Claim(label, sense, at_least, against, metric, each))
            for each, comparison in zip(self.sizes, self.comparisons, strict=True)
            if size is None or each == size
        )

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw the time per call against the size, and return the axes.

        Args:
            xlabel: what the sizes are; "work" in the reader's language if empty.
        """
        return drawn.sweep(self.sizes, self.rows, xlabel)
