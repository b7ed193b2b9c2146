"""The part that measures the networks of the chapter `faster`, eager and compiled.

At several batch sizes, inference and one training step, by every metric, with cold starts and peak
memory.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from d2lhybrid import compare
from d2lhybrid.memory import PeakMemory
from recording.chapter_networks import Case, Jax, PyTorch
from recording.part import PartFile
from recording.recordings import Measured, Row

LIMIT = 2.0  # seconds of a comparison's rounds
METRICS = ("latency", "throughput", "device")


# Networks, sizes, types and tasks, the most wanted first.
CASES = [
    Case("resnet", 1),
    Case("resnet", 32),
    Case("encoder", 1),
    Case("encoder", 32),
    Case("mlp", 1),
    Case("resnet", 32, task="training"),
    Case("encoder", 32, task="training"),
    Case("resnet", 1024),
    Case("encoder", 1024),
    Case("resnet", 1024, "bfloat16"),
    Case("encoder", 1024, "bfloat16"),
    Case("resnet", 1024, task="training"),
    Case("encoder", 1024, task="training"),
    Case("resnet", 1024, "bfloat16", "training"),
    Case("encoder", 1024, "bfloat16", "training"),
    Case("mlp", 32),
    Case("mlp", 65536),
]
# These run in further processes, for how far processes differ.
REPEATED = CASES[:4]
PROCESSES = {"pytorch": 3, "jax": 1}


def cases_of(framework: str) -> list[Case]:
    """The cases of a framework.

    One operation at a time, JAX's training steps at batch 1024 take minutes.
    """
    return [
        case
        for case in CASES
        if framework != "jax" or (case.batch, case.task) != (1024, "training")
    ]


def missing(cases: Sequence[Case], processes: int, entries: Sequence[Measured]) -> list[Case]:
    """What the next process is to measure: all cases once, and then the first ones again."""
    done = Counter(Case(entry.network, entry.batch, entry.dtype, entry.task) for entry in entries)
    again = [case for case in cases if case in REPEATED and done[case] < processes]
    return [case for case in cases if not done[case]] or again


def record(part: PartFile) -> None:
    """Compare the ways to run each case that is missing, an entry each.

    A process measures a case once. The next one measures it again, as often as it is wanted.
    """
    framework, entries = part.recording.framework, part.recording.entries
    cases, processes = cases_of(framework), PROCESSES[framework]
    networks = PyTorch() if framework == "pytorch" else Jax()
    process = 1 + max((entry.process for entry in entries), default=0)
    for case in missing(cases, processes, entries):
        about = {**asdict(case), "process": process, "settings": networks.settings()}
        with part.entry(Measured(**about, seconds=0.0)) as entry:
            measured(networks, case, entry)
    if not missing(cases, processes, entries):
        part.complete()


def measured(networks: PyTorch | Jax, case: Case, entry: Measured) -> None:
    """Fill in what ``compare`` says of this case, peak memory, and how far answers differ."""
    ways, args = networks.ways(case)
    # Answers are compared below: here a way that rounds differently stays a row.
    comparison = compare(ways, *args, time_limit=LIMIT, check=False, progress=False)
    print(comparison, flush=True)
    extra = answers(ways, args) if case.task == "inference" else {}
    for label in comparison:
        known = [metric for metric in METRICS if getattr(comparison[label].times, metric)]
        row = Row(
            label=label,
            seconds={metric: comparison[label].median_of(metric) for metric in known},
            ratio={metric: ratio(comparison, label, metric) for metric in known},
            verdict={metric: comparison.verdict(label, metric) for metric in known},
            cold_seconds=comparison[label].cold_seconds,
            deprecated=label in comparison.deprecated,
            **extra.get(label, {}),
        )
        entry.rows.append(row)
        entry.noise_floor = {metric: finite(comparison.floor_of(metric)) for metric in known}
    entry.unavailable, entry.stopped = comparison.unavailable, comparison.stopped
    entry.rounds = comparison.rounds


def ratio(
    comparison: Any, label: str, metric: str
) -> tuple[float | None, float | None, float | None]:
    """Ratio, low and high; None in place of infinity."""
    estimate, low, high = comparison.ratio(label, metric)
    return finite(estimate), finite(low), finite(high)


def finite(number: float) -> float | None:
    """None in place of infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


def answers(ways: Any, args: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """By label: the peak of device memory in a call, and how far its answer is from the baseline's.

    That is the largest difference, relative to the largest number of the baseline's answer.
    """
    found: dict[str, dict[str, Any]] = {}
    expected = None
    for label, way in ways.items():
        peak = PeakMemory()
        answer = way(*args)
        rise = peak.device_bytes()
        numbers = np.asarray(answer.float().cpu() if hasattr(answer, "cpu") else answer, np.float64)
        expected = numbers if expected is None else expected
        apart = float(np.abs(numbers - expected).max() / np.abs(expected).max())
        found[label] = {"difference": finite(apart), "peak_bytes": rise}
    return found
