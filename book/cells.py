"""The code cell of a chapter: its options and its code -> a typed block."""

import re
from collections.abc import Callable

import yaml

from book.blocks import CodeCell
from book.code import TAGS, code_slots
from book.errors import yaml_reason
from book.prose import MakeMessage

_OPTION = re.compile(r":([\w-]+):(.*)")

Report = Callable[[int, str], None]
"""Takes a line of the file and what is wrong there."""


def read_code_cell(
    content: str, line: int, messages: Callable[[int], MakeMessage], report: Report
) -> CodeCell | None:
    """The cell whose fence opens at ``line``; None, and a report, where it is malformed."""
    opened, lines = line, content.rstrip().split("\n")
    options: dict[str, list[str]] = {"tags": [], "labels": []}
    while match := _OPTION.fullmatch(lines[0].rstrip()) if lines else None:
        line += 1
        if wrong := _read_option(match[1], match[2], options):
            report(line, wrong)
        lines.pop(0)
    while lines and not lines[0].strip():
        line += 1
        lines.pop(0)
    source = "\n".join(lines)
    if not source:
        report(opened, "a code cell needs code.")
        return None
    try:
        labels = options["labels"]
        slots = code_slots(source, labels, messages(line + 1))
    except SyntaxError as error:
        report(line + (error.lineno or 1), f"this is not Python: {error.msg}.")
        return None
    found = {slot.message.text for slot in slots if slot.message.context.kind == "label"}
    for label in labels:
        if label not in found:
            report(line, f"the label {label!r} lies in no single string literal of this cell.")
    return CodeCell(line + 1, source, slots, tuple(options["tags"]))


def _read_option(name: str, text: str, options: dict[str, list[str]]) -> str | None:
    """Read one option into ``options``, or say what is wrong with it."""
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        return f":{name}: is not YAML: {yaml_reason(error)}."
    if name not in options:
        return f"unknown option :{name}:; expected {', '.join(options)}."
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        return f":{name}: expected a list such as [first, second], received {text.strip()!r}."
    unknown = [value for value in values if name == "tags" and value not in TAGS]
    if unknown:
        return f"unknown tag {', '.join(unknown)}; expected some of {', '.join(TAGS)}."
    options[name] += values
    return None
