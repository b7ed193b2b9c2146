"""Does an interval of six processes hold in the next six, and what do six processes find?

    python benchmarks/processes.py [--load 1] [--processes 6] [--limit 18] [--results FILE]

*Intervals*: six comparisons of the four frameworks, each made five times, with all the others
between two times. Of the ten pairs of intervals of each, how many do not meet? *Equals*: a callable
against itself; "faster" and "slower" are wrong. *5% slower*: the work is done 21 times in place of
20; where the processes differ by less than 3%, the verdict should be "slower". `--processes 0`
makes each comparison in one fresh process, as `compare` does by itself, to see what that leaves
out. `--load 1` keeps a busy process beside it all. It takes an hour, and goes on where it was
interrupted: what was measured is kept in FILE.
"""

import argparse
import functools
import itertools
import json
import statistics
import sys
from collections import Counter

from callables import ROOT, Repeated, busy, in_a_process, network, seconds_of
from resumable import Results

from d2lhybrid import compare, variants

WORDS = ("faster", "slower", "same", "undecided")
# By name: the framework, what it computes, and the way that is held against eager.
WAYS = {
    "pytorch, fusion": ("torch", "fusion", "torch.compile"),
    "pytorch, layers": ("torch", "layers", "torch.compile"),
    "tensorflow, layers": ("tensorflow", "layers", "tf.function"),
    "jax, fusion": ("jax", "fusion", "jit"),
    "jax, products": ("jax", "products", "jit"),
    "mxnet, layers": ("mxnet", "layers", "static_shape"),
}
EQUALS = ("pytorch", "tensorflow", "jax", "jax x + 1", "mxnet static")
SLOWDOWNS = ("pytorch", "tensorflow", "jax", "mxnet static")
PARTS = {"intervals": WAYS, "equals": EQUALS, "5% slower": SLOWDOWNS}
TIMES = {"intervals": 5, "equals": 4, "5% slower": 5}
WORK = {"equals": (1, 1), "5% slower": (20, 21)}  # how often each of the two does its own
NEAR = 0.03  # processes that differ by less should find a slowdown of 5%


def torch_fusion(x):
    """Normalize, scale and shift each row, and cut it off at 0: 14 passes in steps, two fused."""
    import torch

    centered = x - x.mean(dim=1, keepdim=True)
    variance = (centered * centered).mean(dim=1, keepdim=True)
    return torch.relu(2 * (centered * torch.rsqrt(variance + 1e-5)) + 0.5)


def jax_fusion(x):
    """The same in JAX."""
    import jax

    centered = x - x.mean(axis=1, keepdims=True)
    variance = (centered * centered).mean(axis=1, keepdims=True)
    return jax.nn.relu(2 * (centered * jax.lax.rsqrt(variance + 1e-5)) + 0.5)


def jax_products(x):
    """Three matrix products, in which there is nothing to fuse."""
    return x @ x @ x @ x


def compared(framework, what):
    """A function or network and its input."""
    if what == "layers":
        return network(framework)
    if framework == "torch":
        import torch

        return torch_fusion, torch.rand(1024, 1024)
    import jax

    if what == "fusion":
        return jax_fusion, jax.random.uniform(jax.random.key(0), (1024, 1024))
    return jax_products, jax.random.uniform(jax.random.key(0), (384, 384)) / 384


def one(part, name, run, options):
    """One comparison in this process or from it; as JSON."""
    how = {"seed": run, "time_limit": options.limit, "progress": False}
    if options.processes:
        how["processes"] = options.processes
    if part == "intervals":
        framework, what, label = WAYS[name]
        net, x = compared(framework, what)
        run_it = functools.partial(compare, variants(net, x).only("eager", label), x, **how)
    else:
        label, (first, second) = "b", WORK[part]
        pair = {"a": Repeated(name, first), "b": Repeated(name, second)}
        run_it = functools.partial(compare, pair, check=False, **how)
    seconds, c = seconds_of(run_it)
    found = {
        "ratio": c.ratio(label),
        "verdict": c.verdict(label),
        "of_processes": [process.ratio(label)[0] for process in c.processes],
        "noise_floor": c.noise_floor,
        "busy": c.busy,
        "advice": c.advice,
        "seconds": seconds,
    }
    print(json.dumps(found))


def measure(part, name, run, options):
    """What ``one`` found in a process that has this framework alone."""
    told = ("--here", json.dumps([part, name, run]))
    how = ("--processes", options.processes, "--limit", options.limit)
    return json.loads(in_a_process(__file__, *told, *how).splitlines()[-1])


