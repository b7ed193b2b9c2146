"""What the front pages show: what networks did on a CPU and, recorded, on a GPU.

``make findings`` compares each network in several processes, and leaves for each framework the
JSON of its comparison in ``recorded/cpu``. README, its translations and the site take their figures
from there, and those of a GPU from what was recorded on one.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import msgspec

from book.blocks import Case
from book.errors import BookError
from book.frameworks import FRAMEWORKS
from book.languages import LANGUAGES
from book.recorded import FOLDER, Recorded
from d2lhybrid.core.errors import DamagedResultError
from d2lhybrid.core.table import unit
from d2lhybrid.experiments import comparison as results
from d2lhybrid.teaching.bars import Group
from recording.recordings import CPU

# By keys that stand in ``words/``, too, as ``network_resnet``, and in the order of the front pages.
NETWORKS = ("resnet", "encoder", "mlp")
# What their sentences speak of besides: the residual network with 32 images a call.
LARGE_BATCH = "resnet-32"
COMPILED, GRAPHS = "torch.compile", "torch.compile reduce-overhead"


class Row(msgspec.Struct, frozen=True):
    """A variant. Times in seconds a call; a ratio above 1 is faster than the baseline."""

    label: str
    verdict: str
    latency: float
    ratio: float | None = None
    throughput: float | None = None  # where the work is queued
    throughput_ratio: float | None = None
    role: str = "variant"  # or "baseline", or "reference": not a way to run the network
    deprecated: bool = False  # by its makers, so it is no choice
    low: float | None = None  # the ends of the ratio's interval
    high: float | None = None
    cold: float | None = None  # what each process pays before its first answer
    pays_after: float | None = None  # how many calls; None for never, too


class Comparison(msgspec.Struct, frozen=True, dict=True):
    """The rows of a table, and when and on what they were measured."""

    baseline: str
    rows: tuple[Row, ...]
    processor: str
    date: str
    processes: int = 0  # so many fresh ones; 0 for the one that compared

    @cached_property
    def variants(self) -> dict[str, Row]:
        """The framework's own ways by their labels, without references."""
        return {row.label: row for row in self.rows if row.role != "reference"}

    @property
    def eager(self) -> Row:
        """The row that the others are held against."""
        return next(row for row in self.rows if row.label == self.baseline)

    @property
    def compiled(self) -> list[Row]:
        """The ways that compile and are not deprecated, the fastest first.

        The label of a way that compiles nothing names the baseline: "eager, channels last".
        """
        eager = re.compile(rf"\b{re.escape(self.baseline)}\b")
        compiled = [
            row
            for row in self.variants.values()
            if not eager.search(row.label) and row.ratio and not row.deprecated
        ]
        return sorted(compiled, key=lambda row: row.ratio or 0, reverse=True)

    @property
    def best(self) -> Row | None:
        """The fastest of these, be it faster than eager or not; None where there is none."""
        return next(iter(self.compiled), None)

    @property
    def slower(self) -> list[Row]:
        """Those that are slower than eager beyond doubt, the slowest first."""
        return [row for row in reversed(self.compiled) if row.verdict == "slower"]


def findings_file(root: Path, framework: str, network: str) -> Path:
    """Where the repository at ``root`` has what a network did on a CPU."""
    return root / FOLDER / CPU / f"{framework}-{network}.json"


def read_finding(file: Path) -> results.Comparison:
    """The comparison in such a file; BookError where it holds something else."""
    try:
        return results.Comparison.from_json(file.read_text(encoding="utf-8"))
    except DamagedResultError as error:
        raise BookError(f"{file}: {error} `make findings` measures it anew.") from error


def on_cpu(root: Path) -> dict[str, dict[str, Comparison]]:
    """What a CPU did with the networks: by network, then by framework, as far as it is there."""
    networks: dict[str, dict[str, Comparison]] = {}
    for network in (*NETWORKS, LARGE_BATCH):
        for framework in FRAMEWORKS:
            file = findings_file(root, framework, network)
            if file.exists():
                finding = shown(read_finding(file))
                networks.setdefault(network, {})[framework] = finding
    return networks


def shown(comparison: results.Comparison) -> Comparison:
    """What front pages show of a comparison."""
    return msgspec.convert(comparison.summary(), Comparison)


def on_gpu(source: Recorded) -> dict[str, dict[str, Comparison]]:
    """What a GPU did with the front pages' networks: by network, then by framework."""
    networks: dict[str, dict[str, Comparison]] = {}
    for network in NETWORKS:
        case = Case(network, 1, "inference", "float32")
        for framework in FRAMEWORKS:
            if ran := source.networks(framework, {case: network}):
                comparison = _of_group(ran.groups[0], ran.recording.device, ran.recording.date)
                networks.setdefault(network, {})[framework] = comparison
    return networks


def _of_group(group: Group, device: str, date: str) -> Comparison:
    eager = Row(group.baseline.label, "baseline", group.baseline.latency.seconds, 1.0)
    rows = [
        Row(
            row.label,
            row.latency.verdict,
            row.latency.seconds,
            row.latency.ratio,
            deprecated=row.deprecated,
        )
        for row in group.rows
    ]
    return Comparison(group.baseline.label, (eager, *rows), device, date)


def number(value: float, language: str) -> str:
    """With three digits, as the language writes it."""
    text = f"{value:.3g}"
    return text.replace(".", ",") if LANGUAGES[language].decimal_comma else text


def times(*seconds: float, language: str) -> str:
    """One after another in the unit of the longest, such as 27.8 → 2.46 ms."""
    name, size = unit(max(seconds))
    return f"{' → '.join(number(value / size, language) for value in seconds)} {name}"


def gpu_figures(networks: Mapping[str, Mapping[str, Comparison]], language: str) -> dict[str, str]:
    """The figures of the front pages' sentence about a GPU; none where they don't bear it out.

    It says of PyTorch that CUDA graphs make the residual network faster, which the compiler alone
    doesn't, and the dense layers slower.
    """
    residual, dense = (networks.get(name, {}).get("pytorch") for name in ("resnet", "mlp"))
    if not residual or not dense:
        return {}
    graphs, compiled = residual.variants.get(GRAPHS), residual.variants.get(COMPILED)
    slower = dense.variants.get(GRAPHS)
    if not graphs or not compiled or not slower:
        return {}
    if graphs.verdict != "faster" or compiled.verdict == "faster" or slower.verdict != "slower":
        return {}
    return {
        "graphs": number(graphs.ratio or 1, language),
        "compiled": number(compiled.ratio or 1, language),
        "slower": number(1 / (slower.ratio or 1), language),
        "device": residual.processor,
        "date": residual.date,
    }
