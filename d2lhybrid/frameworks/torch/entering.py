"""What PyTorch does in a call of compiled code before and after the program itself runs."""

from collections import defaultdict
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

from torch.autograd.profiler import profile

MOST_CALLS, MOST_SECONDS = 200, 0.3
# The profiler's own names for it: looking for a program whose guards hold, the code around the
# region that was compiled, and what AOTAutograd and Dynamo do around the program.
_PARTS = (
    "TorchDynamo Cache Lookup",
    "Torch-Compiled Region",
    "Pregraph bytecode",
    "AOTDispatcher Runtime Wrapper",
)


def entering_seconds(run: Callable[[], Any]) -> float | None:
    """Seconds of a call that go into entering compiled code; None if the profiler names none.

    Of each part what it takes itself, without the program inside it.
    """
    run()
    calls, end = 0, perf_counter() + MOST_SECONDS
    with profile(use_kineto=False) as profiled:  # Kineto writes lines to the standard error
        while calls < MOST_CALLS and perf_counter() < end:
            run()
            calls += 1
    times = defaultdict(list)  # of each part, in microseconds
    for event in profiled.function_events:
        if event.name.startswith(_PARTS):
            times[event.name].append(event.self_cpu_time_total)
    # Other programs make some calls longer, so medians count.
    a_call = sum(len(of_part) / calls * median(of_part) for of_part in times.values())
    return a_call * 1e-6 if times else None
