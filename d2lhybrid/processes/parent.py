"""The same experiment in several fresh processes: an interval for the median of all processes.

Some things are decided once per process, such as where its memory lies and how its threads are
placed, so no number of rounds in one process shows them. pyperf starts twenty processes for this
reason, and Kalibera and Jones (*Rigorous Benchmarking in Reasonable Time*, 2013) show why an
interval has to be computed over processes.

They run one after the other. Each unpacks the experiment, builds, makes the first calls, warms up
and takes rounds, as in ``child``, and says its comparison as JSON.
"""

import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import Popen
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np

from d2lhybrid.backends import known
from d2lhybrid.backends.environment import variables_for_caches, variables_for_threads
from d2lhybrid.core.errors import CallFailedError, D2LHybridError
from d2lhybrid.core.i18n import general, gettext as _, language, noop as N_, sentences
from d2lhybrid.core.progress import show_status, status_line
from d2lhybrid.core.subprocesses import end, started_python, status
from d2lhybrid.core.wording import option
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.row import Rows
from d2lhybrid.measuring.stats import FEWEST
from d2lhybrid.processes.child import Heard, Task
from d2lhybrid.processes.dump import pack
from d2lhybrid.processes.joined import join
from d2lhybrid.verbs.callables import SourceFile
from d2lhybrid.verbs.comparison import Comparison
from d2lhybrid.verbs.experiment import Experiment, claim_seconds

CLAIM_FACTOR = 3  # times the processes of the comparison, which there are at most for a claim
LOOK_SECONDS = 1.0  # between two looks at where a process is
# A process has to end within these seconds from its start, whatever it is at:
START_SECONDS = 120.0  # for Python, its imports and what is made before the first callable is
BUILD_SECONDS = 600.0  # for each callable, if there is no `build_timeout`
ROUNDS_FACTOR = 4.0  # for warming up and rounds, so many time limits
END_SECONDS = 20.0  # for its questions and its end, once it has said its result
LAST_WORDS = 1000  # bytes of what a process has printed that an error shows

TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # the variables that name the folder of temporary files
PACKED, PROGRAMS = "packed", "programs"  # the experiment, and what compilers keep, in that of ours

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Ended:
    """A process that left no result, and why."""

    label: str  # of the callable at which it ended, "" before the first
    reason: str
    last_words: str  # what was printed last


@dataclass(eq=False, repr=False)
class ProcessExperiment:
    """An experiment that is done in several processes, and what these have found so far.

    Its time limit is that of all `count` together. `threads` is how many each framework may use,
    by its own default if None. With `source`, each process makes the callables for itself. In the
    first process, compilers find empty disk caches, so cold starts are cold, and in the others what
    that one has compiled.
    """

    experiment: Experiment
    count: int
    threads: int | None = None
    source: SourceFile | None = None
    comparisons: list[Comparison] = field(default_factory=list, init=False)
    # What a process could not measure, so that those after it leave it out, and why.
    unavailable: dict[str, str] = field(default_factory=dict, init=False)
    _packed: bytes = field(default=b"", init=False)  # as it was; a claim comes later
    _failure: str = field(default="", init=False)  # a sentence about the process that ended it

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
        can_help = more > FEWEST  # six of them, beside the disturbed ones, decide it
        is_whole = len(self.comparisons) == self.count  # neither interrupted nor failed
        if can_help and comparison.busy and is_whole:
            comparison = self._measure(more, lambda: not self.comparison().busy)
        return comparison

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Add processes until `decided` is true of the comparison, or until there are many."""
        most = max(FEWEST, CLAIM_FACTOR * self.count)
        message = N_("the claim is undecided: measuring in up to {processes} processes")
        with show_status(message, self.experiment.progress, processes=str(most)):
            return self._measure(most, lambda: decided(self.comparison()))

    def ask(self, _rows: Rows, /) -> dict[str, Facts]:
        """What its first process has observed of its compiled variants."""
        return dict(self.comparisons[0].facts)

    def comparison(self) -> Comparison:
        """What the processes so far say, without the facts that the first has found."""
        joined = join(
            self.comparisons,
            unavailable=self.unavailable,
            seed=self.experiment.seed,
        )
        return self._completed(joined)

    def _completed(self, comparison: Comparison) -> Comparison:
        """With what only this process knows of it."""
        said = filter(None, [self.experiment.circumstance, self._failure])
        return replace(comparison, facts={}, circumstance=sentences(*said), experiment=self)

    def _measure(self, most: int, is_over: Callable[[], bool] = lambda: False) -> Comparison:
        """Measure in one process after the other, until it is over or there are `most`."""
        if not self._packed:
            with_threads = self.threads is None
            self._packed = pack(self.experiment, self.source, with_threads=with_threads)
        try:
            with (
                TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True) as temporary,
                status_line(self.experiment.progress) as say,
            ):
                folder = Path(temporary)
                (folder / PACKED).write_bytes(self._packed)
                (folder / PROGRAMS).mkdir()
                while len(self.comparisons) < most and not is_over():
                    where = _("process {n} of {count}")
                    where = where.format(n=len(self.comparisons) + 1, count=most)
                    self.comparisons.append(self._measure_in_one(folder, where, say))
        except (D2LHybridError, OSError) as error:
            if not self.comparisons:
                raise
            text = _("A later process failed, so there are only those before it: {reason}")
            self._failure = text.format(reason=error)
        except KeyboardInterrupt:
            if not self.comparisons:
                raise
            return replace(self.comparison(), stopped="interrupted")
        return self.comparison()

    def _measure_in_one(self, folder: Path, where: str, say: Say) -> Comparison:
        """What one process finds. One that ends before it has a result is repeated without that
        at which it was.

        Raises:
            CallFailedError: it was at the baseline, or at none.
        """
        found = self._run(self._task(folder), folder, where, say)
        while isinstance(found, _Ended):
            if found.label in ("", self.experiment.baseline):
                raise _failed(found)
            self.unavailable[found.label] = found.reason
            found = self._run(self._task(folder), folder, where, say)
        self.unavailable |= found.unavailable
        return found

    def _task(self, folder: Path) -> Task:
        experiment, number = self.experiment, len(self.comparisons)
        seed = np.random.SeedSequence([experiment.seed, number]).generate_state(1)[0]
        return Task(
            packed=str(folder / PACKED),
            left_out=(*self.unavailable,),
            time_limit=experiment.time_limit / self.count,
            seed=int(seed),
            cache_folder=str(folder / PROGRAMS),
            why=number == 0,
        )

    def _run(self, task: Task, folder: Path, where: str, say: Say) -> Comparison | _Ended:
        """Run the process to its end, or until it is overdue.

        Raises:
            D2LHybridError: its baseline raised, or could not be built.
        """
        output, printed = folder / "output", folder / "printed"
        seconds, env = self._seconds(task), self._variables(folder)
        with output.open("wb") as stdout, printed.open("wb") as stderr, output.open("rb") as said:
            heard = Heard(said)
            with started_python(task.command, env=env, stdout=stdout, stderr=stderr) as process:
                is_overdue = _wait(process, seconds, heard, where, say)
                end(process)  # and what it has started, such as workers of a compiler
            heard.listen()
        if heard.has_result:
            return heard.result()
        reason = _("its process ended: {status}").format(status=status(process.returncode))
        if is_overdue:
            reason = _("its process took longer than {seconds} s").format(seconds=f"{seconds:g}")
        last_words = printed.read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
        return _Ended(heard.label, reason, last_words)

    def _seconds(self, task: Task) -> float:
        """How long a process may take from its start to its end."""
        timeout = self.experiment.build_timeout
        build_seconds = BUILD_SECONDS if timeout is None else timeout
        builds = len(self.experiment.functions) * build_seconds
        return START_SECONDS + builds + ROUNDS_FACTOR * task.time_limit

    def _variables(self, folder: Path) -> dict[str, str]:
        """The environment of a process: this one's, with threads and caches as they were chosen."""
        changes: dict[str, str | None] = {"D2LHYBRID_LANGUAGE": language()}
        # What a process leaves behind if it crashes goes with this folder.
        changes |= dict.fromkeys(TEMPORARY, str(folder))
        for framework in known():
            if self.threads is not None:
                changes |= variables_for_threads(framework, self.threads)
            # What a compiler finds out of the machine, it finds for all callables. What it compiles
            # goes into a folder of its own for each (``Task.cache_folder``).
            changes |= variables_for_caches(framework, folder / "caches")
        variables = {**os.environ, **changes}
        return {name: value for name, value in variables.items() if value is not None}


