"""Part 1: the networks of the chapter `faster` at several batch sizes, eager and compiled.

Inference and one training step, by every metric, with cold starts and peak memory.
"""

import math
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np

from d2lhybrid import compare, synchronize
from d2lhybrid.timing import PeakMemory
from recording.chapter_networks import Case, Jax, PyTorch
from recording.recordings import ColdStart, Measured, Row
from recording.reporting import Report

METRICS = ("latency", "throughput", "device")


def room(framework: str, rehearsed: bool) -> PyTorch | Jax:
    """The framework's networks and the ways to run them."""
    return PyTorch(rehearsed) if framework == "pytorch" else Jax(rehearsed)


def measure_networks(order: Any, report: Report) -> None:
    """Compare the ways to run each case, an entry each."""
    networks = room(order.framework, order.rehearsed)
    for item in report.items():
        about = {**item["case"], "process": order.process, "settings": networks.settings()}
        with report.entry(Measured(**about, seconds=0.0)) as entry:
            report.fail_if_planted()
            measured(networks, Case(**item["case"]), item["limit"], entry)


def measured(networks: PyTorch | Jax, case: Case, limit: float, entry: Measured) -> None:
    """Fill in what ``compare`` says of this case, peak memory, and how far answers differ."""
    ways, args = networks.ways(case)
    # Answers are compared below: here a way that rounds differently stays a row.
    comparison = compare(ways, *args, time_limit=limit, check=False, progress=False)
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


def measure_cold_starts(order: Any, report: Report) -> None:
    """Build each way of each case and call it twice. It also fills the frameworks' disk caches."""
    networks = room(order.framework, order.rehearsed)
    for item in report.items():
        about = {**item["case"], "process": order.process, "beside": order.beside}
        with report.entry(ColdStart(**about)) as entry:
            ways, args = networks.ways(Case(**item["case"]))
            for label, way in ways.items():
                entry.first_call[label], entry.second_call[label] = two_calls(way, args)
                report.told(entry)  # is kept, should the next one end the process


def two_calls(way: Any, args: tuple[Any, ...]) -> Iterator[float]:
    """The seconds of the first and the second call."""
    for _call in range(2):
        start = perf_counter()
        way(*args)
        synchronize()
        yield perf_counter() - start
