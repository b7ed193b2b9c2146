"""Keep the figures on the front pages those that were measured.

In README.md, its translations and docs/findings.md they stand between ``<!-- measured: NAME -->``
and ``<!-- end -->``. ``make findings`` and ``make notebooks`` run this file. It writes them anew
from ``recorded/``, from what a CPU did in several processes and what was recorded on a GPU, and
draws their pictures into docs/images. With ``--check``, as ``make check`` runs it, it writes
nothing and says which are behind. Figures that another processor rounded up or down stay as they
are. A sentence that no longer holds stops it: then the sentence has to be rewritten, not the
number.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from setup_env import ROOT

from book import measured
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES
from book.likeness import same_picture, same_text
from book.measured import (
    COMPILED,
    LARGE_BATCH,
    NETWORKS,
    Comparison,
    Row,
    findings_file,
    gpu_figures,
    number,
    read_finding,
    times,
)
from book.readme import MARKED, readme_path
from book.recorded import read_recorded
from d2lhybrid.core.i18n import set_language
from d2lhybrid.showing import tables
from website.picture import picture
from website.words import words

FINDINGS = "docs/findings.md"  # what README has no room for, in English
# The rows that sentences speak of.
LAYOUT, STATIC = "eager, channels last", "static_shape"
PROCESSES = 6  # in words on every front page


class FrontPageError(Exception):
    """What a front page says does not follow from what was measured."""


def on_cpu() -> dict[str, dict[str, Comparison]]:
    """What was measured on a CPU, by network and framework."""
    return measured.on_cpu(ROOT)


def on_gpu() -> dict[str, dict[str, Comparison]]:
    """What was recorded on a GPU, by network and framework."""
    return measured.on_gpu(read_recorded(ROOT))


def best(compared: Comparison) -> Row:
    """Its fastest compiled way."""
    if compared.best is None:
        raise FrontPageError(f"A comparison with {compared.baseline} has no compiled row any more.")
    return compared.best


def network_table(language: str, networks: dict[str, dict[str, Comparison]]) -> str:
    """Frameworks by networks: how many times as fast, the times of a call, and by which way."""
    names = [words(language)[f"network_{network}"] for network in NETWORKS]
    lines = [["", *names], ["---"] * (1 + len(names))]
    for framework, about in FRAMEWORKS.items():
        compared = [networks[network][framework] for network in NETWORKS]
        lines.append([about.name, *(_network_cell(each, language) for each in compared)])
    return _table(lines)


def _network_cell(compared: Comparison, language: str) -> str:
    row = best(compared)
    took = times(compared.eager.latency, row.latency, language=language)
    ratio = f"{number(row.ratio or 1, language)}×"
    if row.verdict == "undecided":
        ratio += " ?"
    interval = " – ".join(number(end or 0, language) for end in (row.low, row.high))
    return f"**{ratio}** ({interval})<br>{took}<br>`{row.label}`"


def comparison_table(language: str) -> str:
    """A comparison as the package shows it."""
    set_language(language)
    try:
        finding = read_finding(findings_file(ROOT, "pytorch", LARGE_BATCH))
        table = tables.comparison_table(finding.rows)
        heads = [column.head.replace("\n", " ") for column in table.columns]
        return _table([heads, ["---"] * len(heads), *table.rows])
    finally:
        set_language(None)


def _table(lines: Sequence[Sequence[str]]) -> str:
    return "\n\n" + "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n\n"


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

    Raises FrontPageError if something was not measured, or what README says is no longer so.
    """
    networks = on_cpu()
    every = _every(networks)
    small, large = networks["resnet"], networks[LARGE_BATCH]["pytorch"]
    torch, tensorflow, jax = (small[name] for name in ("pytorch", "tensorflow", "jax"))
    dense = networks["mlp"]["pytorch"]
    queued = _row(networks["mlp"]["mxnet"], STATIC)
    ratios = {
        "tensorflow-ratio": best(tensorflow).ratio or 0,
        "jax-ratio": best(jax).ratio or 0,
        "pytorch-ratio": best(torch).ratio or 0,
        "compiled": _row(large, COMPILED).ratio or 0,
        "layout": _row(large, LAYOUT).ratio or 0,
        "latency": queued.ratio or 0,
        "throughput": queued.throughput_ratio or 0,
    }
    seconds = {
        "tensorflow-time": best(tensorflow).latency,
        "jax-time": best(jax).latency,
        "pytorch-eager": torch.eager.latency,
        "small-eager": dense.eager.latency,
        "small-compiled": _row(dense, COMPILED).latency,
    }
    gains = [ratios[f"{name}-ratio"] for name in ("tensorflow", "jax", "pytorch")]
    took = [best(one).latency for one in (tensorflow, jax, torch)]
    apart = max(gains) / min(gains)
    faster = all(best(one).verdict == "faster" for one in (torch, tensorflow, jax))
    quick = seconds["pytorch-eager"] < min(seconds["tensorflow-time"], seconds["jax-time"])
    for holds, sentence in (
        (faster and gains[-1] == min(gains), "A ratio depends on eager execution"),
        (apart > 1.5 * max(took) / min(took) and quick, "The large ratios are slow eager calls"),
        (1 < ratios["layout"] < ratios["compiled"], "Not every gain needs a compiler"),
        (_row(dense, COMPILED).verdict == "slower", "The same compiler can slow a network down"),
        (1 < ratios["latency"] < 0.95 * ratios["throughput"], "Two true answers"),
    ):
        if not holds:
            raise FrontPageError(f"No longer so in recorded/cpu: {sentence}. Rewrite it.")
    dates = sorted(comparison.date for comparison in every)
    return {
        **{name: number(ratio, language) for name, ratio in ratios.items()},
        **{name: times(time, language=language) for name, time in seconds.items()},
        "dates": " – ".join(dict.fromkeys((dates[0], dates[-1]))),
        "machines": "; ".join(sorted({comparison.processor for comparison in every})),
        "networks": network_table(language, networks),
        "table": comparison_table(language),
        **about_gpu(language),
    }


