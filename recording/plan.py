"""What is run, in the order of its worth, and how long each step may take.

The limits are for a machine with a large GPU and 16 cores. A run takes nine minutes at most: what
has not begun by then is left out, so what comes first is what readers ask for most.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from recording import ROOT

Item = dict[str, Any]
LIMIT = 2.0  # seconds of a comparison's rounds
REHEARSED_LIMIT = 0.2

# Networks, sizes, types and tasks, the most wanted first.
CASES = (
    ("resnet", 1, "float32", "inference"),
    ("resnet", 32, "float32", "inference"),
    ("encoder", 1, "float32", "inference"),
    ("encoder", 32, "float32", "inference"),
    ("mlp", 1, "float32", "inference"),
    ("resnet", 32, "float32", "training"),
    ("encoder", 32, "float32", "training"),
    ("resnet", 1024, "float32", "inference"),
    ("encoder", 1024, "float32", "inference"),
    ("resnet", 1024, "bfloat16", "inference"),
    ("encoder", 1024, "bfloat16", "inference"),
    ("resnet", 1024, "float32", "training"),
    ("encoder", 1024, "float32", "training"),
    ("resnet", 1024, "bfloat16", "training"),
    ("encoder", 1024, "bfloat16", "training"),
    ("mlp", 32, "float32", "inference"),
    ("mlp", 65536, "float32", "inference"),
)
# One operation at a time, these take JAX minutes: its training steps at 1024, and the encoder's.
TOO_LONG_FOR_JAX = {("resnet", 1024, "training"), ("encoder", 1024, "training")}
# What a rehearsal runs of them, with a batch of 4 in place of 1024.
REHEARSED = (
    ("resnet", 1, "float32", "inference"),
    ("resnet", 4, "float32", "training"),
    ("mlp", 1, "float32", "inference"),
    ("encoder", 4, "bfloat16", "inference"),
)


@dataclass(frozen=True)
class Step:
    """A job for one process: items of a part, in order.

    `seconds` is the time limit of the step and `most` of each item, after which the process is
    ended. Steps of the same `turn` run beside one another.
    """

    part: str
    job: str
    framework: str
    items: tuple[Item, ...]
    seconds: float
    most: float
    turn: int = 0


def plan(parts: Sequence[str], rehearsed: bool = False, planted: bool = False) -> list[list[Step]]:
    """The steps of these parts by turn: one turn after the other, the steps of one at once.

    Rehearsed, it is smaller. With `planted`, each part has something that fails.
    """
    chosen = CASES if not rehearsed else REHEARSED
    steps = [*cold_starts(chosen), *the_rest(chosen, rehearsed)]
    steps = [step for step in steps if step.part in parts]
    if planted:
        steps = [*plant(steps)]
    if rehearsed:  # it may take its time
        steps = [replace(step, seconds=9 * step.seconds, most=9 * step.most) for step in steps]
    return [[*turn] for _number, turn in groupby(steps, key=lambda step: step.turn)]


def cold_starts(chosen: Iterable[Any]) -> Iterable[Step]:
    """The first calls of every case, several processes beside one another.

    What compilers leave in their caches on the disk makes the steps below quicker.
    """
    groups: dict[tuple[str, str, str], list[Item]] = {}
    for framework in ("pytorch", "jax"):
        for one in map(item, chosen):
            case = one["case"]
            if framework != "jax" or key(case) not in TOO_LONG_FOR_JAX:
                groups.setdefault((framework, case["network"], case["task"]), []).append(one)
    for (framework, _network, _task), items in groups.items():
        yield Step(f"networks-{framework}", "cold starts", framework, tuple(items), 90, 75)


def the_rest(chosen: Iterable[Any], rehearsed: bool) -> Iterable[Step]:
    """All steps after the cold starts, one at a time."""
    limit = REHEARSED_LIMIT if rehearsed else LIMIT
    cases = [dict(item(case), limit=limit) for case in chosen]
    for_jax = [one for one in cases if key(one["case"]) not in TOO_LONG_FOR_JAX]
    first = [one for one in cases if one["case"]["task"] == "inference"][:4]
    checks = [{"check": "device medians", "limit": limit}] * (1 if rehearsed else 3)
    both = [{"check": name, "limit": limit / 2} for name in ("equals", "planted 5%")]

    def step(part: str, job: str, items: Sequence[Item], seconds: float, most: float) -> Step:
        framework = part.rpartition("-")[2] if "-" in part else "pytorch"
        return Step(part, job, framework, tuple(items), seconds, most)

    some = 1 if rehearsed else None
    repeated = step("networks-pytorch", "networks", first, 40, 20)
    steps = [
        step("networks-pytorch", "networks", cases, 110, 30),
        step("cells-pytorch", "cells", notebooks("pytorch"), 80, 60),
        step("networks-jax", "networks", for_jax, 110, 45),
        step("cells-jax", "cells", notebooks("jax"), 40, 40),
        *[repeated] * (0 if rehearsed else 2),  # other processes, for how far they differ
        step("checks", "checks", [*checks, {"check": "tests"}, *both], 90, 40),
        replace(step("checks", "checks", both, 40, 20), framework="jax"),
        step("notebooks-pytorch", "notebooks", notebooks("pytorch")[:some], 300, 150),
        step("notebooks-jax", "notebooks", notebooks("jax")[:some], 300, 150),
    ]
    for turn, one in enumerate(steps, 1):
        yield replace(one, turn=turn)


def item(case: tuple[Any, ...]) -> Item:
    """A case as an item."""
    return {"case": dict(zip(("network", "batch", "dtype", "task"), case, strict=True))}


def key(case: Item) -> tuple[Any, ...]:
    """Network, batch and task of a case."""
    return case["network"], case["batch"], case["task"]


def notebooks(framework: str) -> list[Item]:
    """The English notebooks of a framework; `faster` first, which has most for a GPU."""
    paths = (ROOT / "notebooks/en" / framework).glob("*.ipynb")
    names = sorted((path.stem for path in paths), key=lambda name: (name != "faster", name))
    return [{"notebook": f"{framework}/{name}"} for name in names]


def plant(steps: Iterable[Step]) -> Iterable[Step]:
    """Let one item of each part fail: its process ends, or it raises, or a name is wrong."""
    ways = {"networks": "end", "checks": "error", "cells": "name", "notebooks": "name"}
    seen: set[str] = set()
    for step in steps:
        if step.job in ways and step.part not in seen:
            seen.add(step.part)
            first, *others = step.items
            step = replace(step, items=(dict(first, planted=ways[step.job]), *others))
        yield step
