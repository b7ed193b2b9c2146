"""One comparison, joined from those of several processes."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.measuring.measurement import Measurement, Samples


def join(
    processes: Sequence[Comparison],
    *,
    seed: int,
    unavailable: Mapping[str, str] = {},
    count: int | None = None,
) -> Comparison:
    """One comparison of what several processes measured, at least one.

    A variant that one of them could not measure is left out, with its reason or that which
    `unavailable` has. Their time limit is that of `count` processes, or of all if None.
    """
    reasons: dict[str, str] = {}
    for process in processes:
        reasons |= process.unavailable
    reasons |= unavailable
    stopped = {process.stopped for process in processes}
    longest = max(process.limit_needed or 0.0 for process in processes)
    return replace(
        processes[0],
        measurements=tuple(
            _measurement([process[label] for process in processes])
            for label in processes[0]
            if label not in reasons
        ),
        baseline_repeat=_samples([process.baseline_repeat for process in processes]),
        unavailable=reasons,
        seed=seed,
        stopped=next((why for why in ("limit", "most") if why in stopped), "clear"),
        limit_needed=(count or len(processes)) * longest if longest else None,
        processes=tuple(process.release() for process in processes),
    )


def _measurement(measurements: Sequence[Measurement]) -> Measurement:
    """One callable in several processes: medians of theirs, one sample a process.

    What is paid once is that of the first process, because its caches serve the others.
    """
    laters = [n for m in measurements if (n := m.later_compilations) is not None]
    return replace(
        measurements[0],
        processes=len(measurements),
        times=_samples([m.times for m in measurements]),
        note="; ".join(dict.fromkeys(m.note for m in measurements if m.note)) or None,
        later_compilations=sum(laters) if laters else None,
        later_calls=sum(m.later_calls for m in measurements),
    )


def _samples(processes: Sequence[Samples]) -> Samples:
    """The medians of the processes by each metric that all of them took."""

    def medians(metric: str) -> tuple[float, ...]:
        return tuple(statistics.median(samples.usable(metric)) for samples in processes)

    is_queued = any(samples.throughput for samples in processes)
    has_device = all(samples.device for samples in processes)
    return Samples(
        medians("latency"),
        medians("throughput") if is_queued else None,
        medians("device") if has_device else None,
    )
