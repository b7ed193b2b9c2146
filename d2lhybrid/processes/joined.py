"""One comparison, joined from those of several processes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from d2lhybrid.measuring.measurement import Measurement, Samples
from d2lhybrid.verbs.comparison import Comparison, MeasuresOn


def join(
    processes: Sequence[Comparison],
    *,
    seed: int,
    unavailable: Mapping[str, str] = {},
    stopped: str = "",
    experiment: MeasuresOn | None = None,
) -> Comparison:
    """One comparison of what several processes measured, at least one.

    A variant that one of them could not measure is left out, with its reason or that which
    `unavailable` has.
    """
    first = processes[0]
    labels = [
        label
        for label in first
        if label not in unavailable and all(label in process for process in processes)
    ]
    reasons: dict[str, str] = {}
    for process in processes:
        reasons |= process.unavailable
    reasons_to_stop = {process.stopped for process in processes}
    longest = max(process.limit_needed or 0.0 for process in processes)
    return Comparison(
        measurements=tuple(
            _measurement([process[label] for process in processes]) for label in labels
        ),
        baseline=first.baseline,
        baseline_repeat=_samples([process.baseline_repeat for process in processes]),
        unavailable=reasons | dict(unavailable),
        references=tuple(label for label in first.references if label in labels),
        deprecated=tuple(label for label in first.deprecated if label in labels),
        other_runtimes=tuple(label for label in first.other_runtimes if label in labels),
        checked=first.checked,
        seed=seed,
        stopped=stopped or ("limit" if "limit" in reasons_to_stop else "clear"),
        margin=first.margin,
        limit_needed=len(processes) * longest if longest else None,
        processes=tuple(process.release() for process in processes),
        experiment=experiment,
    )


def _measurement(measurements: Sequence[Measurement]) -> Measurement:
    """One callable in several processes: medians of theirs, one sample a process.

    What is paid once is that of the first process, because its caches serve the others.
    """
    first = measurements[0]

    def median_of(name: str) -> float | None:
        known = [seconds for m in measurements if (seconds := getattr(m, name)) is not None]
        return statistics.median(known) if known else None

    laters = [n for m in measurements if (n := m.later_compilations) is not None]
    return replace(
        first,
        processes=len(measurements),
        times=_samples([m.times for m in measurements]),
        note="; ".join(dict.fromkeys(m.note for m in measurements if m.note)) or None,
        env=replace(
            first.env,
            load=max((m.env.load for m in measurements if m.env.load is not None), default=None),
            page_fault_seconds=statistics.median(
                m.env.page_fault_seconds or 0.0 for m in measurements
            )
            or None,
        ),
        page_faults=median_of("page_faults"),
        later_compilations=sum(laters) if laters else None,
        later_calls=sum(m.later_calls for m in measurements),
    )


def _samples(processes: Sequence[Samples]) -> Samples:
    """The medians of the processes by each metric that all of them took."""

    def medians(metric: str) -> tuple[float, ...]:
        return tuple(statistics.median(samples.of(metric)) for samples in processes)

    is_queued = any(samples.throughput for samples in processes)
    has_device = all(samples.device for samples in processes)
    return Samples(
        medians("latency"),
        medians("throughput") if is_queued else None,
        medians("device") if has_device else None,
    )
