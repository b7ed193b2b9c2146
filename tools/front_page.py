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


def comparison(framework: str) -> str:
    """The table of the chapter's comparison, with its sentences and its stamp."""
    for text in printed(framework):
        if re.match(r"variant +time per call", text):
            return text.strip()
    raise FrontPageError(f"The {framework} notebook shows no comparison any more.")


def row(table: str, variant: str) -> tuple[str, float]:
    """Time per call and ratio of a variant, as its table has them."""
    for line in table.splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        if cells[0] == variant:
            return cells[1], float(cells[4])
    raise FrontPageError(f"There is no row {variant!r} in:\n{table}")


def demand(holds: bool, finding: str) -> None:
    if not holds:
        raise FrontPageError(f"No longer true in the notebooks: {finding}. Rewrite the finding.")


def item(text: str) -> str:
    return textwrap.fill(f"- {text}", 100, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def slower_compiled() -> str:
    table = comparison("pytorch")
    (eager, _), (compiled, ratio) = row(table, "eager"), row(table, "torch.compile")
    script = row(table, "torchscript frozen")[1]
    demand(ratio < 1 < script, "torch.compile is slower than eager, TorchScript faster")
    return item(
        f"**Compiled can be slower.** PyTorch runs the chapter's network in {eager} a call, and "
        f"compiled with `torch.compile` in {compiled}: the checks before each call cost time too. "
        f"Frozen TorchScript, its deprecated forerunner, is {script} times as fast as eager."
    )


def the_call() -> str:
    table = comparison("tensorflow")
    graph, xla = row(table, "tf.function")[1], row(table, "tf.function XLA")[1]
    call, both = row(table, "concrete function")[1], row(table, "concrete function XLA")[1]
    demand(graph < xla and graph * 1.3 < call < both, "the concrete function gains, XLA too")
    return item(
        f"**Half of the gain can be in the call.** In TensorFlow, `tf.function` is {graph} times "
        f"as fast as eager, and {xla} times with XLA. The same graph called as a concrete function "
        f"is {call} times as fast with no other compiler at all, and {both} times with XLA."
    )


def the_wait() -> str:
    text = "\n".join(printed("mxnet"))
    queued, done = (
        float(re.search(rf"^{name}: ([0-9.]+) sec$", text, re.MULTILINE)[1])  # type: ignore[index]
        for name in ("without waiting", "waiting")
    )
    demand(done > 5 * queued, "MXNet's loop returns long before its work is done")
    return item(
        "**A stopwatch can miss nearly all of the work.** In MXNet, a loop of forward passes "
        f"returns after {queued * 1e3:.1f} ms; the work that it ordered is done after "
        f"{done * 1e3:.0f} ms."
    )


def machines() -> str:
    stamps = {comparison(name).splitlines()[-1] for name in ("pytorch", "tensorflow", "mxnet")}
    dates = sorted({stamp.split(" · ")[0] for stamp in stamps})
    machine = re.search(r"· ([^·]+ · \d+ cores)", min(stamps))
    demand(machine is not None, "the stamp names the machine")
    span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    return f"\nMeasured by the notebooks, {span}: {machine[1]}, no GPU.\n"  # type: ignore[index]


def findings() -> str:
    return "\n" + slower_compiled() + the_call() + the_wait() + machines() + "\n"


def table() -> str:
    return f"\n```text\n{comparison('mxnet')}\n```\n\n"


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
