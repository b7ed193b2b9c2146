"""On a CUDA machine: do our device medians agree with triton.testing.do_bench? Within 3%."""

import sys

import torch

from d2lhybrid import measure


def main():
    if not torch.cuda.is_available():
        print("gpu: needs a CUDA device; PyTorch sees none")
        return
    from triton.testing import do_bench

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
    print(f"{'':<20}{'d2lhybrid':>14}{'do_bench':>14}{'difference':>12}")
    for name, (function, arg) in cases.items():
        with torch.no_grad():
            ours = measure(function, arg, time_limit=limit).device_median
            theirs = do_bench(lambda f=function, a=arg: f(a), return_mode="median") / 1e3
        print(f"{name:<20}{ours * 1e6:11.2f} µs{theirs * 1e6:11.2f} µs{ours / theirs - 1:12.1%}")


if __name__ == "__main__":
    main()
