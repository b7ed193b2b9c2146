"""Stage 2: the first page of a language, which leads to its chapters and holds the site's tree."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from nbformat import NotebookNode

from book.frameworks import FRAMEWORKS, READING_ORDER
from book.languages import ENGLISH, LANGUAGES
from website.addresses import place
from website.notebooks import Chapter, reading_minutes, running_minutes
from website.picture import number, picture
from website.repository import Repository
from website.results import Comparison
from website.words import in_english, words

_API = "api/index"


@dataclass(frozen=True)
class Measured:
    """What the first page shows of the notebooks' figures; ``waited`` in seconds."""

    comparisons: Sequence[Comparison] = ()
    waited: tuple[float, float] | None = None


NOTHING = Measured()


def front_source(
    language: str,
    chapters: Sequence[Chapter],
    descriptions: dict[str, str],
    reference: Sequence[str],
    repository: Repository | None,
    measured: Measured = NOTHING,
) -> str:
    """The page's source.

    ``chapters`` are the language's, ``descriptions`` say what each teaches, ``reference`` names
    the pages below ``en`` that are in English only, and ``measured`` is what the English notebooks
    have measured.
    """
    say = words(language)
    names = list(dict.fromkeys(chapter.key.chapter for chapter in chapters))
    found = findings(language, measured)
    ids = ["start", *(["findings"] if found else []), "chapters"]
    ids += [*(f"chapter-{name}" for name in names), "run", "reference"]
    site = json.dumps({"kind": "front", "sections": ids})
    parts = [
        f"---\nsite: '{site}'\n---",
        f"# {LANGUAGES[language].collection}",
        say["question"],
        say["here"],
    ]
    parts += _start(language, [one for one in chapters if one.key.chapter == names[0]])
    if shown := picture(language, measured.comparisons):
        parts.append(f"```{{raw}} html\n{shown}\n```")
    if found:
        parts += [f"## {say['findings_title']}", "\n".join(f"1. {one}" for one in found)]
    parts += [f"## {say['chapters_title']}", say["pick"]]
    for name in names:
        editions = [one for one in chapters if one.key.chapter == name]
        parts += _chapter(language, editions, descriptions)
    parts += [f"## {say['run_title']}", *_ways_to_run(language, repository)]
    parts += [f"## {in_english(language, say['reference_title'])}", say["reference_text"]]
    parts.append(f"- [{in_english(language, say['api'])}]({place('en/' + _API)})")
    parts += [_tree(FRAMEWORKS[key].name, _titles(chapters, key)) for key in READING_ORDER]
    if language == ENGLISH.code:
        parts.append(_tree(say["reference"], reference))
    return "\n\n".join(parts) + "\n"


def _start(language: str, editions: Sequence[Chapter]) -> list[str]:
    """The link to the first chapter; site.js leads it to the framework chosen last."""
    first = editions[0]
    text = f"{words(language)['start']} {first.title} · {FRAMEWORKS[first.key.framework].name}"
    return [f"```{{container}} start-here\n[{text}]({place(first.page)})\n```"]


def findings(language: str, measured: Measured) -> list[str]:
    """The findings that the figures bear out, each a sentence or two."""
    say, found = words(language), []
    slower = [(one, one.slower[0]) for one in measured.comparisons if one.slower]
    if slower:
        one, worst = min(slower, key=lambda pair: pair[1].ratio)
        found.append(
            say["finding_slower"].format(
                framework=FRAMEWORKS[one.framework].name,
                variant=worst.variant,
                times=number(1 / worst.ratio, language),
            )
        )
    gains = [one for one in measured.comparisons if one.best.ratio > 1]
    if len(gains) > 1:
        shown = (
            f"{FRAMEWORKS[one.framework].name} {number(one.best.ratio, language)}×" for one in gains
        )
        found.append(say["finding_gain"].format(gains=" · ".join(shown)))
    if measured.waited:
        short, long = (number(1000 * seconds, language) for seconds in measured.waited)
        found.append(say["finding_wait"].format(short=short, long=long))
    return found


def _chapter(language: str, editions: Sequence[Chapter], descriptions: dict[str, str]) -> list[str]:
    """A chapter's heading, what it teaches, how long it takes, and the ways to its frameworks."""
    links = "\n".join(
        f"- [{FRAMEWORKS[one.key.framework].name}]({place(one.page)})" for one in editions
    )
    about = descriptions[editions[0].key.chapter]
    time = takes(language, [one.notebook for one in editions])
    return [f"### {editions[0].title}", *([about] if about else []), f"*{time}*", links]


def takes(language: str, editions: Sequence[NotebookNode]) -> str:
    """How long a chapter takes, whichever framework a reader chooses."""
    ran = [running_minutes(one) for one in editions]
    say = words(language)["takes" if all(ran) else "takes_to_read"]
    minutes = max(map(reading_minutes, editions))
    return say.format(minutes=minutes, run=max(filter(None, ran), default=0))


def _ways_to_run(language: str, repository: Repository | None) -> list[str]:
    say = words(language)
    here = "make lab"
    if repository:
        folder = repository.name.rpartition("/")[2]
        here = f"git clone {repository.url}\ncd {folder}\nmake lab"
    parts = [say["run_here"], f"```bash\n{here}\n```"]
    return [*parts, *([say["run_elsewhere"]] if repository else [])]


def _titles(chapters: Sequence[Chapter], framework: str) -> list[str]:
    found = [chapter for chapter in chapters if chapter.key.framework == framework]
    return [f"{one.title} <{framework}/{one.key.chapter}>" for one in found]


def _tree(caption: str, entries: Sequence[str]) -> str:
    lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"]
    return "\n".join(lines)
