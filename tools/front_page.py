"""Keep the figures on the front pages those of the committed notebooks.

In README.md and its translations they stand between ``<!-- measured: NAME -->`` and
``<!-- end -->``. ``make notebooks`` runs this file, which writes them anew from what the English
notebooks measured and what was recorded on a GPU, whose picture it draws into docs/images. With
``--check``, as ``make check`` runs it, it writes nothing and says which
are behind. A sentence that no longer holds stops it: then the sentence has to be rewritten, not the
number.
"""

import re
import sys
from pathlib import Path

import nbformat
from setup_env import ROOT

from book.files import Key
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES
from book.measured import (
    COMPILED,
    LARGE_BATCH,
    NETWORKS,
    Comparison,
    Network,
    Row,
    gpu_figures,
    number,
    recorded,
    times,
)
from book.recorded import read_recorded
from website.picture import picture
from website.words import words

MARKED = re.compile(r"(<!-- measured: (\S+) -->)(.*?)(<!-- end -->)", re.DOTALL)
# The rows that sentences speak of.
LAYOUT, STATIC = "eager, channels last", "static_shape"


class FrontPageError(Exception):
    """What a front page says does not follow from the notebooks."""


def notebook(framework: str, chapter: str) -> nbformat.NotebookNode:
    """The framework's notebook of a chapter, in English."""
    path = Key(ENGLISH.code, framework, chapter).path
    try:
        return nbformat.read(ROOT / path, as_version=4)
    except FileNotFoundError:
        raise FrontPageError(f"There is no {path} yet. Run: make notebooks") from None


def comparison(framework: str, network: Network, *labels: str) -> Comparison:
    """What the framework's notebook says of a network, with rows of these labels."""
    compared = network.of(notebook(framework, network.chapter))
    if compared is None or not compared.variants.keys() >= set(labels):
        wanted = ", ".join([str(network), *labels])
        raise FrontPageError(f"{framework}/{network.chapter} no longer compares {wanted}.")
    return compared


def best(compared: Comparison) -> Row:
    """Its fastest compiled way."""
    if compared.best is None:
        raise FrontPageError(f"A comparison with {compared.baseline} has no compiled row any more.")
    return compared.best


def network_table(language: str) -> str:
    """Frameworks by networks: how many times as fast, the times of a call, and by which way."""
    names = [words(language)[f"network_{network}"] for network in NETWORKS]
    lines = [["", *names], ["---"] * (1 + len(names))]
    for framework, about in FRAMEWORKS.items():
        compared = [comparison(framework, network) for network in NETWORKS.values()]
        lines.append([about.name, *(_network_cell(each, language) for each in compared)])
    return _table(lines)


def _network_cell(compared: Comparison, language: str) -> str:
    row = best(compared)
    took = times(compared.eager.latency, row.latency, language=language)
    ratio = f"{number(row.ratio or 1, language)}×"
    if row.verdict == "undecided":
        ratio += " ?"
    return f"**{ratio}**<br>{took}<br>`{row.label}`"


def comparison_table(compared: Comparison, language: str) -> str:
    """A comparison as a reader of the package sees it."""

    def shown(row: Row) -> list[str]:
        time = times(row.latency, language=language)
        if row.label == compared.baseline:
            return [row.label, "baseline", "1", "", time, "", ""]
        known = row.low is not None and row.high is not None
        interval = [number(end or 0, language) for end in (row.low, row.high)]
        return [
            row.label,
            row.verdict,
            number(row.ratio or 1, language),
            " – ".join(dict.fromkeys(interval)) if known else "?",
            time,
            times(row.cold, language=language) if row.cold else "",
            _calls(row.pays_after),
        ]

    # As the package prints them; tests/test_readme.py compares.
    heads = ["variant", "verdict", "ratio", "95% interval", "time per call"]
    lines = [[*heads, "cold start", "pays after"], ["---"] * 7, *map(shown, compared.rows)]
    return _table(lines)


def _calls(pays_after: float | None) -> str:
    if pays_after is None:
        return ""
    return "1 call" if pays_after == 1 else f"{pays_after:,.0f} calls"


def _table(lines: list[list[str]]) -> str:
    return "\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n\n"


def on_gpu() -> dict[str, dict[str, Comparison]]:
    """What was recorded on a GPU, by network and framework."""
    return recorded(read_recorded(ROOT))


def about_gpu(language: str) -> dict[str, str]:
    """The figures of the sentence about a GPU; none where nothing was recorded.

    Raises FrontPageError if the sentence is no longer so.
    """
    networks = on_gpu()
    gpu = gpu_figures(networks, language)
    if networks and not gpu:
        raise FrontPageError("No longer so in recorded/: On a GPU, `reduce-overhead`. Rewrite it.")
    return {f"gpu-{name}": figure for name, figure in gpu.items()}


