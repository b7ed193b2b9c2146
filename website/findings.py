"""Stage 2: what was found, in sentences, as far as the figures bear them out."""

from collections.abc import Mapping
from dataclasses import dataclass

from book.frameworks import FRAMEWORKS
from book.measured import LARGE_BATCH, Comparison, Row, gpu_figures, number, times
from website.words import words

Editions = Mapping[str, Comparison]  # by the keys of frameworks
Networks = Mapping[str, Editions]  # by the keys of networks


@dataclass(frozen=True)
class Found:
    """What was measured on a CPU, and what was recorded on a GPU: by the keys of networks."""

    cpu: Networks
    gpu: Networks


_APART = 1.05  # from here on, latency and throughput are two answers
_NEARER = 2  # how many times nearer compiled times are than ratios, where that is a finding


def findings(language: str, found: Found) -> list[str]:
    """The findings that the figures bear out, each a sentence or two."""
    real, large, small = (found.cpu.get(key, {}) for key in ("resnet", LARGE_BATCH, "mlp"))
    sentences = [
        _finding_ratio(language, real),
        _finding_batch(language, real, large),
        _finding_slower(language, small),
        _finding_two(language, small),
        _finding_gpu(language, found.gpu),
    ]
    return [sentence for sentence in sentences if sentence]


def _gains(editions: Editions) -> dict[str, tuple[Comparison, Row]]:
    """Each comparison with its fastest compiled way, where that is faster than eager."""
    return {
        framework: (comparison, comparison.best)
        for framework, comparison in editions.items()
        if comparison.best and comparison.best.verdict == "faster" and comparison.best.ratio
    }


def _finding_ratio(language: str, editions: Editions) -> str:
    """The ratios lie far apart, and the compiled times much nearer."""
    gains = _gains(editions)
    ratios = [best.ratio or 1 for _one, best in gains.values()]
    took = [best.latency for _one, best in gains.values()]
    if len(gains) < 2 or max(ratios) / min(ratios) < _NEARER * max(took) / min(took):
        return ""
    rows = {FRAMEWORKS[framework].name: best for framework, (_one, best) in gains.items()}
    return words(language)["finding_ratio"].format(
        ratios=" · ".join(
            f"{name} {number(row.ratio or 1, language)}×" for name, row in rows.items()
        ),
        times=" · ".join(
            f"{name} {times(row.latency, language=language)}" for name, row in rows.items()
        ),
    )


def _finding_batch(language: str, small: Editions, large: Editions) -> str:
    """In the framework where it is plainest, the same network gains less with a larger batch."""
    before, after = _gains(small), _gains(large)
    shrunk = {
        key: ((before[key][1].ratio or 1), (after[key][1].ratio or 1))
        for key in before
        if key in after
    }
    if not shrunk:
        return ""
    framework = max(shrunk, key=lambda key: shrunk[key][0] / shrunk[key][1])
    ratios = shrunk[framework]
    if ratios[0] < _NEARER * ratios[1]:
        return ""
    return words(language)["finding_batch"].format(
        framework=FRAMEWORKS[framework].name,
        small=number(ratios[0], language),
        large=number(ratios[1], language),
    )


def _finding_slower(language: str, editions: Editions) -> str:
    """A compiled way of the small network that is slower than eager."""
    slower = {
        key: comparison.slower[0] for key, comparison in editions.items() if comparison.slower
    }
    if not slower:
        return ""
    framework = min(slower, key=lambda key: slower[key].ratio or 1)
    row = slower[framework]
    return words(language)["finding_slower"].format(
        framework=FRAMEWORKS[framework].name,
        variant=row.label,
        times=number(1 / (row.ratio or 1), language),
    )


def _finding_two(language: str, editions: Editions) -> str:
    """A framework in which calls that are waited for gain another factor than a stream of them."""
    for framework, (_one, best) in _gains(editions).items():
        latency, throughput = best.ratio or 1, best.throughput_ratio or 1
        if throughput > _APART * latency:
            return words(language)["finding_two"].format(
                framework=FRAMEWORKS[framework].name,
                latency=number(latency, language),
                throughput=number(throughput, language),
            )
    return ""


def _finding_gpu(language: str, networks: Networks) -> str:
    """On a GPU, CUDA graphs help one small network in PyTorch and slow down another."""
    figures = gpu_figures(networks, language)
    return words(language)["finding_gpu"].format(**figures) if figures else ""
