"""Measure what the front pages say of a CPU: ``recorded/cpu/<framework>-<network>.json``.

``make findings`` runs this file. It compares the networks of the chapters `faster` and `hybridize`,
read from the committed notebooks, each in several fresh processes. What is measured waits in
build/findings, so an interrupted run goes on where it was; when all is there, it takes the place of
what was in recorded/cpu. A comparison that other programs disturbed is not kept.
"""

import argparse
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from setup_env import ROOT

from book.frameworks import FRAMEWORKS
from book.measured import LARGE_BATCH, findings_file
from d2lhybrid import Comparison, compare, variants
from recording.chapter_networks import defines_networks
from recording.notebook_code import NOTEBOOKS, code_cells

STAGED = ROOT / "build/findings"
PROCESSES = 6  # the fewest that give an interval
SECONDS = 30.0  # of rounds, in all processes together

# A network with its input, from what the notebooks define.
NETWORKS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "resnet": lambda chapters: (chapters.resnet(), chapters.images(1)),
    LARGE_BATCH: lambda chapters: (chapters.resnet(), chapters.images(32)),
    "encoder": lambda chapters: (chapters.encoder(), chapters.tokens(1)),
    "mlp": lambda chapters: (chapters.get_net(), chapters.x),
}
WAYS = {
    "pytorch": ("eager", "torch.compile", "aotinductor"),
    "tensorflow": ("eager", "tf.function", "concrete function XLA"),
    "jax": ("eager", "jit", "compiled ahead"),
    "mxnet": ("eager", "hybridized", "static_shape"),
}


def main() -> int:
    """Measure what is missing, each framework in a process of its own; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=FRAMEWORKS, default=[*FRAMEWORKS])
    parser.add_argument("--here", action="store_true", help="all in this process")
    options = parser.parse_args()
    if options.here:
        return max(map(measure_all, options.only))
    runs = [
        subprocess.run([sys.executable, __file__, "--here", "--only", framework])
        for framework in options.only
    ]
    if any(run.returncode for run in runs):
        print("Not all was measured. Run it again: it goes on with what is missing.")
        return 1
    for framework in options.only:
        for network in NETWORKS:
            target = findings_file(ROOT, framework, network)
            target.parent.mkdir(parents=True, exist_ok=True)
            findings_file(STAGED, framework, network).replace(target)
    return 0


def measure_all(framework: str) -> int:
    """Measure the networks of a framework that are not there yet; 1 if one was disturbed."""
    chapters = defined_in_chapters(framework)
    disturbed = False
    for network in NETWORKS:
        file = findings_file(STAGED, framework, network)
        if file.exists():
            continue
        print(f"\n{framework}, {network}", flush=True)
        comparison = measured(framework, network, chapters)
        print(comparison, flush=True)
        if comparison.busy or comparison.stopped == "interrupted":
            print("Not kept: other programs disturbed it, or it was interrupted.", flush=True)
            disturbed = True
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(comparison.release().to_json() + "\n", encoding="utf-8")
    return int(disturbed)


def measured(framework: str, network: str, chapters: ModuleType) -> Comparison:
    """Compare the ways to run a network."""
    net, x = NETWORKS[network](chapters)
    ways = variants(net, x).only(*WAYS[framework])
    if framework == "pytorch" and network == LARGE_BATCH:  # README's table
        ways = ways.only("eager", "torch.compile")
        ways["eager, channels last"] = chapters.channels_last(net, x)
    return compare(ways, time_limit=SECONDS, processes=PROCESSES)


def defined_in_chapters(framework: str) -> ModuleType:
    """A module with the networks of both chapters.

    It is a file, because the processes that measure have to import it: TorchDynamo looks up there
    what a network's code names.
    """
    cells = code_cells(NOTEBOOKS / framework / "faster.ipynb")
    (last,) = [number for number, cell in enumerate(cells) if defines_networks(cell)]
    cells = [cell for cell in cells[: last + 1] if "hide-input" in cell.tags]
    cells += [
        cell
        for cell in code_cells(NOTEBOOKS / framework / "hybridize.ipynb")
        if "def get_net()" in cell.source
    ]
    STAGED.mkdir(parents=True, exist_ok=True)
    name = f"chapters_{framework}"
    source = "\n\n".join(["from d2lhybrid import training", *(cell.source for cell in cells)])
    (STAGED / f"{name}.py").write_text(source, encoding="utf-8")
    sys.path.append(str(STAGED))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(STAGED), os.environ.get("PYTHONPATH")])
    )
    return importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
