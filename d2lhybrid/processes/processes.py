"""The same experiment in several fresh processes: an interval for the median of all processes.

Some things are decided once per process, such as where its memory lies and how its threads are
placed, so no number of rounds in one process shows them. pyperf starts twenty processes for this
reason, and Kalibera and Jones (*Rigorous Benchmarking in Reasonable Time*, 2013) show why an
interval has to be computed over processes.

They run one after the other. Each unpacks the experiment, builds, makes the first calls, warms up
and takes rounds, as in ``one_process``, and leaves its comparison as JSON.
"""

import math
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic, time
from typing import IO

import numpy as np

from d2lhybrid.backends import known
from d2lhybrid.backends.environment import variables_for_caches, variables_for_threads
from d2lhybrid.core.errors import CallFailedError, UnwritableFolderError
from d2lhybrid.core.i18n import general, gettext as _, language, noop as N_, sentences
from d2lhybrid.core.progress import show_status, status_line
from d2lhybrid.core.reader import option
from d2lhybrid.core.subprocesses import end, started_python, status
from d2lhybrid.graphs.facts import Facts
from d2lhybrid.measuring.cold_start import too_long
from d2lhybrid.measuring.rounds import unavailable_baseline
from d2lhybrid.measuring.row import Rows
from d2lhybrid.measuring.stats import FEWEST
from d2lhybrid.processes.joined import join
from d2lhybrid.processes.one_process import PROGRAM, UNWRITABLE, Task, read_result
from d2lhybrid.processes.position import Moment
from d2lhybrid.processes.travel import pack
from d2lhybrid.verbs.comparison import Comparison
from d2lhybrid.verbs.experiment import Experiment, claim_seconds

CLAIM_FACTOR = 3  # times the processes of the comparison, which there are at most for a claim
LOOK_SECONDS = 1.0  # between two looks at where a process is
# In which a process may end itself: a build that took too long, or when it has its result.
OVERTIME = 5.0
MOST_PRINTED = 1_000_000  # bytes of what callables print, before they are dropped
LAST_WORDS = 1000  # bytes of them that an error shows

TEMPORARY = ("TMPDIR", "TEMP", "TMP")  # the variables that name the folder of temporary files

Say = Callable[[str], None]


@dataclass(frozen=True)
class _Ended:
    """A process that left no result: where it was, how it ended, and what it had printed last."""

    at: Moment | None
    is_overdue: bool
    status: int
    last_words: str


