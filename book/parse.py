"""Stage 1: chapters -> trees of blocks, or everything that is wrong with them."""

from collections.abc import Sequence
from pathlib import Path

from book.blocks import Block, Chapter, Exercise, Heading, Solution, visible
from book.errors import ChapterError, Problem
from book.files import read_text
from book.frontmatter import FrontMatter, front_matter
from book.reader import Inside, Reader
from book.references import check_references


def load(folder: Path) -> tuple[Chapter, ...]:
    """Parse all chapters of a folder, in the order that their front matter names.

    Raises ChapterError with every problem of every chapter.
    """
    problems: list[Problem] = []
    chapters = []
    placed: dict[int, str] = {}
    for path in sorted(folder.glob("[!.]*.md")):  # an editor's own files begin with a dot
        reader = Reader(path)
        chapter, front = _chapter(reader, read_text(path))
        if front.order in placed:
            text = f"order: {front.order} is that of {placed[front.order]}; choose another."
            reader.problem(front.order_line, text)
        if front.order is not None:
            placed.setdefault(front.order, path.name)
        chapters.append(chapter)
        problems += reader.problems
    chapters.sort(key=lambda chapter: chapter.order)
    problems += check_references(chapters)
    if problems:
        raise ChapterError(problems)
    return tuple(chapters)


def _chapter(reader: Reader, text: str) -> tuple[Chapter, FrontMatter]:
    lines = text.split("\n")
    front = front_matter(lines, reader)
    blocks = reader.blocks("\n".join(lines[front.end :]), front.end + 1, Inside(front.frameworks))
    _check_title(front.title, blocks, reader)
    for framework in front.frameworks:
        _check_solutions(list(visible(blocks, framework)), framework, reader)
    chapter = Chapter(
        name=reader.path.stem,
        path=reader.path,
        order=front.order or 0,
        frameworks=front.frameworks,
        blocks=blocks,
        labels=tuple(reader.labels),
        references=tuple(reader.references),
        description=front.description,
        minutes=front.minutes,
        most_words=front.words,
        most_cells=front.cells,
    )
    return chapter, front


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
