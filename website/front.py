"""Stage 2: the first page of a language, which leads to its chapters and holds the site's tree."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape

from nbformat import NotebookNode

from book.frameworks import FRAMEWORKS
from book.frontpage import lab_command
from book.languages import ENGLISH, LANGUAGES
from book.measured import NETWORKS
from website.addresses import place
from website.findings import Found, findings
from website.notebooks import Chapter, running_minutes
from website.picture import caption, picture
from website.repository import Repository
from website.words import in_english, words

TEACHING = "docs/teaching"  # the page for teachers, to which readers of all languages are led


def front_source(
    language: str,
    chapters: Sequence[Chapter],
    descriptions: Mapping[str, str],
    minutes: Mapping[str, tuple[int, int] | None],
    reference: Sequence[str],
    repository: Repository | None,
    found: Found,
    documents: Collection[str] = (),
) -> str:
    """The page's source.

    ``chapters`` are the language's, ``descriptions`` say what each teaches, ``minutes`` how long
    reading it takes, ``reference`` names the pages below ``en`` that are in English only, ``found``
    is what was measured, and ``documents`` are the names of the documents' pages.
    """
    say, first = words(language), chapters[0]
    start = f"{first.title} · {FRAMEWORKS[first.key.framework].name}"
    names = list(dict.fromkeys(chapter.key.chapter for chapter in chapters))
    said = findings(language, found)
    ids = ["start", *(["findings"] if said else []), "chapters"]
    ids += [*(f"chapter-{name}" for name in names), "run", "reference"]
    site = json.dumps({"kind": "front", "sections": ids})
    parts = [
        f"---\nsite: '{site}'\n---",
        f"# {LANGUAGES[language].collection}",
        say["question"],
        say["here"],
        # site.js leads it to the framework chosen last.
        f"```{{container}} start-here\n[{say['start']} {start}]({place(first.page)})\n```",
    ]
    on_cpu = {key: found.cpu[key] for key in NETWORKS if key in found.cpu}
    for name, networks in (("cpu", on_cpu), ("gpu", found.gpu)):
        if networks:
            shown = escape(caption(language, networks, name))
            figure = f"{picture(language, networks, name)}<figcaption>{shown}</figcaption>"
            parts.append(f'```{{raw}} html\n<figure class="gains">{figure}</figure>\n```')
    if said:
        parts += [f"## {say['findings_title']}", "\n".join(f"1. {one}" for one in said)]
    parts += [f"## {say['chapters_title']}", say["pick"]]
    for name in names:
        editions = [one for one in chapters if one.key.chapter == name]
        parts += _chapter(language, editions, descriptions[name], minutes[name])
    parts += [f"## {say['run_title']}", *_ways_to_run(language, repository)]
    parts += [f"## {in_english(language, say['reference_title'])}", say["reference_text"]]
    links = [f"- [{in_english(language, say['api'])}]({place('en/api/index')})"]
    if TEACHING in documents:
        links.append(f"- [{in_english(language, say['teaching'])}]({place(f'en/{TEACHING}')})")
    parts.append("\n".join(links))
    for key, framework in FRAMEWORKS.items():
        theirs = [one for one in chapters if one.key.framework == key]
        entries = (f"{one.title} <{key}/{one.key.chapter}>" for one in theirs)
        parts.append(_tree(framework.name, entries))
    if language == ENGLISH.code:
        parts.append(_tree(say["reference"], reference))
    return "\n\n".join(parts) + "\n"


def _chapter(
    language: str, editions: Sequence[Chapter], about: str, minutes: tuple[int, int] | None
) -> list[str]:
    """A chapter's heading, what it teaches, how long it takes, and the ways to its frameworks."""
    links = [f"- [{FRAMEWORKS[one.key.framework].name}]({place(one.page)})" for one in editions]
    time = [f"*{takes(language, minutes, [one.notebook for one in editions])}*"] if minutes else []
    about_it = [about] if about else []
    return [f"### {editions[0].title}", *about_it, *time, "\n".join(links)]


def takes(language: str, minutes: tuple[int, int], editions: Sequence[NotebookNode]) -> str:
    """How long a chapter takes: to read as it says itself, to run in the slowest framework."""
    ran = [running_minutes(one) for one in editions]
    say = words(language)["takes" if all(ran) else "takes_to_read"]
    low, high = minutes
    return say.format(low=low, high=high, run=max(filter(None, ran), default=0))


def _ways_to_run(language: str, repository: Repository | None) -> list[str]:
    say, steps = words(language), [lab_command(LANGUAGES[language])]
    if repository:
        folder = repository.name.rpartition("/")[2]
        steps = [f"git clone {repository.url}", f"cd {folder}", *steps]
    parts = [say["run_here"], "\n".join(["```bash", *steps, "```"])]
    return [*parts, say["run_elsewhere"]] if repository and repository.colab("") else parts


def _tree(caption: str, entries: Iterable[str]) -> str:
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"])