@dataclass(eq=False, repr=False)
class ProcessExperiment:
    """An experiment that is done in several processes, and what these have found so far.

    Its time limit is that of all `count` together. `threads` is how many each framework may use,
    by its own default if None. With `caches`, compilers find the user's disk caches. Otherwise, the
    first process finds empty ones, so cold starts are cold, and the others what it has compiled.
    """

    experiment: Experiment
    count: int
    threads: int | None = None
    caches: bool = False
    comparisons: list[Comparison] = field(default_factory=list, init=False)
    # What a process could not measure, so that those after it leave it out, and why.
    unavailable: dict[str, str] = field(default_factory=dict, init=False)
    _packed: bytes = field(default=b"", init=False)  # as it was; a claim comes later

    def run(self) -> Comparison:
        """Measure in so many processes. An interrupt ends it with those that are complete.

        Raises:
            ArgumentError: the experiment has something that cannot be taken to another process.
            UnwritableFolderError: there is no space for the files of a process.
            D2LHybridError: the baseline failed; otherwise as ``Experiment.run``.
            KeyboardInterrupt: it came before a process was complete.
        """
        self._packed = pack(self.experiment, threads=self.threads)
        comparison = self._measure(self.count, lambda: False)
        more = self.count + math.ceil(self.count / 2)  # of which six may be quiet
        can_help = more > FEWEST  # six of them, beside the disturbed ones, decide it
        if can_help and comparison.busy and comparison.stopped != "interrupted":
            comparison = self._measure(more, lambda: not self.comparison().busy)
        return comparison

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Add processes until `decided` is true of the comparison, or until there are many.

        If one of them has to leave a variant out, it ends with the comparison before.
        """
        before = self.comparison()

        def is_over() -> bool:
            comparison = self.comparison()
            return {*comparison} != {*before} or decided(comparison)

        most = max(FEWEST, CLAIM_FACTOR * self.count)
        message = N_("the claim is undecided: measuring in up to {processes} processes")
        with show_status(message, self.experiment.progress, processes=str(most)):
            comparison = self._measure(most, is_over)
        return comparison if {*comparison} == {*before} else before

    def ask(self, _rows: Rows, /) -> dict[str, Facts]:
        """What its first process has observed of its compiled variants."""
        return dict(self.comparisons[0].facts)

    def comparison(self) -> Comparison:
        """What the processes so far say."""
        unavailable = {**self.experiment.unavailable, **self.unavailable}
        joined = join(
            self.comparisons,
            unavailable=unavailable,
            seed=self.experiment.seed,
            experiment=self,
        )
        return replace(
            joined,
            facts=dict(self.comparisons[0].facts),
            warnings=self.experiment.warnings,
            circumstance=self.experiment.circumstance,
        )

    def _measure(self, most: int, is_over: Callable[[], bool]) -> Comparison:
        """Measure in one process after the other, until it is over or there are `most`."""
        try:
            with (
                _temporary_folder() as folder,
                status_line(self.experiment.progress) as say,
            ):
                packed = folder / "experiment"
                with _writing(packed):
                    packed.write_bytes(self._packed)
                while len(self.comparisons) < most and not is_over():
                    where = _("process {n} of {count}")
                    where = where.format(n=len(self.comparisons) + 1, count=most)
                    self.comparisons.append(self._measure_in_one(packed, where, say))
        except KeyboardInterrupt:
            if not self.comparisons:
                raise
            return replace(self.comparison(), stopped="interrupted")
        return self.comparison()

    def _measure_in_one(self, packed: Path, where: str, say: Say) -> Comparison:
        """What one process finds. One that ends before it has a result is repeated without that
        at which it was.
        """
        while True:
            with _own_folder(packed.parent) as folder:
                task = self._task(packed)
                with _writing(folder):
                    task.write(folder)
                ended = self._run(task, folder, where, say)
                found = read_result(folder)
            if found:
                self.unavailable |= found.unavailable
                return found
            self._leave_out(ended, packed.parent)

    def _task(self, packed: Path) -> Task:
        experiment, number = self.experiment, len(self.comparisons)
        seed = np.random.SeedSequence([experiment.seed, number]).generate_state(1)[0]
        return Task(
            packed=str(packed),
            labels=(*experiment.functions,),
            left_out=(*self.unavailable,),
            time_limit=experiment.time_limit / self.count,
            seed=int(seed),
            programs=None if self.caches else str(_made(packed.parent / "programs")),
            why=number == 0,
        )

    def _run(self, task: Task, folder: Path, where: str, say: Say) -> _Ended:
        """Run the process to its end, or until it is overdue, and say where it is."""
        with (folder / "printed").open("ab+") as printed:
            program, env = [PROGRAM, str(folder)], self._variables(folder)
            with started_python(program, env=env, stdout=printed, stderr=printed) as process:
                # ``Popen.wait`` with a timeout would ask twenty times a second.
                waiting = threading.Thread(target=process.wait, daemon=True)
                waiting.start()
                is_overdue = False
                while waiting.is_alive() and not is_overdue:
                    at = task.position(folder)
                    say(f"{where}, {at.label}" if at else where)
                    if os.fstat(printed.fileno()).st_size > MOST_PRINTED:
                        printed.truncate(0)
                    waiting.join(LOOK_SECONDS)
                    is_overdue = self._is_overdue(task, folder)
                end(process)  # and what it has started, such as workers of a compiler
            at = task.position(folder)
            return _Ended(at, is_overdue, process.returncode, _last_words(printed))

    def _is_overdue(self, task: Task, folder: Path) -> bool:
        """Should it have ended a build by itself, or its Python, because its result is there?"""
        result, at, timeout = folder / "result.json", task.position(folder), self._build_timeout
        if result.exists():
            return time() - result.stat().st_mtime > OVERTIME
        return bool(at and at.is_first_call and monotonic() - at.since > timeout + OVERTIME)

    @property
    def _build_timeout(self) -> float:
        timeout = self.experiment.build_timeout
        return math.inf if timeout is None else timeout

    def _variables(self, folder: Path) -> dict[str, str]:
        """The environment of a process: this one's, with threads and caches as they were chosen."""
        changes: dict[str, str | None] = {"D2LHYBRID_LANGUAGE": language()}
        if not self.caches:  # the rest of what it leaves behind if it crashes goes with its folder
            changes |= dict.fromkeys(TEMPORARY, str(folder.parent))
        for framework in known():
            if self.threads is not None:
                changes |= variables_for_threads(framework, self.threads)
            if not self.caches:
                # What a compiler finds out of the machine, it finds for all callables. What it
                # compiles goes into a folder of its own for each (``Task.programs``).
                changes |= variables_for_caches(framework, folder.parent / "caches")
        variables = {**os.environ, **changes}
        return {name: value for name, value in variables.items() if value is not None}

    def _leave_out(self, ended: _Ended, folder: Path) -> None:
        """Leave out from now on what a process was at when it ended.

        Raises:
            UnwritableFolderError: it was its result that it could not write.
            CallFailedError, CannotBuildError: it was at the baseline, or at none.
        """
        if ended.status == UNWRITABLE:
            raise _unwritable(folder, _("a process could not write its result"))
        baseline = self.experiment.baseline
        if ended.at is None:
            raise _began_nothing(status(ended.status), ended.last_words)
        label = ended.at.label
        if ended.is_overdue:
            reason = too_long(self._build_timeout)
            if label == baseline:
                raise unavailable_baseline(label, reason)
        else:
            reason = _("its process ended: {status}").format(status=status(ended.status))
            if label == baseline:
                raise _baseline_ended(label, reason, ended.last_words)
        self.unavailable[label] = reason


