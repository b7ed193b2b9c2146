"""JSON of version 1, which had one clock, as version 2.

It waited once a sample, whatever number of calls the sample held.
"""

from typing import Any

from d2lhybrid.i18n import noop as N_

Content = dict[str, Any]


def measurement(content: Content) -> Content:
    """A measurement's fields."""
    several = content["calls"] > 1
    return {
        "label": content["label"],
        "build_seconds": None,
        "load_seconds": None,
        "first_seconds": content["cold_seconds"],
        "times": _samples(content["samples"], content["device_samples"]),
        "calls": content["calls"],
        "stream_calls": None,
        "warmup_calls": content["warmup_calls"],
        "peak_bytes": None,
        "host_peak_bytes": None,
        "note": N_("the calls of a sample were waited for together") if several else None,
        "env": content["env"],
    }


def comparison(content: Content) -> Content:
    """A comparison's fields."""
    return {
        **content,
        "measurements": [measurement(one) for one in content["measurements"]],
        "again": _samples(content["again"], None),
        "references": [],
        "limit_needed": None,
    }


def sweep(content: Content) -> Content:
    """A sweep's fields."""
    return {**content, "comparisons": [comparison(one) for one in content["comparisons"]]}


def _samples(latency: Any, device: Any) -> Content:
    return {"latency": latency, "throughput": None, "device": device}
