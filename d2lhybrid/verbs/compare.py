"""``compare``: it checks its arguments and runs an ``Experiment``."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from inspect import signature
from time import perf_counter
from typing import Any

from d2lhybrid.backends.owners import module_classes
from d2lhybrid.backends.verb import verb
from d2lhybrid.core.arguments import Args, Call
from d2lhybrid.core.errors import ArgumentError, D2LHybridError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import unknown_label
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.experiments.experiment import Callables, Experiment
from d2lhybrid.measuring import stats
from d2lhybrid.measuring.disturbance import cores_held
from d2lhybrid.measuring.provenance import core_count
from d2lhybrid.timing import TimerFunction
from d2lhybrid.verbs import options
from d2lhybrid.verbs.callables import SourceFile, callables_of, not_comparable
from d2lhybrid.verbs.ways import Variants


def _misused(given: Mapping[str, Any]) -> str:
    what, args = given["what"], given.get("args", ())
    if args and isinstance(what, str) and ":" in what:
        return _("The function in {file} returns its arguments as well.").format(file=what)
    if callable(what) and args and callable(args[0]) and _is_another(args[0], what, args):
        text = _("Write {right} instead of {wrong}.")
        right = "compare({'eager': f, 'compiled': g}, x)"
        return text.format(right=right, wrong="compare(f, g, x)")
    names_a_file = isinstance(what, SourceFile) or (isinstance(what, str) and not args)
    return "" if names_a_file else not_comparable(what)


def _is_another(one: Any, what: Callable[..., Any], args: Args) -> bool:
    """Is the first input something else to compare: both are models, or one input too many?"""
    with suppress(Exception):  # a signature may be anything, as an attribute of the callable
        taken = signature(what)
        try:
            taken.bind(*args)
        except TypeError:
            return True
    return isinstance(what, modules := module_classes()) and isinstance(one, modules)


@verb("compare(net, x)", "compare({'eager': f, 'compiled': g}, x)", check=_misused)
def compare(
    what: Callable[..., Any] | Mapping[str, Callable[..., Any] | Call] | Call | SourceFile | str,
    /,
    *args: Any,
    baseline: str | None = None,
    references: Sequence[str] = (),
    check: bool | float = True,
    time_limit: float = 20.0,
    build_timeout: float | None = None,
    seed: int | None = None,
    margin: float = stats.MARGIN,
    processes: int | None = None,
    threads: int | None = None,
    why: bool = True,
    progress: bool | None = None,
    timer: TimerFunction = perf_counter,
) -> Comparison:
    """Time the ways to run a model, or several functions, and compare each to the baseline.

    First, it starts the compilers that the callables are known to need, so no row pays for this.
    Then it calls each callable once; if building and loading are separate from that call, they are
    timed separately. Unless `check` is False, the outputs are compared; a number as `check` is the
    tolerance, relative to each element. After warm-up, every round calls each callable in an order
    drawn from `seed`, and the baseline once more, which gives the noise floor. If work is queued, a
    turn times both calls that it waits for and a stream of calls. The rounds end when every verdict
    is clear and every interval is narrower than 10%, but not before 20 rounds; after 2000 rounds;
    after `time_limit` seconds of rounds; or at an interrupt, with the complete rounds. At least six
    rounds are taken, unless they need more than twice the limit; the result then says which limit
    is enough, and gives no verdict.

    A callable that donates its arguments, as ``jax.jit(f, donate_argnums=0)``, is refused, because
    its first call would delete the arrays that all other calls are to get.

    If a variant cannot be built, raises or gives a different answer, the comparison goes on without
    it and shows the reason. A compiler that caches on disk builds the same program in a fraction of
    the time in the next process; a first call that found its program there is marked.

    The interval of one process covers its rounds. It leaves out what is decided once per process,
    such as where memory lies and which thread runs on which core, so another process may give a
    different result. With six or more `processes`, the interval is that of the median of all
    processes; one more process lies between the extremes of six with a probability of 5/7. A turn
    during which other programs made the threads wait does not count. If fewer than six rounds are
    left, more are taken, for up to twice the limit. Nothing is decided if that is not enough, or if
    an operation can use several threads and fewer than half of the rounds are left.
    docs/measuring.md has more.

    Args:
        what: a model or a function of tensors, whose ways to run are compared, as ``variants``
            gives them; ``call(net, ...)``, if the model takes keyword arguments; callables by
            label; or what ``variants`` or ``training`` returns. Any of the callables can be
            ``call(function, ...)`` with its own arguments, which come before those of every call.
            As a text, ``"model.py:example"``: a function in a file that returns one of these, which
            each process calls for itself.
        args: the arguments of every call. What ``variants`` returns holds them.
        baseline: the label that ratios refer to; the first one if None.
        references: labels of programs to compare with, such as a copy of the array. They are
            measured and shown, but never recommended.
        check: True compares outputs with the tolerance of their dtype, a number is the tolerance
            for floating-point numbers, and False compares nothing. Integers have to be equal. A
            GPU may round float32 to TF32 inside a product (PyTorch's convolutions and JAX's
            products do): there True allows 1/256 of the largest number in the row (the last axis).
        time_limit: seconds of rounds; first calls and warm-up take extra time. The environment
            variable ``D2LHYBRID_MOST_SECONDS`` lowers it, to try quickly whether a notebook or
            script runs.
        build_timeout: seconds that building, loading and the first call of a variant may take
            together; a variant that takes longer is interrupted and left out. Works in the main
            thread, and with `processes` in any; not on Windows, which has no alarms.
        seed: the seed for the order within the rounds; drawn if None, and kept in the result.
        margin: what counts as the same, as a fraction (0.02 is 2%).
        processes: how many fresh processes measure, one after the other; None measures in this one.
            Each builds, makes the first calls, warms up and takes rounds for an equal share of
            `time_limit`. If other programs leave a verdict of five or more undecided, up to half as
            many more measure. The ratio is the median over the processes; with fewer than six there
            is no interval. A variant that crashes its process is left out, and so is one at which
            a process has not ended in time: ``build_timeout``, or ten minutes, for each callable,
            and a few minutes beside. Models and arguments have to be such as cloudpickle can send;
            what can't be sent, or was compiled by hand, a function in a file makes. Compilers find
            empty caches on disk in the first process, so its cold starts, which the table has, are
            cold, and in the others what the first has compiled.
        threads: how many threads each framework may use. A framework reads this when it starts, so
            without `processes`, one fresh process measures. If None and other programs leave fewer
            cores than the framework has threads, that is done with one thread, if the functions and
            arguments can be sent there; a line below the table says so.
        why: after the rounds, ask what is observed of the compiled variants; the result has a line
            of facts for each, and a cause if one is decisive. This calls them a few more times, and
            takes a second at most. The result's ``why()`` can do this later; if fresh processes
            measure, in one more.
        progress: say what is being built, and count what takes longer than two seconds; None does
            so in a notebook and in a terminal.
        timer: a function that returns seconds, such as ``time.perf_counter``; `time_limit` uses it
            as well.

    Returns:
        A Comparison. It can take more rounds for an undecided claim, and keeps the callables and
        their arguments for that; its ``release()`` returns a copy without them.

    Raises:
        ArgumentError, UnknownLabelError: the arguments don't fit, there is no such option, or
            something cannot be sent to another process; the message says how to write it.
        UnknownFrameworkError: neither a model alone nor its arguments belong to a known framework.
        CannotBuildError: the baseline cannot be built on this machine.
        CallFailedError: the baseline raised.
        DifferentAnswerError: the baseline gives a different answer at the second call.
        KeyboardInterrupt: it came before the first round was complete.

    >>> import numpy as np
    >>> x = np.ones(10_000)
    >>> result = compare({"Python": sum, "NumPy": np.sum}, x, progress=False)
    >>> result.verdict("NumPy")
    'faster'
    """
    settings: dict[str, Any] = {  # before a file is run, or anything is built
        "time_limit": options.time_limit(time_limit),
        "seed": secrets.randbits(32) if seed is None else options.number("seed", seed),
        "check": check if isinstance(check, bool) else options.number("check", check),
        "margin": options.number("margin", margin),
        "build_timeout": options.number_or_none("build_timeout", build_timeout),
        "timer": options.timer(timer),
    }
    processes = options.number_or_none("processes", processes)
    threads = options.number_or_none("threads", threads)
    if isinstance(what, str):
        what = SourceFile(what)
    functions, args, kwargs = callables_of(what, args)
    unavailable = functions.unavailable if isinstance(functions, Variants) else {}
    baseline, references = _labels(functions, unavailable, baseline, references)
    experiment = Experiment(
        functions,
        args,
        kwargs,
        baseline=baseline,
        references=references,
        unavailable=unavailable,
        progress=progress,
        **settings,
    )
    make = partial(callables_of, what) if isinstance(what, SourceFile) else None
    comparison = _run(experiment, make, processes=processes, threads=threads, why=why)
    if why and comparison.stopped != "interrupted":
        with suppress(Exception, KeyboardInterrupt):  # what was measured is there
            return comparison.asked()
    return comparison


def _run(
    experiment: Experiment,
    make: Callable[[], Callables] | None,
    *,
    processes: int | None,
    threads: int | None,
    why: bool,
) -> Comparison:
    """Measure here, or in fresh processes, if they are asked for or other programs hold cores.

    A framework chooses its threads when its process starts, so it takes a fresh one to measure with
    one thread. Where that one fails, this process measures, and says why.
    """
    held = 0 if threads else cores_held(experiment.timer, experiment.time_limit)
    if not (processes or threads or held):
        return experiment.run()
    from d2lhybrid.experiments.process_experiment import OneProcessExperiment, ProcessExperiment

    if held:
        threads = 1
        text = _("Measured with one thread, because other programs hold {held} of {cores} cores.")
        experiment.circumstance = text.format(held=held, cores=core_count())
    if processes:
        return ProcessExperiment(experiment, processes, threads, make, why).run()
    try:
        return OneProcessExperiment(experiment, 1, threads, make, why).run()
    except (D2LHybridError, OSError) as error:  # such as a full disk
        if not held:
            raise
        reason = getattr(error, "reason", str(error))  # without the lines that one could write
        text = _(
            "Other programs hold {held} of {cores} cores, and no process with one thread could "
            "measure this: {reason}"
        )
        experiment.circumstance = text.format(held=held, cores=core_count(), reason=reason)
        return experiment.run()


def _labels(
    functions: Mapping[str, Any],
    unavailable: Mapping[str, str],
    baseline: str | None,
    references: Any,
) -> tuple[str, tuple[str, ...]]:
    """The label of the baseline, the first one for None; and those of the others among them."""
    known = [*functions, *unavailable]
    if baseline is None:
        baseline = next(iter(functions))
    elif not isinstance(baseline, str) or baseline not in functions:
        raise unknown_label(baseline, functions, unavailable)
    if not isinstance(references, (tuple, list)) or any(label not in known for label in references):
        text = _("Expected references among {labels}, in a tuple. Received: {received!r}.")
        raise ArgumentError(text.format(labels=", ".join(map(repr, known)), received=references))
    return baseline, tuple(label for label in references if label != baseline)
