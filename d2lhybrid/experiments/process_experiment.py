"""The same experiment in several fresh processes: an interval for the median of all processes.

Some things are decided once per process, such as where its memory lies and how its threads are
placed, so no number of rounds in one process shows them. pyperf starts twenty processes for this
reason, and Kalibera and Jones (*Rigorous Benchmarking in Reasonable Time*, 2013) show why an
interval has to be computed over processes.

They run one after the other. Each builds, makes the first calls, warms up and takes rounds.
"""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from d2lhybrid.backends import known
from d2lhybrid.backends.verb import running
from d2lhybrid.core.errors import CallFailedError, D2LHybridError, UnknownLabelError
from d2lhybrid.core.i18n import general, gettext as _, language, noop as N_, sentences
from d2lhybrid.core.progress import show_status, status_line
from d2lhybrid.core.wording import option
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.experiments.dump import pack, require_not_compiled
from d2lhybrid.experiments.experiment import Callables, Experiment, claim_seconds
from d2lhybrid.experiments.fresh_process import Ended, run
from d2lhybrid.experiments.join import join
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.rounds import OnTurn
from d2lhybrid.measuring.row import Rows
from d2lhybrid.measuring.stats import FEWEST_SAMPLES_FOR_AN_INTERVAL

CLAIM_FACTOR = 3  # times the processes of the comparison, which there are at most for a claim
# A process has to end within these seconds from its start, whatever it is at:
START_SECONDS = 120.0  # for Python, its imports and what is made before the first callable is
BUILD_SECONDS = 600.0  # for each callable, if there is no `build_timeout`
ROUNDS_FACTOR = 4.0  # for warming up and rounds, so many time limits
ASK_SECONDS = 1.0  # the time limit of a process that measures only to be asked

PROGRAMS, CACHES = "programs", "caches"  # the folders of what compilers keep on disk
TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # the variables that name the folder of temporary files

Make = Callable[[], Callables]  # what makes the callables and their arguments in each process


