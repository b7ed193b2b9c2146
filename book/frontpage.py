"""Stage 3, the collection's front pages: frameworks and chapters, with what each teaches."""

from collections.abc import Sequence

from book.blocks import Chapter
from book.files import NOTEBOOKS, Key, front_page_path
from book.frameworks import FRAMEWORKS
from book.languages import ENGLISH, Language
from book.prose import plain
from book.translate import Translate

# A comment, because readers meet the page in copies that aren't built from anything.
_FOR_AUTHORS = "<!-- Built from `chapters/`. To change a sentence, change it there. -->"


def lab_command(language: Language) -> str:
    """What opens the notebooks in JupyterLab, in this language on any system."""
    return "make lab" if language == ENGLISH else f"D2LHYBRID_LANGUAGE={language.code} make lab"


def front_page(
    chapters: Sequence[Chapter],
    language: Language,
    translate: Translate,
    languages: Sequence[Language],
    alone: bool = False,
) -> str:
    """The page of one language as Markdown, with links to those of all ``languages``.

    ``alone`` leaves out what only readers of the repository can do.
    """
    parts = [f"# {language.collection}"]
    if len(languages) > 1:
        links = (
            f"**{one.name}**" if one == language else f"[{one.name}]({front_page_path(one).name})"
            for one in languages
        )
        parts.append(" · ".join(links))
    frameworks = [key for key in FRAMEWORKS if any(key in one.frameworks for one in chapters)]
    head = ["", *(FRAMEWORKS[key].name for key in frameworks)]
    rows = [head, ["---"] * len(head)]
    rows += [_row(chapter, frameworks, language, translate) for chapter in chapters]
    table = "\n".join(f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows)
    command = f"```bash\n{lab_command(language)}\n```"
    lab = [] if alone else [language.lab, command]
    for_authors = [_FOR_AUTHORS] if language == ENGLISH and not alone else []
    pick = [language.pick] if len(frameworks) > 1 else []
    parts += [*pick, table, *lab, language.run, *for_authors]
    return "\n\n".join(parts) + "\n"


def _row(
    chapter: Chapter, frameworks: Sequence[str], language: Language, translate: Translate
) -> list[str]:
    about = f"**{plain(translate(chapter.title.slots[0].message))}**"
    if chapter.description:
        about += f"<br>{translate(chapter.description)}"
    links = []
    for framework in frameworks:
        path = Key(language.code, framework, chapter.name).path.relative_to(NOTEBOOKS)
        shown = f"[{language.open}]({path.as_posix()})"
        links.append(shown if framework in chapter.frameworks else "")
    return [about, *links]
