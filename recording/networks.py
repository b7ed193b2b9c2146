"""The part that measures the networks of the chapter `faster`, eager and compiled.

At several batch sizes, inference and one training step, by every metric, with cold starts.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from d2lhybrid import compare
from recording.chapter_networks import Case, Jax, PyTorch
from recording.part_file import PartFile
from recording.recordings import Measured, Row

LIMIT = 2.0  # seconds of a comparison's rounds
METRICS = ("latency", "throughput", "device")

# Networks, sizes and tasks, the most wanted first.
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
    Case("resnet", 1024, task="training"),
    Case("encoder", 1024, task="training"),
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
    done = Counter(Case(entry.network, entry.batch, entry.task) for entry in entries)
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
    """Fill in what ``compare`` says of this case."""
    ways, args = networks.ways(case)
    # The notebook's own cells compare the answers; here, a way that rounds differently stays a row.
    comparison = compare(ways, *args, time_limit=LIMIT, check=False, progress=False)
    print(comparison, flush=True)
    for label in comparison:
        known = [metric for metric in METRICS if getattr(comparison[label].times, metric)]
        row = Row(
            label=label,
            seconds={metric: comparison[label].median_of(metric) for metric in known},
            ratio={metric: ratio(comparison, label, metric) for metric in known},
            verdict={metric: comparison.verdict(label, metric) for metric in known},
            cold_seconds=comparison[label].cold_seconds,
            deprecated=label in comparison.deprecated,
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