@dataclass(eq=False, repr=False)
class ProcessExperiment:
    """An experiment that is done in several processes, and what these have found so far.

    Its time limit is that of all `count` together. `threads` is how many each framework may use,
    by its own default if None. With `make`, each process makes the callables for itself. In the
    first process, compilers find empty disk caches, so cold starts are cold, and in the others what
    that one has compiled. That process also asks what is observed of the compiled variants, unless
    it is not to (`asks`).
    """

    experiment: Experiment
    count: int
    threads: int | None = None
    make: Make | None = None
    asks: bool = True
    comparisons: list[Comparison] = field(default_factory=list, init=False)
    # What a process could not measure, so that those after it leave it out, and why.
    unavailable: dict[str, str] = field(default_factory=dict, init=False)
    failure: str = field(default="", init=False)  # a sentence about the process that ended it

    def run(self) -> Comparison:
        """Measure in so many processes. An interrupt ends it with those that are complete.

        Raises:
            ArgumentError: the experiment has something that cannot be sent to another process.
            D2LHybridError: the baseline failed in the first process; otherwise as
                ``Experiment.run``. If it fails in a later one, those before it are the result.
            OSError: there is no space for the files of a process, or it does not start.
            KeyboardInterrupt: it came before a process was complete.
        """
        comparison = self._measure(self.count)
        more = self.count + math.ceil(self.count / 2)  # of which six may be quiet
        # Six of them, beside the disturbed ones, decide it.
        can_help = more > FEWEST_SAMPLES_FOR_AN_INTERVAL
        is_whole = len(self.comparisons) == self.count  # neither interrupted nor failed
        if can_help and comparison.busy and is_whole:
            comparison = self._measure(more, lambda: not self.comparison().busy)
        return comparison

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Add processes until `decided` is true of the comparison, or until there are many."""
        most = max(FEWEST_SAMPLES_FOR_AN_INTERVAL, CLAIM_FACTOR * self.count)
        message = N_("the claim is undecided: measuring in up to {processes} processes")
        with (
            running(),
            show_status(message, self.experiment.progress, processes=str(most)),
        ):
            return self._measure(most, lambda: decided(self.comparison()))

    def ask(self, _rows: Rows, /) -> dict[str, Facts]:
        """What its first process has observed of its compiled variants, or else one more process.

        Raises:
            D2LHybridError, OSError, KeyboardInterrupt: as ``run``, if it takes one more.
        """
        first = self.comparisons[0]
        if not self.asks:
            part = replace(
                self.experiment,
                functions={label: self.experiment.functions[label] for label in first},
                time_limit=min(self.experiment.time_limit, ASK_SECONDS),
            )
            asking = OneProcessExperiment(part, 1, self.threads, self.make)
            with running():
                asking.run()
            self.comparisons[0] = replace(first, facts=asking.comparisons[0].facts)
            self.asks = True  # and has done so
        return dict(self.comparisons[0].facts)

    def comparison(self) -> Comparison:
        """What the processes so far say, without the facts that the first has found."""
        seed, unavailable = self.experiment.seed, self.unavailable
        joined = join(self.comparisons, seed=seed, unavailable=unavailable, count=self.count)
        return self._completed(joined)

    def _completed(self, comparison: Comparison) -> Comparison:
        """With what only this process knows of it."""
        said = filter(None, [self.experiment.circumstance, self.failure])
        return replace(comparison, facts={}, circumstance=sentences(*said), experiment=self)

    def _measure(self, most: int, is_over: Callable[[], bool] = lambda: False) -> Comparison:
        """Measure in one process after the other, until it is over or there are `most`."""
        try:
            with (
                TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as folder,
                status_line(self.experiment.progress) as say,
            ):
                while len(self.comparisons) < most and not is_over():
                    text = _("process {n} of {count}")
                    where = text.format(n=len(self.comparisons) + 1, count=most)
                    self.comparisons.append(self._measure_in_one(Path(folder), where, say))
                    self.failure = ""  # of one that ended it before
        except UnknownLabelError:  # of what decides a claim, whose variant was left out meanwhile
            raise
        except (D2LHybridError, OSError) as error:
            if not self.comparisons:
                raise
            text = _("A later process failed, so there are only those before it: {reason}")
            self.failure = text.format(reason=error)
        except KeyboardInterrupt:
            if not self.comparisons:
                raise
            return replace(self.comparison(), stopped="interrupted")
        return self.comparison()

    def _measure_in_one(self, folder: Path, where: str, say: Callable[[str], None]) -> Comparison:
        """What one process finds. One that ends before it has a result is repeated without that
        at which it was.

        Args:
            folder: that of temporary files, for all processes.
            where: which process it is, in words.
            say: shows what it is at.

        Raises:
            CallFailedError: it was at the baseline, or at none.
        """

        def say_turn(label: str) -> None:
            say(f"{where}, {label}" if label else where)

        env = self._variables(folder)
        while True:
            part = self._part(folder / PROGRAMS)
            with TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as own:
                found = run(self._packed(part), Path(own), env, self._seconds(part), say_turn)
            if not isinstance(found, Ended):
                comparison: Comparison = found
                self.unavailable |= comparison.unavailable
                return comparison
            if found.label in ("", self.experiment.baseline):
                raise _failed(found)
            self.unavailable[found.label] = found.reason
            if not self.comparisons:  # the repeat is the first process, which finds empty caches
                for name in (PROGRAMS, CACHES):
                    shutil.rmtree(folder / name, ignore_errors=True)

    def _part(self, programs: Path) -> Experiment:
        """The part of the experiment that the next process does."""
        experiment, number = self.experiment, len(self.comparisons)
        functions = experiment.functions.items()
        programs.mkdir(exist_ok=True)
        return replace(
            experiment,
            functions={label: each for label, each in functions if label not in self.unavailable},
            time_limit=experiment.time_limit / self.count,
            seed=int(np.random.SeedSequence([experiment.seed, number]).generate_state(1)[0]),
            progress=False,
            cold_caches=programs,
            is_one_of_several=True,
        )

    def _packed(self, part: Experiment) -> bytes:
        """What one process does, for ``run``."""
        if self.make:  # then it gets nothing else, and the file also sets what it needs
            part = replace(
                part, functions=dict.fromkeys(part.functions, self.make), args=(), kwargs={}
            )
        else:
            require_not_compiled(part.functions)
        parts = {repr(label): function for label, function in part.functions.items()}
        argument = _("argument {number}")
        parts |= {argument.format(number=number): arg for number, arg in enumerate(part.args, 1)}
        parts |= {f"{name}=": value for name, value in part.kwargs.items()}
        job = partial(_measured, part, self.make, self.asks and not self.comparisons)
        return pack(job, parts | {"timer=": part.timer}, with_threads=self.threads is None)

    def _seconds(self, part: Experiment) -> float:
        """How long a process may take from its start to its end."""
        build_seconds = BUILD_SECONDS if part.build_timeout is None else part.build_timeout
        builds = len(self.experiment.functions) * build_seconds
        return START_SECONDS + builds + ROUNDS_FACTOR * part.time_limit

    def _variables(self, folder: Path) -> dict[str, str]:
        """The environment of a process: this one's, with threads and caches as they were chosen."""
        changes: dict[str, str | None] = {"D2LHYBRID_LANGUAGE": language()}
        # What a process leaves behind if it crashes goes with this folder.
        changes |= dict.fromkeys(TEMPORARY, str(folder))
        for framework in known():
            if self.threads is not None:
                changes |= framework.variables_for_threads(self.threads)
            # What a compiler finds out of the machine, it finds for all callables. What it compiles
            # goes into a folder of its own for each (``Experiment.cold_caches``).
            changes |= framework.variables_for_caches(folder / CACHES)
        variables = {**os.environ, **changes}
        return {name: value for name, value in variables.items() if value is not None}


