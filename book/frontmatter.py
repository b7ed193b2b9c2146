"""Stage 1: what a chapter says about itself, between two lines ``---`` at its top."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from book.errors import yaml_reason
from book.frameworks import FRAMEWORKS
from book.reader import Reader
from book.translate import Context, Message

_NEEDED = ("title", "order", "frameworks")
_ALLOWED = ("description", "minutes", "words", "cells")


@dataclass(frozen=True)
class FrontMatter:
    """What it says, and how many lines it takes; where it is malformed, what can be used of it.

    ``minutes`` are how long reading takes, from and to; ``words`` and ``cells`` are the most that
    the chapter may have in any framework.
    """

    end: int
    title: str = ""
    order: int | None = None
    order_line: int = 1
    frameworks: tuple[str, ...] = tuple(FRAMEWORKS)
    description: Message | None = None
    minutes: tuple[int, int] | None = None
    words: int | None = None
    cells: int | None = None


def front_matter(lines: Sequence[str], reader: Reader) -> FrontMatter:
    """Read it from the lines of a chapter; ``reader`` notes what is wrong."""
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        reader.problem(1, "expected front matter: title and frameworks between two lines '---'.")
        return FrontMatter(0)
    end = lines.index("---", 1) + 1
    try:
        values = yaml.safe_load("\n".join(lines[1 : end - 1]))
    except yaml.YAMLError as error:
        reader.problem(2, f"the front matter is not YAML: {yaml_reason(error)}.")
        return FrontMatter(end)
    given = set(values) if isinstance(values, dict) else set()
    if not given.issuperset(_NEEDED) or not given.issubset(_NEEDED + _ALLOWED):
        expected = f"{', '.join(_NEEDED)} and perhaps {', '.join(_ALLOWED)}"
        received = ", ".join(map(str, values or ())) or "nothing"
        reader.problem(1, f"front matter: expected {expected}; received {received}.")
        return FrontMatter(end)
    rows = {line.partition(":")[0]: row for row, line in enumerate(lines[:end], 1)}
    return FrontMatter(
        end=end,
        title=str(values["title"]),
        order=_whole_number(values, "order", rows, reader),
        order_line=rows.get("order", 1),
        frameworks=_frameworks(values["frameworks"], reader),
        description=_description(values, rows, reader),
        minutes=_minutes(values, rows, reader),
        words=_whole_number(values, "words", rows, reader),
        cells=_whole_number(values, "cells", rows, reader),
    )


def _whole_number(
    values: dict[str, Any], key: str, rows: dict[str, int], reader: Reader
) -> int | None:
    value = values.get(key)
    if key in values and (type(value) is not int or value < 1):  # True is an int, too
        text = f"{key}: expected a whole number from 1 on, received {value!r}."
        reader.problem(rows.get(key, 1), text)
        return None
    return value


def _minutes(
    values: dict[str, Any], rows: dict[str, int], reader: Reader
) -> tuple[int, int] | None:
    match values.get("minutes"):
        case None:
            return None
        case [int(low), int(high)] if 0 < low < high:
            return low, high
        case other:
            text = f"minutes: expected two whole numbers, as [20, 30], received {other!r}."
            reader.problem(rows.get("minutes", 1), text)
            return None


def _frameworks(keys: object, reader: Reader) -> tuple[str, ...]:
    everyone = tuple(FRAMEWORKS)
    if not isinstance(keys, list) or not keys or any(key not in everyone for key in keys):
        reader.problem(
            1, f"frameworks: expected a list out of {', '.join(everyone)}, received {keys!r}."
        )
        return everyone
    return tuple(key for key in everyone if key in keys)


def _description(values: dict[str, Any], rows: dict[str, int], reader: Reader) -> Message | None:
    text = " ".join(str(values.get("description") or "").split())
    if not text:
        return None
    context = Context(reader.path.stem, "", (), "description")
    return Message(text, context, reader.file, rows.get("description", 1))
