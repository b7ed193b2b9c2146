"""Recordings made by hand, in the files that `make record` writes."""

import json


def record(root, part, entries, folder="h100", **changes):
    """Write a recording of PyTorch, as `make record` does."""
    about = {"schema": "d2lhybrid-recording", "version": 1, "part": f"{part}-pytorch"}
    about |= {"framework": "pytorch", "device": "NVIDIA H100", "driver": "580", "memory_mib": 81559}
    versions = {"python": "3.12.3", "torch": "2.11.0+cu130", "cuda": "13.0", "numpy": "2.4"}
    about |= {"cores": 16, "versions": versions, "date": "2026-11-26", "commit": "0" * 40}
    about |= {"complete": True, "entries": entries}
    file = root / "recorded" / folder / f"{part}-pytorch.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(about | changes), encoding="utf-8")


def ran(source, *outputs, number=2, gpu=True, error=None):
    """A cell that ran; a text stands for what it printed."""
    shown = [{"kind": "text", "text": one} if isinstance(one, str) else one for one in outputs]
    about = {"notebook": "pytorch/a", "cell": number, "id": "x", "source": source, "gpu": gpu}
    return about | {"seconds": 0.1, "outputs": shown, "error": error}


def row(label, latency, ratio=None, verdict="faster", low=1.0, high=9.0, **more):
    """A row by one metric; without a ratio, the baseline."""
    ratio, verdict = ([ratio, low, high], verdict) if ratio else ([1.0, 1.0, 1.0], "same")
    by_metric = {"seconds": latency, "ratio": ratio, "verdict": verdict}
    about = {"label": label, **{name: {"latency": one} for name, one in by_metric.items()}}
    return about | {"cold_seconds": None, "deprecated": False, **more}


def network(name, batch, *rows, task="inference", process=1):
    about = {"network": name, "batch": batch, "dtype": "float32", "task": task, "process": process}
    about |= {"seconds": 9.0, "settings": {}, "rows": rows, "unavailable": {}}
    return about | {"rounds": 20, "noise_floor": {"latency": 0.02}, "stopped": "clear"}