@dataclass(eq=False, repr=False)
class OneProcessExperiment(ProcessExperiment):
    """The same in one fresh process, whose comparison is the result: its rounds decide.

    With `why`, the process also asks what is observed of the variants.
    """

    why: bool = False

    def run(self) -> Comparison:
        """Measure there, as ``Experiment.run`` does here."""
        self._packed = pack(self.experiment, threads=self.threads)
        return self._measure(1, lambda: False)

    def measure_on(self, decided: Callable[[Comparison], bool], /) -> Comparison:
        """Measure once more in a process, for as long as a claim may take, and only once."""
        before = self.comparison()
        if decided(before) or len(self.comparisons) > 1:
            return before
        message = N_("the claim is undecided: measuring for up to {seconds} s more")
        seconds = general(claim_seconds(self.experiment.time_limit))
        with show_status(message, self.experiment.progress, seconds=seconds):
            comparison = self._measure(2, lambda: False)
        return comparison if {*comparison} == {*before} else before

    def comparison(self) -> Comparison:
        """What the latest process says."""
        latest, circumstance = self.comparisons[-1], self.experiment.circumstance
        unavailable = latest.unavailable | self.unavailable
        return replace(latest, unavailable=unavailable, circumstance=circumstance, experiment=self)

    def _task(self, packed: Path) -> Task:
        task = replace(super()._task(packed), is_only=True)
        if self.comparisons:
            return replace(task, time_limit=claim_seconds(self.experiment.time_limit))
        return replace(task, seed=self.experiment.seed, why=self.why)


def _began_nothing(status: str, last_words: str) -> CallFailedError:
    text = _(
        "Expected a process that can import what the callables need. Received: one that ended "
        "before it called any ({status}). Compare without {processes} to see where it fails."
    )
    message = text.format(status=status, processes=option("processes"))
    if last_words:
        message = sentences(message, _("It printed last: {words}").format(words=last_words))
    return CallFailedError(message)


def _baseline_ended(label: str, reason: str, last_words: str) -> CallFailedError:
    text = _(
        "Expected {label!r} to run on the given arguments. Received: {reason}. Call it by itself "
        "to see where it fails."
    )
    message = text.format(label=label, reason=reason)
    if last_words:
        message = sentences(message, _("It printed last: {words}").format(words=last_words))
    return CallFailedError(message, label=label, reason=reason)


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A new folder for all processes of a comparison."""
    with _writing(_temporary_parent()):
        folder = tempfile.TemporaryDirectory(prefix="d2lhybrid-", ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


def _temporary_parent() -> Path:
    """The folder in which Python makes temporary ones."""
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:  # there is space in none of those that it knows
        return Path(os.environ.get(TEMPORARY[0], "/tmp"))


def _made(folder: Path) -> Path:
    """This folder, which is made if it isn't there."""
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def _own_folder(parent: Path) -> Iterator[Path]:
    """A new folder of a process, which goes with all that it has left there."""
    with _writing(parent):
        folder = tempfile.TemporaryDirectory(dir=parent, ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Raise UnwritableFolderError if the block cannot write."""
    try:
        yield
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error


def _unwritable(path: Path, reason: str) -> UnwritableFolderError:
    text = _(
        "Expected space in {path} for the files of the measuring processes. Received: {reason}. "
        "Free some space there, or set the environment variable {variable} to another folder."
    )
    return UnwritableFolderError(text, path=str(path), reason=reason, variable=TEMPORARY[0])


def _last_words(printed: IO[bytes]) -> str:
    """The end of what a process has printed."""
    size = printed.seek(0, os.SEEK_END)
    printed.seek(max(0, size - LAST_WORDS))
    return printed.read().decode(errors="replace").strip()
