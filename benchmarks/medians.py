"""Do our medians agree with those of torch.utils.benchmark and timeit? Within 3% on each callable.

The three tools take turns, in an order drawn anew in each turn, so that drift is the same for all.
"""

import random
import statistics
import sys
import timeit

import torch
from torch.utils.benchmark import Timer

from d2lhybrid import measure

TURNS = 4 if "--short" in sys.argv else 12


def ours(function, x):
    return measure(function, x, time_limit=1.0).median


def torchs(function, x):
    timer = Timer("f(x)", globals={"f": function, "x": x}, num_threads=torch.get_num_threads())
    return timer.blocked_autorange(min_run_time=0.5).median


def timeits(function, x):
    timer = timeit.Timer("f(x)", globals={"f": function, "x": x})
    number, _ = timer.autorange()
    number = max(1, number // 100)
    return statistics.median(timer.repeat(100, number)) / number


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    mlp = torch.nn.Sequential(
        torch.nn.Linear(512, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2),
    ).eval()  # fmt: skip
    callables = {
        "relu of 64": (torch.relu, torch.randn(64)),
        "MLP, batch 1": (mlp, torch.randn(1, 512)),
        "MLP, batch 256": (mlp, torch.randn(256, 512)),
        "matmul of 512": (lambda a: a @ a, torch.randn(512, 512)),
    }
    tools = {"d2lhybrid": ours, "torch.utils.benchmark": torchs, "timeit": timeits}
    print(f"{'callable':<16}{''.join(f'{name:>23}' for name in tools)}   largest difference")
    worst = 0.0
    for name, (function, x) in callables.items():
        times = {tool: [] for tool in tools}
        for _ in range(TURNS):
            for tool in random.sample(list(tools), len(tools)):
                times[tool].append(tools[tool](function, x))
        found = {tool: statistics.median(values) for tool, values in times.items()}
        gap = max(abs(found["d2lhybrid"] / value - 1) for value in found.values())
        worst = max(worst, gap)
        cells = "".join(f"{value * 1e6:20.2f} µs" for value in found.values())
        print(f"{name:<16}{cells}   {gap:.1%}")
    print(f"Within 3%: {'yes' if worst <= 0.03 else 'no'}")


if __name__ == "__main__":
    main()
