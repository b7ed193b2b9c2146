"""Keep the figures on the front page those of the committed notebooks.

README.md has regions between ``<!-- measured: NAME -->`` and ``<!-- end -->``. ``make notebooks``
runs this file, which writes them anew from what the English notebooks measured; with ``--check``,
as ``make check`` runs it, it writes nothing and says which regions are behind. A finding that no
longer holds stops it: then the sentence has to be rewritten, not the number.
"""

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import nbformat

from book.measured import MIME, Comparison, comparisons
from d2lhybrid.report.units import seconds

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
REGION = re.compile(r"(<!-- measured: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class FrontPageError(Exception):
    """What the front page says does not follow from the notebooks."""


def notebook(framework: str) -> nbformat.NotebookNode:
    """The framework's first chapter, in English."""
    return nbformat.read(ROOT / "notebooks/en" / framework / "hybridize.ipynb", as_version=4)


def comparison(framework: str, *labels: str) -> Comparison:
    """The first of the chapter's comparisons that has all of these rows."""
    for found in comparisons(notebook(framework)):
        if {row.label for row in found.rows}.issuperset(labels):
            return found
    raise FrontPageError(f"The {framework} notebook no longer compares {', '.join(labels)}.")


def times_as_fast(found: Comparison, label: str, clock: str = "latency") -> float:
    """How many times as fast as the baseline a row is, by a clock."""
    (row,) = (row for row in found.rows if row.label == label)
    ratio = row.ratio if clock == "latency" else row.throughput_ratio
    if ratio is None:
        raise FrontPageError(f"{label} has no ratio by {clock}.")
    return ratio


def demand(holds: bool, finding: str) -> None:
    if not holds:
        raise FrontPageError(f"No longer true in the notebooks: {finding}. Rewrite the finding.")


def slower_and_faster() -> str:
    small = comparison("pytorch", "eager", "torch.compile")
    latency = {row.label: seconds(row.latency) for row in small.rows}
    gain = times_as_fast(comparison("pytorch", "torch.compile", "copy"), "torch.compile")
    demand(
        times_as_fast(small, "torch.compile") < 1 < gain,
        "torch.compile is slower on the MLP and faster on a normalization",
    )
    return (
        "**The same compiler loses and wins.** PyTorch runs the chapter's small network in "
        f"{latency['eager']} a call, and compiled with `torch.compile` in "
        f"{latency['torch.compile']}: entering and leaving compiled code costs more than it saves. "
        f"A normalization of a large array it makes {gain:.3g} times as fast, because it fuses 14 "
        "passes through memory into 2."
    )


def the_wrapper() -> str:
    labels = ("tf.function", "eager functions", "concrete function XLA")
    table = comparison("tensorflow", *labels)
    graph, functions, both = (times_as_fast(table, label) for label in labels)
    demand(1 < graph < both and functions > 1.5, "most of TensorFlow's gain is Keras")
    return (
        "**Ask what a speed-up is made of.** In TensorFlow, `tf.function` is "
        f"{graph:.3g} times as fast as eager execution. But the same operations called without "
        f"Keras and without any graph are {functions:.3g} times as fast. The graph, called "
        f"directly and compiled by XLA, comes to {both:.3g} times."
    )


def two_answers() -> str:
    table = comparison("mxnet", "eager", "static_shape")
    clocks = ("latency", "throughput")
    latency, throughput = (times_as_fast(table, "static_shape", clock) for clock in clocks)
    demand(1 < latency < throughput * 0.95, "MXNet gains more in a stream than in a single call")
    return (
        "**“How much faster?” can have two true answers.** In MXNet, the compiled network is "
        f"{latency:.3g} times as fast for somebody who waits for each answer, and "
        f"{throughput:.3g} times for somebody who streams, because the work is queued."
    )


FINDINGS = {"pytorch": slower_and_faster, "tensorflow": the_wrapper, "mxnet": two_answers}


def findings() -> str:
    """The three sentences, and when and on what they were measured."""
    items = [
        textwrap.fill(f"- {finding()}", 100, subsequent_indent="  ", break_on_hyphens=False)
        for finding in FINDINGS.values()
    ]
    found = [comparison(name, "eager") for name in FINDINGS]
    dates = " to ".join(sorted({one.date for one in found})[:: max(1, len(found) - 1)])
    machines = " and ".join(sorted({one.processor for one in found}))
    return "\n" + "\n".join(items) + f"\n\nMeasured by the notebooks, {dates}: {machines}.\n\n"


def table() -> str:
    """MXNet's first comparison, as it is printed."""
    for cell in notebook("mxnet").cells:
        for output in cell.get("outputs", ()):
            if MIME in output.get("data", {}):
                shown = output["data"]["text/plain"].strip("\n")
                return f"\n```text\n{shown}\n```\n\n"
    raise FrontPageError("The mxnet notebook no longer compares anything.")


REGIONS: dict[str, Callable[[], str]] = {"findings": findings, "comparison": table}


def renewed(text: str) -> tuple[str, list[str]]:
    """The front page with its regions written anew, and the names of those that changed."""
    behind = []

    def write(match: re.Match[str]) -> str:
        fresh = REGIONS[match[2]]()
        if fresh != match[3]:
            behind.append(match[2])
        return match[1] + fresh + match[4]

    if {match[2] for match in REGION.finditer(text)} != REGIONS.keys():
        raise FrontPageError(f"README.md has to have these regions: {', '.join(REGIONS)}.")
    return REGION.sub(write, text), behind


def main() -> None:
    """Write README.md's regions, or check them."""
    try:
        text, behind = renewed(README.read_text(encoding="utf-8"))
    except FrontPageError as error:
        sys.exit(f"README.md: {error}")
    if not behind:
        return
    if "--check" in sys.argv[1:]:
        sys.exit(f"README.md is behind the notebooks: {', '.join(behind)}. Run: make notebooks")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
