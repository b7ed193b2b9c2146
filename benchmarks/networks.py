"""Real networks, eager and compiled, in PyTorch or JAX, on the GPU where there is one.

python benchmarks/networks.py pytorch [network ...] [--limit 3] [--output FOLDER] [--first-calls]

The residual network and the Transformer encoder of the chapter `faster`, as its committed notebook
defines them, and the MLP of `hybridize`, with random weights, at several batch sizes: inference and
one training step. With torchvision, ResNet-50 as well. Each case prints its table. With
``--output`` it also adds a line of JSON to FOLDER/networks-FRAMEWORK.jsonl as soon as it has been
measured, so a run that is cut off keeps what it had. ``--first-calls`` only builds each variant and
calls it twice: it shows the cold starts, and fills PyTorch's disk cache.
"""

import argparse
import json
import math
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from chapter_networks import Case, Jax, PyTorch

from d2lhybrid import compare, synchronize
from d2lhybrid.measurement.timing import Peak

CLOCKS = ("latency", "throughput", "device")


CASES = [
    Case("resnet", 1),
    Case("resnet", 32),
    Case("encoder", 1),
    Case("encoder", 32),
    Case("mlp", 1),
    Case("mlp", 32),
    Case("resnet", 32, task="training"),
    Case("encoder", 32, task="training"),
    Case("resnet", 1024),
    Case("encoder", 1024),
    Case("mlp", 65536),
    Case("resnet50", 1),
    Case("resnet50", 64),
    Case("resnet50", 64, "bfloat16"),
    Case("resnet", 1024, "bfloat16"),
    Case("encoder", 1024, "bfloat16"),
    Case("resnet", 1024, task="training"),
    Case("encoder", 1024, task="training"),
    Case("resnet", 1024, "bfloat16", "training"),
    Case("encoder", 1024, "bfloat16", "training"),
    Case("resnet50", 64, "bfloat16", "training"),
]
SMALL = 4  # what a batch of more than 32 becomes in a rehearsal


def measured(room: Any, case: Case, limit: float) -> dict[str, Any]:
    """What ``compare`` says of this case, and beside it peak memory and how far answers differ."""
    ways, args = room.ways(case)
    # Answers are compared below: here a way that rounds differently stays a row.
    comparison = compare(ways, *args, time_limit=limit, check=False, progress=False)
    print(comparison, flush=True)
    extra = answers(ways, args) if case.task == "inference" else {}
    rows = []
    for label in comparison:
        known = [clock for clock in CLOCKS if getattr(comparison[label].times, clock)]
        times = {clock: comparison[label].median_of(clock) for clock in known}
        ratios = {clock: list(map(finite, comparison.ratio(label, clock))) for clock in known}
        verdicts = {clock: comparison.verdict(label, clock) for clock in known}
        cold = comparison[label].cold_seconds
        row = {"label": label, "seconds": times, "ratio": ratios, "verdict": verdicts}
        rows.append(row | {"first_call": cold} | extra.get(label, {}))
    floors = {clock: finite(comparison.floor_of(clock)) for clock in known}
    facts = {"rounds": comparison.rounds, "noise_floor": floors, "stopped": comparison.stopped}
    env = comparison.env
    where = {"date": env.date, "versions": env.versions, "accelerators": list(env.accelerators)}
    where |= {"cpu": env.cpu, "cores": env.cores, "load": env.load}
    return {"rows": rows, "unavailable": comparison.unavailable, **facts, "env": where}


def finite(number: float) -> float | None:
    """None in place of infinity, which JSON does not have."""
    return number if math.isfinite(number) else None


def answers(ways: Any, args: tuple[Any, ...]) -> dict[str, dict[str, Any]]:
    """By label: the peak of device memory in a call, and how far its answer is from eager's.

    That is the largest difference, relative to the largest number of eager's answer.
    """
    found: dict[str, dict[str, Any]] = {}
    expected = None
    for label, way in ways.items():
        peak = Peak()
        answer = way(*args)
        rise = peak.device_bytes()
        numbers = np.asarray(answer.float().cpu() if hasattr(answer, "cpu") else answer, np.float64)
        expected = numbers if expected is None else expected
        apart = float(np.abs(numbers - expected).max() / np.abs(expected).max())
        found[label] = {"difference": finite(apart), "peak_bytes": rise}
    return found


