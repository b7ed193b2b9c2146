"""Is a verdict right beside busy processes, on as many threads as there are cores and on one?

    python benchmarks/threads_under_load.py [--runs 10] [--load 4] [--threads 2 1]

A small GPT block in PyTorch: width 64, four heads, a causal mask as keyword, an input of 2 x 32 x
64. Two threads that want two cores wait for each other when other programs take one, and then a
call takes the same time whatever it computes, or longer for what computes less. Each run is in a
fresh process, as `compare` starts it for its `threads`. The first runs have the machine to
themselves and say what is true: the verdict that all of them give, and nothing where they differ.
Of the runs beside busy processes, a verdict that says the opposite is wrong, and so is a claim of
what is true that raises. On one thread, seven of ten should be decided. It goes on where it was
interrupted.
"""

import argparse
import sys
from collections import Counter
from contextlib import redirect_stdout
from functools import partial
from io import StringIO

from callables import ROOT, busy
from resumable import Results

from d2lhybrid import call, compare, variants
from d2lhybrid.errors import ClaimError

WAYS = ("torch.compile", "aotinductor")
WORDS = ("faster", "slower", "same", "undecided")
QUIET_RUNS = 3
DECIDED = 0.7  # of the verdicts on one thread should say something
BATCH, TOKENS, WIDTH, HEADS = 2, 32, 64, 4


def gpt_block():
    """The block, its input and its mask."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.to_heads = nn.Linear(WIDTH, 3 * WIDTH)
            self.from_heads = nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(
                nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
            )

        def forward(self, x, *, mask):
            batch, tokens, width = x.shape
            parts = self.to_heads(self.before_attention(x)).chunk(3, dim=-1)
            queries, keys, values = (
                part.view(batch, tokens, HEADS, width // HEADS).transpose(1, 2) for part in parts
            )
            scores = queries @ keys.transpose(-1, -2) / (width // HEADS) ** 0.5
            weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
            x = x + self.from_heads((weights @ values).transpose(1, 2).reshape(x.shape))
            return x + self.mlp(self.before_mlp(x))

    torch.manual_seed(0)
    mask = torch.tril(torch.ones(TOKENS, TOKENS, dtype=torch.bool))
    return Block().eval(), torch.randn(BATCH, TOKENS, WIDTH), mask


def one_run(threads, limit, truth):
    """The verdicts of a comparison on so many threads, and what became of the true claims."""
    net, x, mask = gpt_block()
    ways = variants(call(net, x, mask=mask)).only("eager", *WAYS)
    c = compare(ways, time_limit=limit, threads=threads, progress=False, why=False)
    return {
        "ms": {label: c[label].median * 1e3 for label in c},
        "ratios": {label: c.ratio(label) for label in WAYS},
        "verdicts": {label: c.verdict(label) for label in WAYS},
        "claims": {label: outcome(c, label, truth[label]) for label in WAYS if truth.get(label)},
    }


def outcome(c, label, sense):
    """'holds', 'undecided' or 'contradicted'; more rounds are taken for it if they are needed."""
    try:
        with redirect_stdout(StringIO()):
            return c.claim(label, sense).outcome
    except ClaimError:
        return "contradicted"


def agreed(runs):
    """The verdict of each way that all these runs give, or None."""
    words = {label: {run["verdicts"][label] for run in runs} for label in WAYS}
    return {
        label: next(iter(found)) if found in ({"faster"}, {"slower"}) else None
        for label, found in words.items()
    }


def row(threads, load, label, runs, true):
    """A line of the table, and how many of its verdicts and claims are wrong."""
    opposite = {"faster": "slower", "slower": "faster"}.get(true)
    verdicts = Counter(run["verdicts"][label] for run in runs)
    claims = Counter(run["claims"][label] for run in runs if label in run["claims"])
    times = sorted(run["ms"]["eager"] for run in runs)
    cells = [
        threads, load, label, true or "?", len(runs), f"{times[0]:.2f} to {times[-1]:.2f}",
        *(verdicts[word] for word in WORDS), claims["holds"], claims["undecided"],
        claims["contradicted"],
    ]  # fmt: skip
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    return verdicts[opposite] + claims["contradicted"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--short", action="store_true", help="one run")
    parser.add_argument("--load", type=int, default=4, help="busy processes beside")
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 1])
    parser.add_argument("--limit", type=float, default=5, help="seconds of a comparison")
    path = ROOT / "build" / "benchmarks" / "threads_under_load.jsonl"
    parser.add_argument("--results", default=path, help="where results are kept")
    options = parser.parse_args()
    results, count = Results(options.results), 1 if options.short else options.runs
    print("| threads | busy beside | | true | runs | eager, ms |", *(f"{word} |" for word in WORDS),
          "claim holds | undecided | raises |\n|---:|---:|---|---|---:|---|" + "---:|" * 7,
          flush=True)  # fmt: skip
    wrong, few = 0, False
    for threads in options.threads:
        truth = {}
        for load, runs in ((0, min(count, QUIET_RUNS)), (options.load, count)):
            with busy(load):
                measure = partial(one_run, threads, options.limit, truth)
                found = [results.measured((threads, load, run), measure) for run in range(runs)]
            truth = truth or agreed(found)
            wrong += sum(row(threads, load, label, found, truth[label]) for label in WAYS)
        decided = [run["verdicts"][label] != "undecided" for run in found for label in WAYS]
        print(f"\n{threads} threads, {options.load} busy beside: {sum(decided)} of {len(decided)} "
              "decided")  # fmt: skip
        few |= threads == 1 and sum(decided) < DECIDED * len(decided)
    print(f"\n{wrong} wrong")
    sys.exit(1 if wrong or few else 0)


if __name__ == "__main__":
    main()