def figures(language: str) -> dict[str, str]:
    """Every figure by its name.

    Raises FrontPageError if what README says of them is no longer so.
    """
    torch, tensorflow = (
        comparison(framework, NETWORKS["resnet"]) for framework in ("pytorch", "tensorflow")
    )
    large = comparison("pytorch", LARGE_BATCH, COMPILED, LAYOUT)
    small = comparison("pytorch", NETWORKS["mlp"], COMPILED)
    queued = comparison("mxnet", NETWORKS["mlp"], STATIC)
    compiled, static = small.variants[COMPILED], queued.variants[STATIC]
    ratios = {
        "pytorch-ratio": best(torch).ratio or 0,
        "tensorflow-ratio": best(tensorflow).ratio or 0,
        "compiled": large.variants[COMPILED].ratio or 0,
        "layout": large.variants[LAYOUT].ratio or 0,
        "latency": static.ratio or 0,
        "throughput": static.throughput_ratio or 0,
    }
    seconds = {
        "pytorch-time": best(torch).latency,
        "tensorflow-time": best(tensorflow).latency,
        "small-eager": small.eager.latency,
        "small-compiled": compiled.latency,
    }
    apart = ratios["tensorflow-ratio"] / ratios["pytorch-ratio"]
    took = seconds["tensorflow-time"] / seconds["pytorch-time"]
    faster = best(torch).verdict == best(tensorflow).verdict == "faster"
    for holds, sentence in (
        (faster and apart > 2 and 2 * took < apart, "A ratio says as much about eager execution"),
        (1 < ratios["layout"] < ratios["compiled"], "Not all of a gain is the compiler's"),
        (compiled.verdict == "slower", "The same compiler loses"),
        (1 < ratios["latency"] < 0.95 * ratios["throughput"], "Two true answers"),
    ):  # fmt: skip
        if not holds:
            raise FrontPageError(f"No longer so in the notebooks: {sentence}. Rewrite it.")
    every = [comparison(key, network) for key in FRAMEWORKS for network in NETWORKS.values()]
    dates = sorted(comparison.date for comparison in every)
    return {
        **{name: number(ratio, language) for name, ratio in ratios.items()},
        **{name: times(time, language=language) for name, time in seconds.items()},
        "dates": " – ".join(dict.fromkeys((dates[0], dates[-1]))),
        "machines": "; ".join(sorted({comparison.processor for comparison in every})),
        "networks": network_table(language),
        "table": comparison_table(large, language),
        **about_gpu(language),
    }


def renewed(text: str, language: str) -> tuple[str, list[str]]:
    """A front page with its figures written anew, and the names of those that changed.

    The English page has each figure once, a translation those that it needs.
    """
    known = figures(language)
    names = [match[2] for match in MARKED.finditer(text)]
    wanted = sorted(known) if language == ENGLISH.code else sorted(known.keys() & set(names))
    if sorted(names) != wanted:
        raise FrontPageError(f"Expected one mark for each of: {', '.join(wanted)}. Found: {names}.")
    behind = [match[2] for match in MARKED.finditer(text) if match[3] != known[match[2]]]
    return MARKED.sub(lambda match: match[1] + known[match[2]] + match[4], text), behind


def page(language: str) -> Path:
    """The front page in a language."""
    return ROOT / ("README.md" if language == ENGLISH.code else f"README.{language}.md")


def gpu_picture(language: str) -> dict[Path, bytes]:
    """The picture of what was recorded on a GPU, by its path; none where nothing was."""
    networks = on_gpu()
    path = ROOT / f"docs/images/gpu.{language}.svg"
    return {path: picture(language, networks, "gpu").encode()} if networks else {}


def main() -> None:
    """Write the figures and pictures of all front pages, or check them."""
    for language in LANGUAGES:
        path = page(language)
        if not path.exists():  # a language that is being begun
            continue
        try:
            text, behind = renewed(path.read_text(encoding="utf-8"), language)
        except FrontPageError as error:
            sys.exit(f"{path.name}: {error}")
        files = {path: text.encode()} if behind else {}
        for file, content in gpu_picture(language).items():
            if not file.exists() or file.read_bytes() != content:
                files[file] = content
                behind.append(file.name)
        if behind and "--check" in sys.argv[1:]:
            message = f"{path.name} is behind the notebooks: {', '.join(behind)}."
            sys.exit(f"{message} Run: make notebooks")
        for file, content in files.items():
            file.write_bytes(content)


if __name__ == "__main__":
    main()