def table(files: list[Path]) -> str:
    """What such files hold, as tables in Markdown: latency, then throughput.

    One row a case: eager's time (that of the first way, if eager was left out), then how many times
    as fast the others are, with one figure for each process. An undecided one is in parentheses;
    one without an interval has a question mark.
    """
    recorded = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    recorded = [content for content in recorded if content.get("rows")]
    labels = list(dict.fromkeys(row["label"] for c in recorded for row in c["rows"]))
    lines: list[str] = []
    for clock in ("latency", "throughput"):
        lines.append(f"\n| {clock} | " + " | ".join(labels) + " |")
        lines.append("|---|" + "---:|" * len(labels))
        for case in CASES:
            cells: dict[str, list[str]] = {label: [] for label in labels}
            for content in recorded:
                if all(content[name] == value for name, value in vars(case).items()):
                    for row in content["rows"]:
                        baseline = row is content["rows"][0]
                        cells[row["label"]].append(shown(row, clock, baseline))
            if any(cells.values()):
                lines.append(f"| {case} | " + " | ".join(map(", ".join, cells.values())) + " |")
    return "\n".join(lines)


def shown(row: dict[str, Any], clock: str, baseline: bool) -> str:
    """The baseline's time in milliseconds, or another row's ratio to it."""
    if baseline:
        return f"{row['seconds'][clock] * 1e3:.3g} ms"
    ratio, low, _high = row["ratio"][clock]
    if not low:  # too few rounds for an interval
        return f"{ratio:.3g}?"
    return f"({ratio:.3g})" if row["verdict"][clock] == "undecided" else f"{ratio:.3g}"


def first_calls(room: Any, case: Case) -> dict[str, Any]:
    """Seconds of the first and the second call of each way, none of which has run before."""
    ways, args = room.ways(case)
    rows = []
    for label, way in ways.items():
        seconds = []
        for _call in range(2):
            start = perf_counter()
            way(*args)
            synchronize()
            seconds.append(perf_counter() - start)
        rows.append({"label": label, "first_call": seconds[0], "second_call": seconds[1]})
        print(f"  {label}: {seconds[0]:.2f} s, then {seconds[1]:.4f} s", flush=True)
    return {"rows": rows}


def chosen(options: argparse.Namespace) -> Iterator[Case]:
    """The cases to run, in the order of what they are worth."""
    for case in CASES:
        if options.framework == "jax" and case.network == "resnet50":
            continue
        if options.networks and case.network not in options.networks:
            continue
        if options.task and case.task != options.task:
            continue
        if options.batch and case.batch not in options.batch:
            continue
        batch = min(case.batch, SMALL) if options.small and case.batch > 32 else case.batch
        yield Case(case.network, batch, case.dtype, case.task)


def main() -> int:
    """Measure; the exit status is 1 where a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("framework", choices=["pytorch", "jax"])
    parser.add_argument("networks", nargs="*", help="of these networks only")
    parser.add_argument("--limit", type=float, default=3.0, help="seconds of a comparison's rounds")
    parser.add_argument("--output", type=Path, help="the folder for the lines of JSON")
    parser.add_argument("--batch", type=int, nargs="+", help="of these sizes of a batch only")
    parser.add_argument("--task", choices=["inference", "training"])
    parser.add_argument("--first-calls", action="store_true", help="build and call once, no more")
    parser.add_argument("--small", action="store_true", help="no large batch: to try the script")
    parser.add_argument("--table", type=Path, nargs="+", help="show such files, measure nothing")
    options = parser.parse_args()
    if options.table:
        print(table(options.table))
        return 0
    try:
        room = PyTorch() if options.framework == "pytorch" else Jax()
    except LookupError as error:
        parser.error(str(error))
    print(f"{options.framework} on {room.name}", room.settings(), flush=True)
    failed = 0
    for case in chosen(options):
        print(f"\n== {case}", flush=True)
        start = perf_counter()
        try:
            content = (
                first_calls(room, case)
                if options.first_calls
                else measured(room, case, options.limit)
            )
        except Exception as error:  # the other cases are worth having
            traceback.print_exc(limit=-3, file=sys.stdout)
            content = {"error": f"{type(error).__name__}: {error}"[:500]}
            failed += 1
        about = {"framework": options.framework, "device": room.name, **vars(case)}
        about |= {"seconds": perf_counter() - start, "settings": room.settings()}
        about["process"] = os.getpid()
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            kind = "first-calls" if options.first_calls else "networks"
            with (options.output / f"{kind}-{options.framework}.jsonl").open("a") as file:
                file.write(json.dumps(about | content) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
