"""Results made by hand, for what is to be seen of them: no clock, no framework."""

import numpy as np

from d2lhybrid.experiment.comparison import Comparison, Sweep
from d2lhybrid.experiment.measurement import Measurement, Samples
from d2lhybrid.experiment.provenance import Environment

ENV = Environment(
    date="2026-11-21T10:00:00+00:00",
    versions={"python": "3.11.9", "numpy": "2.4.6", "torch": "2.13.0"},
    cpu="Intel(R) Xeon(R) Processor @ 2.60GHz",
    cores=2,
    threads={"torch": 1},
    accelerators=(),
    load=0.4,
)
BUSY = Environment(**{**vars(ENV), "load": 15.0})


def times(median, rounds=30, noise=0.005, seed=0):
    """Samples around a median, whose signs of noise balance."""
    spread = np.random.default_rng(seed).standard_normal(rounds)
    return tuple(float(median * np.exp(noise * (one - np.median(spread)))) for one in spread)


def comparison(
    latency, throughput=None, first=None, env=ENV, noise=0.005, rounds=30, changes=None, **fields
):
    """A comparison with these medians, in seconds; the first label is the baseline."""

    def samples(label, seed):
        stream = throughput and times(throughput[label], rounds, noise, seed + 100)
        return Samples(times(latency[label], rounds, noise, seed), stream or None)

    measurements = []
    for seed, label in enumerate(latency):
        made = {
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
        measurements.append(Measurement(**{**made, **(changes or {}).get(label, {})}))
    base = next(iter(latency))
    given = {
        "baseline": base,
        "baseline_repeat": samples(base, 50),
        "unavailable": {},
        "references": (),
        "deprecated": (),
        "checked": True,
        "seed": 1,
        "stopped": "clear",
    }
    return Comparison(tuple(measurements), **{**given, **fields})


def sweep(work, by_label, **fields):
    """A sweep with these medians for each size."""
    columns = zip(*by_label.values(), strict=True)
    made = [comparison(dict(zip(by_label, column, strict=True)), **fields) for column in columns]
    return Sweep(tuple(work), tuple(made))
