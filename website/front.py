"""Stage 2: the first page of a language, which leads to its chapters and holds the site's tree."""

import json
from collections.abc import Sequence

from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, LANGUAGES
from website.addresses import place
from website.notebooks import Chapter
from website.repository import Repository
from website.words import in_english, words

_API = "api/index"


def front_source(
    language: str,
    chapters: Sequence[Chapter],
    descriptions: dict[str, str],
    reference: Sequence[str],
    repository: Repository | None,
) -> str:
    """The page's source.

    ``chapters`` are the language's, ``descriptions`` say what each teaches, and ``reference``
    names the pages below ``en`` that are in English only.
    """
    say = words(language)
    names = list(dict.fromkeys(chapter.key.chapter for chapter in chapters))
    ids = ["start", *(f"chapter-{name}" for name in names), "run", "reference"]
    site = json.dumps({"kind": "front", "sections": ids})
    parts = [f"---\nsite: '{site}'\n---", f"# {LANGUAGES[language].collection}", say["intro"]]
    parts.append(say["pick"])
    for name in names:
        parts += _chapter([one for one in chapters if one.key.chapter == name], descriptions)
    parts += [f"## {say['run_title']}", *_ways_to_run(language, repository)]
    parts += [f"## {in_english(language, say['reference_title'])}", say["reference_text"]]
    parts.append(f"- [{in_english(language, say['api'])}]({place('en/' + _API)})")
    parts += [_tree(FRAMEWORKS[key].name, _titles(chapters, key)) for key in FRAMEWORKS]
    if language == ENGLISH.code:
        parts.append(_tree(say["reference"], reference))
    return "\n\n".join(parts) + "\n"


def _chapter(editions: Sequence[Chapter], descriptions: dict[str, str]) -> list[str]:
    """A chapter's heading, what it teaches, and the links to its frameworks."""
    links = "\n".join(
        f"- [{FRAMEWORKS[one.key.framework].name}]({place(one.page)})" for one in editions
    )
    about = descriptions[editions[0].key.chapter]
    return [f"## {editions[0].title}", *([about] if about else []), links]


def _ways_to_run(language: str, repository: Repository | None) -> list[str]:
    say = words(language)
    here = "make lab"
    if repository:
        folder = repository.name.rpartition("/")[2]
        here = f"git clone {repository.url}\ncd {folder}\nmake lab"
    parts = [say["run_here"], f"```bash\n{here}\n```"]
    if repository and repository.colab(""):
        package = f"{{}} @ git+{repository.url}@{repository.branch}"
        install = (
            f'%pip install "{package.format("d2lhybrid[mxnet]")}"  # MXNet\n'
            f'%pip install "{package.format("d2lhybrid")}"  # PyTorch, TensorFlow'
        )
        parts += [say["run_colab"], f"```ipython\n{install}\n```"]
    return [*parts, *([say["run_binder"]] if repository else [])]


def _titles(chapters: Sequence[Chapter], framework: str) -> list[str]:
    found = [chapter for chapter in chapters if chapter.key.framework == framework]
    return [f"{one.title} <{framework}/{one.key.chapter}>" for one in found]


def _tree(caption: str, entries: Sequence[str]) -> str:
    lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"]
    return "\n".join(lines)
