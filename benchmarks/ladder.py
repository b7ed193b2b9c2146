"""The chapter's MLP through every variant of every framework, beside the same network in C.

Each framework runs in a process of its own, on one thread. The times are latencies: each call is
waited for. The ratio says how many times the C program's time a call takes.
"""

import os
import subprocess
import sys

from callables import network

from d2lhybrid import backends, compare, variants


def one(name):
    net, x = network(name)
    ways = variants(net, x, all=True, with_references=True)
    c = compare(ways, x, time_limit=60, progress=False)
    least = c["C"].median
    for label in sorted(c, key=lambda label: c[label].median):
        time = c[label].median
        ratio, low, high = c.ratio(label)
        print(f"{name:<11} {label:<28}{time * 1e6:9.1f} µs{time / least:9.2f}"
              f"{ratio:9.2f} ({low:.2f} to {high:.2f})")  # fmt: skip
    for label, reason in c.unavailable.items():
        print(f"{name:<11} {label:<28} not run: {reason}")


def main():
    if sys.argv[1:]:
        one(sys.argv[1])
        return
    print(f"{'':<40}{'per call':>12}{'of C':>9}{'times as fast as eager (95%)':>30}")
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
    threads = dict.fromkeys(names, "1")
    for name in (framework.name for framework in backends.known()):
        env = {**os.environ, **threads, "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        print(done.stdout.rstrip() if done.returncode == 0 else done.stderr)


if __name__ == "__main__":
    main()