def _every(networks: dict[str, dict[str, Comparison]]) -> list[Comparison]:
    """All comparisons that front pages speak of; FrontPageError names those that are missing."""
    wanted = [(network, framework) for network in NETWORKS for framework in FRAMEWORKS]
    wanted.append((LARGE_BATCH, "pytorch"))
    missing = [pair for pair in wanted if pair[1] not in networks.get(pair[0], {})]
    if missing:
        files = ", ".join(findings_file(Path(), *pair[::-1]).as_posix() for pair in missing)
        raise FrontPageError(f"Not measured yet: {files}. Run: make findings")
    every = [networks[network][framework] for network, framework in wanted]
    fewest = min(comparison.processes for comparison in every)
    if fewest < PROCESSES:
        raise FrontPageError(f"Expected {PROCESSES} processes. Received: {fewest}.")
    return every


def _row(compared: Comparison, label: str) -> Row:
    """The row with this label; FrontPageError if there is none."""
    if label not in compared.variants:
        raise FrontPageError(f"A comparison with {compared.baseline} no longer has {label}.")
    return compared.variants[label]


def renewed(text: str, language: str) -> tuple[str, list[str]]:
    """A page with its figures written anew, and the names of those that changed."""
    known = figures(language)
    require_marks([match[2] for match in MARKED.finditer(text)], set(known))
    behind = []

    def figure(mark: re.Match[str]) -> str:
        if same_text(mark[3], known[mark[2]]):
            return mark[0]
        behind.append(mark[2])
        return mark[1] + known[mark[2]] + mark[4]

    return MARKED.sub(figure, text), behind


def require_marks(names: Sequence[str], known: set[str]) -> None:
    """Raise FrontPageError unless a page has marks, all of figures that there are."""
    unknown = sorted(set(names) - known)
    if unknown or not names:
        raise FrontPageError(f"Expected marks of: {', '.join(sorted(known))}. Found: {names}.")


def pages() -> Iterator[tuple[Path, str]]:
    """The pages with figures, and their languages; a language that is being begun has none."""
    for code, language in LANGUAGES.items():
        path = ROOT / readme_path(language)
        if path.exists():
            yield path, code
    yield ROOT / FINDINGS, ENGLISH.code


def pictures(path: Path, language: str) -> dict[Path, bytes]:
    """The pictures on a page, by their paths; none of a GPU where nothing was recorded on one."""
    name = "gpu" if path.name == Path(FINDINGS).name else "cpu"
    networks = on_gpu() if name == "gpu" else {key: on_cpu()[key] for key in NETWORKS}
    file = ROOT / f"docs/images/{name}.{language}.svg"
    return {file: picture(language, networks, name).encode()} if networks else {}


def main() -> None:
    """Write the figures and pictures of all front pages, or check them."""
    for path, language in pages():
        try:
            text, behind = renewed(path.read_text(encoding="utf-8"), language)
        except FrontPageError as error:
            sys.exit(f"{path.name}: {error}")
        files = {path: text.encode()} if behind else {}
        for file, content in pictures(path, language).items():
            if not file.exists() or not same_picture(file.read_bytes(), content):
                files[file] = content
                behind.append(file.name)
        if behind and "--check" in sys.argv[1:]:
            message = f"{path.name} is behind recorded/: {', '.join(behind)}."
            sys.exit(f"{message} Run: .venv/bin/python tools/front_page.py")
        for file, content in files.items():
            file.write_bytes(content)


if __name__ == "__main__":
    main()
