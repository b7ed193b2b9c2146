"""Keep the figures on the front page those of the committed notebooks.

In README.md they stand between ``<!-- measured: NAME -->`` and ``<!-- end -->``. ``make notebooks``
runs this file, which writes them anew from what the English notebooks measured; with ``--check``,
as ``make check`` runs it, it writes nothing and says which are behind. A sentence that no longer
holds stops it: then the sentence has to be rewritten, not the number.
"""

import re
import sys

import nbformat
from setup_env import ROOT

from book.measured import MIME, Comparison, comparisons

README = ROOT / "README.md"
MARKED = re.compile(r"(<!-- measured: (\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)


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


def table(framework: str) -> str:
    """The chapter's first comparison, as it is printed."""
    for cell in notebook(framework).cells:
        for output in cell.get("outputs", ()):
            if MIME in output.get("data", {}):
                shown = output["data"]["text/plain"].rstrip()  # line 1 begins with spaces
                return f"\n\n```text\n{shown}\n```\n\n"
    raise FrontPageError(f"The {framework} notebook no longer compares anything.")


def figures() -> dict[str, str]:
    """Every figure by its name.

    Raises FrontPageError where what README says of them is no longer so.
    """
    small = comparison("pytorch", "eager", "torch.compile")
    large = comparison("pytorch", "torch.compile", "copy")
    keras = comparison("tensorflow", "tf.function", "eager functions", "concrete function XLA")
    queued = comparison("mxnet", "eager", "static_shape")
    rows = [{row.label: row for row in one.rows} for one in (small, large, keras, queued)]
    compiled, static = rows[0]["torch.compile"], rows[3]["static_shape"]
    ratios = {
        "fused": rows[1]["torch.compile"].ratio or 0,
        "graph": rows[2]["tf.function"].ratio or 0,
        "functions": rows[2]["eager functions"].ratio or 0,
        "XLA": rows[2]["concrete function XLA"].ratio or 0,
        "latency": static.ratio or 0,
        "throughput": static.throughput_ratio or 0,
    }
    for holds, sentence in (
        ((compiled.ratio or 0) < 1 < ratios["fused"], "The same compiler loses and wins"),
        (ratios["functions"] > 1.5 and 1 < ratios["graph"] < ratios["XLA"],
         "Ask what a speed-up is made of"),
        (1 < ratios["latency"] < 0.95 * ratios["throughput"], "Two true answers"),
    ):  # fmt: skip
        if not holds:
            raise FrontPageError(f"No longer so in the notebooks: {sentence}. Rewrite it.")
    measured = (small, keras, queued)
    return {
        **{name: f"{ratio:.3g}" for name, ratio in ratios.items()},
        "eager": f"{1e6 * rows[0]['eager'].latency:.3g} µs",
        "compiled": f"{1e6 * compiled.latency:.3g} µs",
        "dates": " and ".join(sorted({one.date for one in measured})),
        "machines": " and ".join(sorted({one.processor for one in measured})),
        "table": table("mxnet"),
    }


def renewed(text: str) -> tuple[str, list[str]]:
    """The front page with its figures written anew, and the names of those that changed."""
    known = figures()
    names = [match[2] for match in MARKED.finditer(text)]
    if sorted(names) != sorted(known):
        raise FrontPageError(f"Expected one mark for each of: {', '.join(known)}. Found: {names}.")
    behind = [match[2] for match in MARKED.finditer(text) if match[3] != known[match[2]]]
    return MARKED.sub(lambda match: match[1] + known[match[2]] + match[4], text), behind


def main() -> None:
    """Write README.md's figures, or check them."""
    try:
        text, behind = renewed(README.read_text(encoding="utf-8"))
    except FrontPageError as error:
        sys.exit(f"README.md: {error}")
    if behind and "--check" in sys.argv[1:]:
        sys.exit(f"README.md is behind the notebooks: {', '.join(behind)}. Run: make notebooks")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