def spread(found):
    """How much faster one process found the second callable than another, as a fraction."""
    ratios = found["of_processes"] or [found["ratio"][0]]
    return max(ratios) / min(ratios) - 1


def meet(one, other):
    """Do two intervals have a number in common?"""
    return one["ratio"][1] <= other["ratio"][2] and other["ratio"][1] <= one["ratio"][2]


def show_intervals(results):
    """The table of intervals; how many pairs do not meet."""
    print("\n| | times as fast as eager | widest interval | processes differ by | pairs apart | "
          "seconds each |\n|---|---:|---:|---:|---:|---:|")  # fmt: skip
    apart, pairs = 0, 0
    for name, found in results.items():
        ratios = [each["ratio"][0] for each in found]
        wide = max(high / low - 1 if low > 0 else float("inf")
                   for _ratio, low, high in (each["ratio"] for each in found))  # fmt: skip
        here = [not meet(*pair) for pair in itertools.combinations(found, 2)]
        apart, pairs = apart + sum(here), pairs + len(here)
        seconds = statistics.median(each["seconds"] for each in found)
        differ = max(map(spread, found))
        print(f"| {name} | {min(ratios):.3f} to {max(ratios):.3f} | {wide:.1%} | {differ:.1%} | "
              f"{sum(here)} of {len(here)} | {seconds:.0f} |")  # fmt: skip
    print(f"\nOf {pairs} pairs of intervals {apart} do not meet.")
    return apart


def show_verdicts(results, right):
    """The table of verdicts on a true difference; how many are wrong."""
    print("\n| | comparisons |", *(f"{word} |" for word in WORDS), "processes differ by |"
          "\n|---|---:|" + "---:|" * len(WORDS) + "---:|")  # fmt: skip
    wrong = 0
    for name, found in results.items():
        counts = Counter(each["verdict"] for each in found)
        wrong += sum(counts[word] for word in WORDS if word not in (right, "undecided"))
        cells = " | ".join(str(counts[word]) for word in WORDS)
        spreads = sorted(map(spread, found))
        print(f"| {name} | {len(found)} | {cells} | {spreads[0]:.1%} to {spreads[-1]:.1%} |")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--processes", type=int, default=6, help="of a comparison; 0: none is fresh"
    )
    parser.add_argument("--load", type=int, default=0, help="busy processes beside")
    parser.add_argument("--limit", type=float, default=18, help="seconds of a comparison")
    parser.add_argument("--short", action="store_true", help="each comparison twice, 6 seconds")
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--only", nargs="+", help="rows with these names")
    path = ROOT / "build" / "benchmarks" / "processes.jsonl"
    parser.add_argument("--results", default=path, help="where results are kept")
    parser.add_argument("--here", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        one(*json.loads(options.here), options)
        return
    times = dict.fromkeys(TIMES, 2) if options.short else TIMES
    options.limit = 6 if options.short else options.limit
    kept = Results(options.results)
    found = {part: {name: [] for name in PARTS[part] if not options.only or name in options.only}
             for part in options.parts}  # fmt: skip
    with busy(options.load):
        # All others come between two comparisons of a row, and with them what changes by the hour.
        for run in range(max(times.values())):
            for part in options.parts:
                for name in found[part] if run < times[part] else ():
                    key = (part, name, options.processes, options.load, options.limit, run)
                    make = functools.partial(measure, part, name, run, options)
                    found[part][name].append(result := kept.measured(key, make))
                    low, high = result["ratio"][1:]
                    print(f"{part}, {name}, {run + 1}: {low:.3f} to {high:.3f}, "
                          f"{result['verdict']}", file=sys.stderr, flush=True)  # fmt: skip
    print(f"{options.processes} processes, {options.load} busy beside")
    wrong = 0
    if "intervals" in found:
        wrong += show_intervals(found["intervals"]) > 1
    if "equals" in found:
        print("\nEquals:")
        wrong += show_verdicts(found["equals"], "same")
    if "5% slower" in found:
        print("\n5% slower:")
        wrong += show_verdicts(found["5% slower"], "slower")
        every = [each for runs in found["5% slower"].values() for each in runs]
        near = [each for each in every if spread(each) < NEAR]
        far = [each for each in every if spread(each) >= NEAR and each["verdict"] == "undecided"]
        slower = sum(each["verdict"] == "slower" for each in near)
        said = sum("more processes" in each["advice"] for each in far)
        print(f"\nWhere processes differ by less than {NEAR:.0%}, {slower} of {len(near)} were "
              f"found. Where they differ by more, {len(far)} were undecided, and {said} of these "
              "say to take more processes.")  # fmt: skip
        wrong += slower < 0.7 * len(near) or said < len(far)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
