"""Stage 1: chapters -> trees of blocks, or everything that is wrong with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from book.blocks import Block, Chapter, Exercise, Heading, Solution, visible
from book.errors import ChapterError, Problem, yaml_reason
from book.files import read_text
from book.frameworks import FRAMEWORKS
from book.reader import Inside, Reader
from book.references import check_references
from book.translate import Context, Message


@dataclass(frozen=True)
class _Front:
    """What the front matter says, and how many lines it takes."""

    title: str
    frameworks: tuple[str, ...]
    end: int
    description: str = ""


def load(folder: Path) -> tuple[Chapter, ...]:
    """Parse all chapters of a folder, in the order of their file names.

    Raises ChapterError with every problem of every chapter.
    """
    problems: list[Problem] = []
    chapters = []
    for path in sorted(folder.glob("[!.]*.md")):  # an editor's own files begin with a dot
        reader = Reader(path)
        chapters.append(_chapter(reader, read_text(path)))
        problems += reader.problems
    problems += check_references(chapters)
    if problems:
        raise ChapterError(problems)
    return tuple(chapters)


def _chapter(reader: Reader, text: str) -> Chapter:
    lines = text.split("\n")
    front = _front_matter(lines, reader)
    blocks = reader.blocks("\n".join(lines[front.end :]), front.end + 1, Inside(front.frameworks))
    _check_title(front.title, blocks, reader)
    for framework in front.frameworks:
        _check_solutions(list(visible(blocks, framework)), framework, reader)
    labels, references = tuple(reader.labels), tuple(reader.references)
    return Chapter(
        *(reader.path.stem, reader.path, front.frameworks, blocks, labels, references),
        description=_description(front, lines, reader),
    )


def _description(front: _Front, lines: Sequence[str], reader: Reader) -> Message | None:
    if not front.description:
        return None
    keys = [line.partition(":")[0] for line in lines[: front.end]]
    row = keys.index("description") + 1 if "description" in keys else 1
    context = Context(reader.path.stem, "", (), "description")
    return Message(" ".join(front.description.split()), context, reader.file, row)


def _front_matter(lines: Sequence[str], reader: Reader) -> _Front:
    everyone = tuple(FRAMEWORKS)
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        reader.problem(1, "expected front matter: title and frameworks between two lines '---'.")
        return _Front("", everyone, 0)
    end = lines.index("---", 1) + 1
    try:
        values = yaml.safe_load("\n".join(lines[1 : end - 1]))
    except yaml.YAMLError as error:
        reader.problem(2, f"the front matter is not YAML: {yaml_reason(error)}.")
        return _Front("", everyone, end)
    if not isinstance(values, dict) or set(values) - {"description"} != {"title", "frameworks"}:
        given = ", ".join(map(str, values or ())) or "nothing"
        expected = "title, frameworks and at most a description"
        reader.problem(1, f"front matter: expected {expected}, received {given}.")
        return _Front("", everyone, end)
    keys = values["frameworks"]
    if not isinstance(keys, list) or not keys or any(key not in everyone for key in keys):
        reader.problem(
            1, f"frameworks: expected a list out of {', '.join(everyone)}, received {keys!r}."
        )
        keys = everyone
    frameworks = tuple(key for key in everyone if key in keys)
    return _Front(str(values["title"]), frameworks, end, str(values.get("description") or ""))


def _check_title(title: str, blocks: Sequence[Block], reader: Reader) -> None:
    """The chapter opens with its only level-1 heading, which is the front matter's title."""
    first = blocks[0] if blocks else None
    if not isinstance(first, Heading) or first.level != 1:
        line = first.line if first else 1
        reader.problem(line, "a chapter opens with its title as a level-1 heading: '# Title'.")
    elif title and first.slots[0].message.text != title:
        reader.problem(first.line, f"expected the front matter's title as heading: '# {title}'.")
    for block in blocks[1:]:
        if isinstance(block, Heading) and block.level == 1:
            reader.problem(block.line, "only the title is a level-1 heading; use '##' here.")


def _check_solutions(blocks: Sequence[Block], framework: str, reader: Reader) -> None:
    """Each solution has its exercise, and nothing else falls into the fold that hides it."""
    exercises = set()
    for block, after in zip(blocks, [*blocks, None][1:], strict=True):
        if isinstance(block, Exercise):
            exercises.add(block.label)
        if not isinstance(block, Solution):
            continue
        if block.label not in exercises:
            reader.problem(
                block.line, f"readers of {framework} have no exercise {block.label!r} before this."
            )
        ends_fold = isinstance(after, Heading) and after.level <= 4
        if after and not ends_fold and not isinstance(after, Solution):
            reader.problem(
                after.line,
                "this would be folded away with the solution above it; move it before the "
                "solution, or put a heading of level 2 to 4 between them.",
            )