@dataclass(eq=False, repr=False)
class OneProcessExperiment(ProcessExperiment):
    """The same in one fresh process, whose comparison is the result: its rounds decide."""

    def run(self) -> Comparison:
        """Measure there, as ``Experiment.run`` does here."""
        return self._measure(1)

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Measure once more in a process, for as long as a claim may take, and only once."""
        message = N_("the claim is undecided: measuring for up to {seconds} s more")
        seconds = general(claim_seconds(self.experiment.time_limit))
        with show_status(message, self.experiment.progress, seconds=seconds):
            return self._measure(2)

    def comparison(self) -> Comparison:
        """What the latest process says."""
        latest = self.comparisons[-1]
        measured = replace(latest, unavailable=latest.unavailable | self.unavailable)
        return self._completed(measured)

    def _task(self, folder: Path) -> Task:
        task = replace(super()._task(folder), is_only=True)
        if self.comparisons:
            return replace(task, time_limit=claim_seconds(self.experiment.time_limit))
        return replace(task, seed=self.experiment.seed)


def _wait(process: Popen[bytes], seconds: float, heard: Heard, where: str, say: Say) -> bool:
    """Wait so many seconds for the end of a process, and say where it is. Is it overdue?"""
    # ``Popen.wait`` with a timeout would ask twenty times a second.
    waiting = threading.Thread(target=process.wait, daemon=True)
    waiting.start()
    latest = monotonic() + seconds
    while waiting.is_alive() and monotonic() < latest:
        say(f"{where}, {heard.label}" if heard.label else where)
        waiting.join(min(LOOK_SECONDS, latest - monotonic()))
        heard.listen()
        if heard.has_result:
            latest = min(latest, monotonic() + END_SECONDS)
    return waiting.is_alive()


def _failed(ended: _Ended) -> CallFailedError:
    """The error for a process that ended at the baseline, or before it had called any."""
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {reason}. Call it by itself "
        "to see where it fails."
    )
    if not ended.label:
        text = _(
            "Expected a process that can import what the callables need. Received: one that ended "
            "before it called any ({reason}). Compare without {processes} to see where it fails."
        )
    label, reason = ended.label, ended.reason
    message = text.format(label=label, reason=reason, processes=option("processes"))
    if ended.last_words:
        said = _("It printed last: {words}").format(words=ended.last_words)
        message = sentences(message, said)
    return CallFailedError(message, label=label, reason=reason)
