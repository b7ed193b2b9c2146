"""Keep the figures on the front page those of the committed notebooks.

README.md has regions between ``<!-- measured: NAME -->`` and ``<!-- end -->``. ``make notebooks``
runs this file, which writes them anew from the English notebooks' outputs; with ``--check``, as
``make check`` runs it, it writes nothing and says which regions are behind. A finding that no
longer holds stops it: then the sentence has to be rewritten, not the number.
"""

import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
REGION = re.compile(r"(<!-- measured: (\S+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


class FrontPageError(Exception):
    """What the front page says does not follow from the notebooks."""


def printed(framework: str) -> list[str]:
    """Every text that the cells of the framework's first chapter put out, in order."""
    path = ROOT / "notebooks" / "en" / framework / "hybridize.ipynb"
    texts = []
    for cell in nbformat.read(path, as_version=4).cells:
        for output in cell.get("outputs", ()):
            found = output.get("text") or output.get("data", {}).get("text/plain", "")
            texts.append(found if isinstance(found, str) else "".join(found))
    return texts


def comparisons(framework: str) -> list[str]:
    """The tables of the chapter's comparisons, with their sentences and stamps, in order."""
    return [
        text.strip("\n")
        for text in printed(framework)
        if re.search(r"^variant +verdict", text, re.M)
    ]


def comparison(framework: str, *variants: str) -> str:
    """The first of them that has all of these variants."""
    for table in comparisons(framework):
        if all(re.search(rf"^(★ )?{re.escape(name)}( ★)?  ", table, re.M) for name in variants):
            return table
    raise FrontPageError(f"The {framework} notebook no longer compares {', '.join(variants)}.")


def row(table: str, variant: str, clock: int = 0) -> tuple[str, float]:
    """Time per call and ratio of a variant, as its table has them; of the second clock with 1."""
    for line in table.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0].strip("★ ") == variant:
            _verdict, ratio, time = cells[1 + 3 * clock : 4 + 3 * clock]
            return time, float(ratio.replace(",", ""))
    raise FrontPageError(f"There is no row {variant!r} in:\n{table}")


def demand(holds: bool, finding: str) -> None:
    if not holds:
        raise FrontPageError(f"No longer true in the notebooks: {finding}. Rewrite the finding.")


def item(text: str) -> str:
    return textwrap.fill(f"- {text}", 100, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def slower_and_faster() -> str:
    small = comparison("pytorch", "eager", "torch.compile")
    (eager, _), (compiled, ratio) = row(small, "eager"), row(small, "torch.compile")
    gain = row(comparison("pytorch", "torch.compile", "copy"), "torch.compile")[1]
    demand(ratio < 1 < gain, "torch.compile is slower on the MLP and faster on a normalization")
    return item(
        "**The same compiler loses and wins.** PyTorch runs the chapter's small network in "
        f"{eager} a call, and compiled with `torch.compile` in {compiled}: entering and leaving "
        "compiled code costs more than it saves. A normalization of a large array it makes "
        f"{gain} times as fast, because it fuses 14 passes through memory into 2."
    )


def the_wrapper() -> str:
    table = comparison("tensorflow", "eager functions", "tf.function", "concrete function XLA")
    graph, functions = row(table, "tf.function")[1], row(table, "eager functions")[1]
    both = row(table, "concrete function XLA")[1]
    demand(1 < graph < both and functions > 1.5, "most of TensorFlow's gain is Keras")
    return item(
        "**Ask what a speed-up is made of.** In TensorFlow, `tf.function` is "
        f"{graph} times as fast as eager execution. But the same operations called without Keras "
        f"and without any graph are {functions} times as fast. The graph, called directly and "
        f"compiled by XLA, comes to {both} times."
    )


def two_answers() -> str:
    table = comparison("mxnet", "eager", "static_shape")
    latency, throughput = (row(table, "static_shape", clock)[1] for clock in (0, 1))
    demand(1 < latency < throughput * 0.95, "MXNet gains more in a stream than in a single call")
    return item(
        "**“How much faster?” can have two true answers.** In MXNet, the compiled network is "
        f"{latency} times as fast for somebody who waits for each answer, and {throughput} times "
        "for somebody who streams, because the work is queued."
    )


def machines() -> str:
    names = ("pytorch", "tensorflow", "mxnet")
    stamps = {comparison(name, "eager").splitlines()[-1] for name in names}
    dates = sorted({stamp.split(" · ")[0] for stamp in stamps})
    found = {re.search(r"· ([^·]+ · \d+ cores)", stamp) for stamp in stamps}
    demand(None not in found, "the stamp names the machine")
    on = " and ".join(sorted({match[1] for match in found if match}))
    span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"\nMeasured by the notebooks, {span}: {on}, no GPU.\n"


def findings() -> str:
    return "\n" + slower_and_faster() + the_wrapper() + two_answers() + machines() + "\n"


def table() -> str:
    return f"\n```text\n{comparison('mxnet', 'eager')}\n```\n\n"


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
