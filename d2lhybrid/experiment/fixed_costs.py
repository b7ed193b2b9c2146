"""What a call costs besides its program: entering compiled code, conversions, copies."""

import cProfile
import os
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from d2lhybrid.core.arguments import Call
from d2lhybrid.core.host_array import HostArray, dtype_and_shape
from d2lhybrid.experiment.facts import MANY_TENSORS
from d2lhybrid.experiment.provenance import environment
from d2lhybrid.experiment.rounds import Rounds, StoppingRule
from d2lhybrid.experiment.sampler import Sampler
from d2lhybrid.experiment.subject import Subject
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.failures import is_users

SECONDS = 0.3  # of the rounds that measure what entering costs
COPIES = 5  # of an argument, of which the quickest counts


class Entry(NamedTuple):
    """Seconds of a call of the smallest model, compiled in the same way and eager."""

    compiled: float | None
    eager: float


def _of_one_element(tensor: Any, framework: Framework) -> Any:
    """The first element of a tensor, with its dtype, on its device, with as many dimensions.

    Of an array that the framework takes for a tensor, the tensor.
    """
    _dtype, shape = dtype_and_shape(tensor)
    first = tensor[tuple(slice(0, 1) for _axis in shape)] if shape else tensor
    return first if framework.is_tensor(first) else framework.from_host(HostArray.of(first), {})


def entry_of(
    subject: Subject, framework: Framework, tensors: Sequence[Any], needs_compiled: bool
) -> Entry:
    """What a call of the smallest model takes, with one element of each of these tensors.

    If they are many, such as the state of a training, they are only passed, and 1 is added to the
    first: passing them takes long to compiled code, and adding 1 to each would take longer to eager
    code than they take to pass.
    """
    tensors = [_of_one_element(tensor, framework) for tensor in tensors]
    eager, compiled = subject.smallest(framework, tensors, len(tensors) > MANY_TENSORS)
    functions = {"eager": eager}
    if compiled is not None and needs_compiled:
        functions["compiled"] = compiled
    times = _seconds_of({label: Call(run, (*tensors,), {}) for label, run in functions.items()})
    return Entry(times.get("compiled"), times["eager"])


def _seconds_of(calls: Mapping[str, Call]) -> dict[str, float]:
    """The latencies of these, in a few rounds of their own."""
    samplers = {label: Sampler(label, call, perf_counter) for label, call in calls.items()}
    rounds = Rounds(samplers, next(iter(calls)), environment())
    rounds.each([*samplers.values()], lambda sampler: sampler.call_first())
    rounds.prepare(SECONDS, 20)
    if rounds.run(StoppingRule(SECONDS, lambda: False)) == "interrupted":
        raise KeyboardInterrupt
    measured = {label: s.samples(rounds.is_async) for label, s in rounds.samplers.items()}
    return {label: statistics.median(times.of()) for label, times in measured.items()}


def converting_share(subject: Subject, framework: Framework, by_user: bool) -> float:
    """The part of a call in which it makes tensors of arrays and of Python's numbers.

    By Python's profiler: of the framework's functions for that the one that takes longest counts;
    `by_user`, only where the user's own code calls it.
    """
    if sys.getprofile() is not None:  # the user profiles, and there is one profiler
        return 0.0
    folder = os.path.join(Path(framework.load().__file__).parent, "")

    def converts(code: Any) -> bool:
        if isinstance(code, str):  # of a built-in, such as "<built-in method torch.tensor>"
            package, _dot, name = code.rstrip(">").rpartition(" ")[2].rpartition(".")
            return package == framework.name and name in framework.conversions
        return code.co_name in framework.conversions and code.co_filename.startswith(folder)

    def is_asked(caller: Any) -> bool:
        return not by_user or (not isinstance(caller, str) and is_users(caller.co_filename))

    shares = []
    for _turn in range(COPIES):
        framework.synchronize()
        profile, start = cProfile.Profile(perf_counter), perf_counter()
        framework.wait_for(profile.runcall(subject.run))
        whole = perf_counter() - start
        times = [
            called.totaltime
            for caller in profile.getstats()
            if is_asked(caller.code)
            for called in caller.calls or ()
            if converts(called.code)
        ]
        shares.append(max(times, default=0.0) / whole)
    return statistics.median(shares)


def conversion_seconds(subject: Subject, framework: Framework) -> float:
    """What a call takes longer with NumPy arrays than with tensors made of them before."""

    def converted(argument: Any) -> Any:
        is_array = isinstance(argument, np.ndarray)
        return framework.from_host(HostArray.of(argument), {}) if is_array else argument

    args = tuple(map(converted, subject.args))
    kwargs = {name: converted(argument) for name, argument in subject.kwargs.items()}
    calls = {"arrays": subject.call, "tensors": Call(subject.function, args, kwargs)}
    times = _seconds_of(calls)
    return max(0.0, times["arrays"] - times["tensors"])


def quickest(copy: Callable[[], Any]) -> float:
    """Seconds of the quickest of a few copies."""
    times = []
    for _turn in range(COPIES):
        start = perf_counter()
        copy()
        times.append(perf_counter() - start)
    return min(times)
