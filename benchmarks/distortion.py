"""How far do busy neighbours move a ratio that is measured with one thread?

    python benchmarks/distortion.py [--loads 0 1 2 4] [--runs 1] [--minutes 25] [--only jax mlp]

The networks of the chapters at batch 1, each compared in a fresh process in which every framework
has one thread. The first load is 0: its ratios are the true ones. Beside busy processes, the ratio
is that of *all* rounds, also of those in which other programs held a thread up, with the interval
of their median. A *distortion* is how many times too large or too small such a ratio is. Below the
table is the largest of each framework. Times 1.25 it is the framework's ``busy_bound``
(d2lhybrid/measuring/verdict.py), up to which `compare` believes no ratio of a busy machine.

It goes on where it was interrupted. Compilers keep what they compile in one folder for all runs.
"""

import argparse
import itertools
import sys
import time
from functools import partial

from callables import ROOT, busy, in_a_process
from resumable import Results

from d2lhybrid import Comparison, backends, compare, variants
from d2lhybrid.measuring import stats

sys.path.insert(0, str(ROOT / "tools"))
sys.path.insert(0, str(ROOT))
from findings import NETWORKS, WAYS, defined_in_chapters

FOLDER = ROOT / "build" / "benchmarks"
FULL = [*itertools.product(("jax", "pytorch"), ("mlp", "resnet", "encoder"))]
EXTREMES = [*itertools.product(("mxnet", "tensorflow"), ("mlp", "encoder"))]
LIMIT = 4  # seconds of rounds


def one(framework, network):
    """The comparison in this process, as JSON."""
    net, x = NETWORKS[network](defined_in_chapters(framework))
    ways = variants(net, x).only(*WAYS[framework])
    print(compare(ways, time_limit=LIMIT, why=False, progress=False).release().to_json())


def measured(framework, network):
    """What ``one`` found in a fresh process with one thread."""
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(FOLDER / "inductor")}
    for each in backends.known():
        environment |= each.variables_for_threads(1)
    return in_a_process(__file__, "--here", framework, network, environment=environment)


def of_all_rounds(comparison, label, metric):
    """A ratio with its interval, over all rounds."""
    baseline, other = comparison[comparison.baseline].times, comparison[label].times
    logarithms = stats.log_ratios(baseline.all_rounds(metric), other.all_rounds(metric))
    return stats.ratio(logarithms, stats.confidence(len(logarithms)))


def rows(results):
    """Framework, network, way, metric, load, and the ratios of quiet and busy runs."""
    found = {}
    for (framework, network, load, _run), text in results.by_key.items():
        comparison = Comparison.from_json(text.splitlines()[-1])
        queued = comparison[comparison.baseline].times.throughput is not None
        for label in comparison:
            if label == comparison.baseline:
                continue
            for metric in ("latency", "throughput") if queued else ("latency",):
                by_load = found.setdefault((framework, network, label, metric), {})
                by_load.setdefault(load, []).append(of_all_rounds(comparison, label, metric))
    return found


def show(results):
    """The table, and the largest distortion of each framework."""
    loads = sorted({load for _, _, load, _ in results.by_key} - {0})
    print("| one thread | quiet |", *(f"{load} busy | distortion |" for load in loads))
    print("|---|---:|" + "---:|---:|" * len(loads))
    largest = {}
    for (framework, network, label, metric), by_load in sorted(rows(results).items()):
        if 0 not in by_load:
            continue
        quiet = [ratio for ratio, _low, _high in by_load[0]]
        true = stats.ratio(stats.log_ratios(quiet, [1.0] * len(quiet)), stats.CONFIDENCE)[0]
        cells = []
        for load in loads:
            of_load = by_load.get(load, [])
            off = [max(ratio / true, true / ratio) for ratio, _low, _high in of_load]
            largest[framework] = max([largest.get(framework, 1.0), *off])
            cells.append("; ".join(f"{r:.3g} [{low:.3g}–{high:.3g}]" for r, low, high in of_load))
            cells.append(f"{max(off):.2f}" if off else "")
        name = f"{framework}, {network}, {label}" + (f", {metric}" if metric != "latency" else "")
        print(f"| {name} | {', '.join(f'{ratio:.3g}' for ratio in quiet)} | {' | '.join(cells)} |")
    print("\nThe largest distortions:", ", ".join(f"{k} {v:.2f}" for k, v in largest.items()))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loads", type=int, nargs="+", default=[0, 4, 1, 2], help="busy beside")
    parser.add_argument("--runs", type=int, default=1, help="of each comparison at each load")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after")
    parser.add_argument("--only", nargs="+", default=[], help="such frameworks and networks")
    parser.add_argument("--results", default=FOLDER / "distortion.jsonl", help="kept here")
    parser.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        one(*options.here)
        return
    results, end = Results(options.results), time.monotonic() + 60 * options.minutes
    for run, load in itertools.product(range(options.runs), options.loads):
        for framework, network in FULL + (EXTREMES if load in (0, 4) else []):
            is_wanted = {framework, network} >= {*options.only}
            if not is_wanted or time.monotonic() > end:
                continue
            with busy(load):
                start = time.monotonic()
                measure = partial(measured, framework, network)
                results.measured((framework, network, load, run), measure)
            print(f"{framework}, {network}, {load} busy: {time.monotonic() - start:.0f} s",
                  file=sys.stderr, flush=True)  # fmt: skip
    show(results)


if __name__ == "__main__":
    main()
