"""Does `measure` say the same each time, and the same as a loop written by hand?

    python benchmarks/repeated.py [--runs 20]

The medians of so many runs, by both clocks: how far the largest is above the smallest, and how
far each is from a hand-written loop right before and right after it: waiting for each call
(latency), and 200 calls a wait (throughput). The loop is run as often, and its medians are spread
as the machine's pace is: what `measure` adds to that would be its own.
"""

import argparse
import json
import statistics

from callables import ROWS, callable_of, in_a_process, seconds_of, wait_by_hand

from d2lhybrid import measure

STREAM = 200
CLOCKS = {"latency": 1, "throughput": STREAM}  # calls a wait


def by_hand(function, calls):
    """Seconds per call, 200 of them, waited for after each, or after so many."""

    def turn():
        for _ in range(STREAM // calls):
            for _ in range(calls):
                output = function()
            wait_by_hand(output)

    return seconds_of(turn)[0] / STREAM


def turns(function, calls):
    return [by_hand(function, calls) for _ in range(5)]


def series(row, runs):
    function = callable_of(row)
    for _ in range(50):
        function()
    queued, found = False, {"latency": ([], []), "throughput": ([], [])}
    for _ in range(runs):
        hand = {clock: turns(function, calls) for clock, calls in CLOCKS.items()}
        m = measure(function, time_limit=2)
        queued = queued or m.times.throughput is not None
        for clock, calls in CLOCKS.items():
            ours, theirs = found[clock]
            ours.append(m.median_of(clock))
            theirs.append(statistics.median(hand[clock] + turns(function, calls)))
    if not queued:  # there is nothing to wait for: the loop has no wait, either
        found["latency"] = (found["latency"][0], found["throughput"][1])
    print(json.dumps({clock: [*times, queued] for clock, times in found.items()}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--short", action="store_true", help="5 runs")
    parser.add_argument("--only", choices=ROWS[:-1])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    runs = 5 if options.short else options.runs
    if options.here:
        series(options.only, runs)
        return
    heads = f"{'measure':>12}{'spread':>8}{'by hand':>12}{'spread':>8}{'apart':>8}"
    print(f"{'':<18}{'clock':<12}{heads}  queued")
    for row in [options.only] if options.only else ROWS[:-1]:
        said = in_a_process(__file__, "--runs", runs, "--only", row, "--here")
        for clock, (ours, theirs, queued) in json.loads(said.splitlines()[-1]).items():
            apart = statistics.median(a / b for a, b in zip(ours, theirs, strict=True)) - 1
            print(f"{row:<18}{clock:<12}{of(ours)}{of(theirs)}{apart:8.1%}"
                  f"  {'yes' if queued else 'no'}", flush=True)  # fmt: skip


def of(times):
    """The median, and how far the largest is above the smallest."""
    spread = max(times) / min(times) - 1
    return f"{statistics.median(times) * 1e6:9.1f} µs{spread:8.1%}"


if __name__ == "__main__":
    main()
