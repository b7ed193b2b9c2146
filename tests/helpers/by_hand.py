"""Results made by hand, for what is to be seen of them: no clock, no framework."""

import numpy as np

from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.measuring.measurement import Measurement, Samples
from d2lhybrid.measuring.provenance import Environment
from d2lhybrid.verbs.sweep import Sweep

ENV = Environment(
    date="2026-11-21T10:00:00+00:00",
    versions={"python": "3.11.9", "numpy": "2.4.6", "torch": "2.13.0"},
    cpu="Intel(R) Xeon(R) Processor @ 2.60GHz",
    cores=2,
    threads={"torch": 1},
    accelerators=(),
    load=0.4,
)


def samples_around(median, rounds=30, noise=0.005, seed=0):
    """Samples around a median, whose signs of noise balance."""
    spread = np.random.default_rng(seed).standard_normal(rounds)
    balanced = spread - np.median(spread)
    return tuple(float(median * np.exp(noise * deviation)) for deviation in balanced)


def comparison(
    latency,
    throughput=None,
    first=None,
    env=ENV,
    noise=0.005,
    rounds=30,
    busy=False,
    changes=None,
    **fields,
):
    """A comparison with these medians, in seconds; the first label is the baseline.

    Args:
        latency: the median by label.
        throughput: the same in a stream of calls; None where nothing is queued.
        first: the seconds of the first call by label; a usual call's if there is none.
        env: where it was measured.
        noise: how far samples spread, as a fraction.
        rounds: how many samples there are.
        busy: did other programs hold every callable up in all rounds but three?
        changes: by label, other fields of its Measurement.
        fields: other fields of the Comparison.
    """

    def samples(label, seed):
        stream = None
        if throughput:
            stream = samples_around(throughput[label], rounds, noise, seed + 100)
        disturbed = tuple(range(3, rounds)) if busy else ()
        latencies = samples_around(latency[label], rounds, noise, seed)
        return Samples(latencies, stream, disturbed=disturbed)

    def measurement(label, seed):
        fields = {
            "label": label,
            "build_seconds": None,
            "load_seconds": None,
            "first_seconds": (first or {}).get(label, latency[label]),
            "times": samples(label, seed),
            "inner_iterations": 10,
            "stream_calls": None,
            "warmup_calls": 3,
            "note": None,
            "env": env,
        }
        return Measurement(**{**fields, **(changes or {}).get(label, {})})

    baseline = next(iter(latency))
    usual = {
        "measurements": tuple(measurement(label, seed) for seed, label in enumerate(latency)),
        "baseline": baseline,
        "baseline_repeat": samples(baseline, 50),
        "unavailable": {},
        "references": (),
        "deprecated": (),
        "other_runtimes": (),
        "checked": True,
        "seed": 1,
        "stopped": "clear",
    }
    return Comparison(**{**usual, **fields})


def sweep(sizes, by_label, **fields):
    """A sweep with these medians for each size."""
    by_size = zip(*by_label.values(), strict=True)
    comparisons = [
        comparison(dict(zip(by_label, medians, strict=True)), **fields) for medians in by_size
    ]
    return Sweep(tuple(sizes), tuple(comparisons))
