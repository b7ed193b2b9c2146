"""Part 3: does the measuring itself hold on this machine?

- *device medians*: times between events on the device, ours and by hand. They should agree to 3%.
- *equals* and *planted 5%*: a program against itself, and against one that does 5% more.
- *tests*: the tests that are marked `gpu`.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from d2lhybrid import compare, measure
from recording import ROOT
from recording.chapter_networks import Case, PyTorch
from recording.networks import METRICS, ratio, room
from recording.recordings import Check
from recording.reporting import Report

Rows = list[dict[str, str | float | None]]
LOOPS = 20
CALLS = 200
PAIRS = {"equals": (20, 20), "planted 5%": (20, 21)}  # how often each of two does its work


def run_checks(order: Any, report: Report) -> None:
    """Each item is a check, and makes an entry."""
    for item in report.items():
        name, framework = item["check"], order.framework
        entry = Check(check=name, framework=framework, seconds=0.0, rows=[], error=None)
        with report.entry(entry):
            report.fail_if_planted()
            if name == "device medians":
                entry.rows = device_medians(item["limit"], order.rehearsed)
            elif name == "tests":
                entry.rows = marked_tests(framework, order.rehearsed)
            else:
                entry.rows = pairs(name, framework, item["limit"], order.rehearsed)


def device_medians(limit: float, rehearsed: bool) -> Rows:
    """PyTorch: seconds of a call on the device as we measure them, and between events by hand."""
    import torch

    networks = PyTorch(rehearsed)
    device = networks.device
    net = networks.network("mlp").to(device)
    size = 64 if rehearsed else 4096
    small, large = torch.randn(1 << 20, device=device), torch.randn(size, size, device=device)
    x = torch.randn(1, 512, device=device)
    graphs = torch.compile(net, mode="reduce-overhead")
    cases: dict[str, tuple[Callable[..., Any], Any]] = {
        "pointwise of 2**20": (torch.relu, small),
        "matmul of 4096": (lambda a: a @ a, large),
        "MLP": (net, x),
        "MLP, CUDA graph": (graphs, x),
    }
    rows: Rows = []
    for name, (function, arg) in cases.items():
        with torch.no_grad():
            ours = measure(function, arg, time_limit=limit).median_of("device")
            theirs = by_hand(function, arg, 1 if rehearsed else LOOPS)
        rows.append({"case": name, "ours": ours, "by hand": theirs})
        print(f"{name:<20}{ours * 1e6:11.2f} µs{theirs * 1e6:11.2f} µs{ours / theirs - 1:12.1%}")
    return rows


def by_hand(function: Callable[..., Any], arg: Any, loops: int) -> float:
    """Seconds of a call between two events around a loop; the median of some loops."""
    import torch

    times = []
    for _turn in range(loops):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _call in range(CALLS):
            function(arg)
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3 / CALLS)
    return statistics.median(times)


def pairs(name: str, framework: str, limit: float, rehearsed: bool) -> Rows:
    """Verdicts about two programs, of which the second does as much, or 5% more; three times."""
    networks = room(framework, rehearsed)
    batch = 4 if rehearsed else 4096
    rows: Rows = []
    for program, size in {"MLP, batch 1": 1, f"MLP, batch {batch}": batch}.items():
        call = compiled_mlp(networks, framework, size)
        first, second = (repeated(call, times) for times in PAIRS[name])
        for seed in range(3):
            options: dict[str, Any] = {"check": False, "progress": False, "seed": seed}
            comparison = compare({"a": first, "b": second}, time_limit=limit, **options)
            print(comparison, flush=True)
            for metric in METRICS:
                if getattr(comparison["b"].times, metric):
                    found = dict(
                        zip(("ratio", "low", "high"), ratio(comparison, "b", metric), strict=True)
                    )
                    verdict = comparison.verdict("b", metric)
                    rows.append({"program": program, "metric": metric, "verdict": verdict, **found})
    return rows


def compiled_mlp(networks: Any, framework: str, batch: int) -> Callable[[], Any]:
    """The MLP of `hybridize` on one input: eager in PyTorch, with ``jit`` in JAX."""
    ways, args = networks.ways(Case("mlp", batch))
    way = ways["eager" if framework == "pytorch" else "jit"]
    return lambda: way(*args)


def repeated(function: Callable[[], Any], times: int) -> Callable[[], Any]:
    """A callable that does the same so many times, and waits for none of them."""

    def call() -> Any:
        for _ in range(times):
            output = function()
        return output

    return call


def marked_tests(framework: str, rehearsed: bool) -> Rows:
    """What became of each test that is marked `gpu`: passed, failed or skipped."""
    files = [
        file.relative_to(ROOT).as_posix()
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        if "@pytest.mark.gpu(" in file.read_text(encoding="utf-8")
    ]
    env = dict(os.environ) | ({} if rehearsed else {"D2LHYBRID_REQUIRE_GPU": framework})
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "tests.xml")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "gpu"]
        done = subprocess.run(
            [*command, f"--junitxml={report}", f"--basetemp={folder}/tmp", *files],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        print(done.stdout, flush=True)
        if not report.exists():
            raise RuntimeError(f"pytest ended with status {done.returncode}: {done.stdout[-500:]}")
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return [outcome(case) for case in cases]


def outcome(case: ElementTree.Element) -> dict[str, str | float | None]:
    """One test of pytest's report in XML."""
    ends = [part for part in case if part.tag in ("failure", "error", "skipped")]
    why = ends[0].get("message", "") if ends else None
    words = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    result = words[ends[0].tag] if ends else "passed"
    return {"test": f"{case.get('classname')}.{case.get('name')}", "outcome": result, "why": why}
