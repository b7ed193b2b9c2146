"""What PyTorch does in a call of compiled code before and after the program itself runs."""

from collections import defaultdict
from collections.abc import Callable
from time import perf_counter
from typing import Any

from torch.autograd.profiler import profile

MOST_CALLS, MOST_SECONDS = 200, 0.3
# The profiler's own names for it: looking for a program whose guards hold, the code around the
# region that was compiled, and what AOTAutograd and Dynamo do around the program; with gradients,
# in an autograd function of AOTAutograd, in its forward and in its backward.
_REGION = "Torch-Compiled Region"
_PARTS = (
    "TorchDynamo Cache Lookup",
    _REGION,
    "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper",
    "CompiledFunction",
)
_PROGRAM = "## Call CompiledFxGraph"


def entering_seconds(run: Callable[[], Any]) -> float | None:
    """Seconds of a call that go into entering compiled code; None if the profiler names none.

    Of each part what it takes itself, without the program inside it. That has to be one of
    Inductor's: a program of another backend runs in Python, which no part can be told from.
    """
    run()
    calls, end = 0, perf_counter() + MOST_SECONDS
    with profile(use_kineto=False) as profiled:  # Kineto writes lines to the standard error
        while calls < MOST_CALLS and perf_counter() < end:
            run()
            calls += 1
    times = defaultdict(list)  # of each part, in microseconds
    has_program = False
    for event in profiled.function_events:
        has_program = has_program or event.name.startswith(_PROGRAM)
        if event.name.startswith(_PARTS):
            times[event.name].append(event.self_cpu_time_total)
    # Other programs can only make calls longer, and on a busy machine most of them.
    a_call = sum(len(of_part) / calls * _lower_quartile(of_part) for of_part in times.values())
    return a_call * 1e-6 if times and has_program else None


def _lower_quartile(times: list[float]) -> float:
    return sorted(times)[len(times) // 4]


def runs_eagerly(run: Callable[[], Any]) -> bool:
    """Does a call enter no program of TorchDynamo?"""
    with profile(use_kineto=False) as profiled:
        run()
    return not any(event.name.startswith(_REGION) for event in profiled.function_events)
