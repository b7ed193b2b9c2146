"""On a CUDA machine: do our device medians agree with events around a loop by hand? Within 3%."""

import statistics
import sys

import torch

from book.gpu import required
from d2lhybrid import measure

CALLS = 200


def by_hand(function, arg):
    """Seconds of a call between two events around a loop; the median of twenty loops."""
    times = []
    for _turn in range(20):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _call in range(CALLS):
            function(arg)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / CALLS)
    return statistics.median(times)


def main():
    if not torch.cuda.is_available():
        why = "gpu: needs a CUDA device; PyTorch sees none"
        if "pytorch" in required():
            sys.exit(why)
        print(why)
        return
    net = torch.nn.Sequential(
        torch.nn.Linear(512, 256), torch.nn.ReLU(),
        torch.nn.Linear(256, 128), torch.nn.ReLU(), torch.nn.Linear(128, 2),
    ).cuda().eval()  # fmt: skip
    small, large = torch.randn(1 << 20, device="cuda"), torch.randn(4096, 4096, device="cuda")
    x = torch.randn(1, 512, device="cuda")
    graphs = torch.compile(net, mode="reduce-overhead")
    cases = {
        "pointwise of 2**20": (torch.relu, small),
        "matmul of 4096": (lambda a: a @ a, large),
        "MLP": (net, x),
        "MLP, CUDA graph": (graphs, x),
    }
    limit = 2.0 if "--short" in sys.argv else 10.0
    print(torch.cuda.get_device_name())
    print(f"{'':<20}{'d2lhybrid':>14}{'by hand':>14}{'difference':>12}")
    for name, (function, arg) in cases.items():
        with torch.no_grad():
            ours = measure(function, arg, time_limit=limit).median_of("device")
            theirs = by_hand(function, arg)
        print(f"{name:<20}{ours * 1e6:11.2f} µs{theirs * 1e6:11.2f} µs{ours / theirs - 1:12.1%}")


if __name__ == "__main__":
    main()