@dataclass(eq=False, repr=False)
class OneProcessExperiment(ProcessExperiment):
    """The same in one fresh process, whose comparison is the result: its rounds decide."""

    def run(self) -> Comparison:
        """Measure there, as ``Experiment.run`` does here."""
        return self._measure(1)

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Measure in a second process, whose comparison replaces the first's, unless it is decided.

        It may take as long as a claim may. There is no third.
        """
        message = N_("the claim is undecided: measuring for up to {seconds} s more")
        seconds = general(claim_seconds(self.experiment.time_limit))
        with running(), show_status(message, self.experiment.progress, seconds=seconds):
            return self._measure(2, lambda: decided(self.comparison()))

    def comparison(self) -> Comparison:
        """What the latest process says."""
        latest = self.comparisons[-1]
        measured = replace(latest, unavailable=latest.unavailable | self.unavailable)
        return self._completed(measured)

    def _part(self, programs: Path) -> Experiment:
        part = replace(super()._part(programs), is_one_of_several=False)
        if self.comparisons:
            return replace(part, time_limit=claim_seconds(self.experiment.time_limit))
        return replace(part, seed=self.experiment.seed)


def _measured(
    part: Experiment, make: Make | None, asks: bool, on_turn: OnTurn
) -> Iterator[Comparison]:
    """What one process does: it measures, and `asks` what is observed of the variants.

    Measured comes first, so it is not lost, whatever the questions lead to.
    """
    if make:
        functions, args, kwargs = make()
        kept = {label: each for label, each in functions.items() if label in part.functions}
        part = replace(part, functions=kept, args=args, kwargs=kwargs)
    part.on_turn = on_turn
    comparison = part.run()
    yield comparison
    if asks:
        with suppress(Exception):
            yield comparison.asked()


def _failed(ended: Ended) -> CallFailedError:
    """The error for a process that ended at the baseline, or before it had called any."""
    text = _(
        "Could not run {label!r} on the given arguments ({reason}). Call it by itself to see where "
        "it fails."
    )
    if not ended.label:
        text = _(
            "A fresh process ended before it called any callable ({reason}). Can it import what "
            "they need? Compare without {processes} to see where it fails."
        )
    label, reason = ended.label, ended.reason
    message = text.format(label=label, reason=reason, processes=option("processes"))
    if ended.last_words:
        said = _("It printed last: {words}").format(words=ended.last_words)
        message = sentences(message, said)
    return CallFailedError(message, label=label, reason=reason)
