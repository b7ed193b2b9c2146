"""What a notebook's file says, to compare with what a page shows."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

from d2lhybrid.i18n import gettext, language, set_language

Notebook = dict[str, Any]


class Table(NamedTuple):
    """The words of a table's head and of its rows."""

    heads: list[str]
    rows: list[list[str]]


class _TableReader(HTMLParser):
    """Collects the tables of a piece of HTML."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self._row: list[str] = []
        self._in_cell = False

    def handle_starttag(self, tag: str, _attributes: object) -> None:
        if tag == "table":
            self.tables.append(Table([], []))
        elif tag == "thead":
            self._row = self.tables[-1].heads
        elif tag == "tbody":
            self._row = []
        elif tag == "tr" and self._row is not self.tables[-1].heads:
            self._row = []
            self.tables[-1].rows.append(self._row)
        elif tag in ("th", "td"):
            self._row.append("")
            self._in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td"):
            self._in_cell = False

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            self._row[-1] += data


def read(path: Path) -> Notebook:
    """The notebook in a file."""
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(content: Notebook) -> list[dict[str, Any]]:
    """The cells with code."""
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def title(content: Notebook) -> str:
    """The text of the only level-1 heading."""
    text = "\n".join("".join(cell["source"]) for cell in content["cells"])
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found, "no title"
    return found[1]


def not_well(content: Notebook) -> list[str]:
    """The cells that printed an error or a warning without being made for it, with their words."""
    found = []
    for cell in code_cells(content):
        if "raises-exception" in cell["metadata"].get("tags", []):
            continue
        for output in cell["outputs"]:
            if output["output_type"] == "error" or output.get("name") == "stderr":
                words = output.get("traceback") or output["text"]
                found.append(f"{cell['id']}: {''.join(words)}")
    return found


def tables(content: Notebook) -> list[Table]:
    """The tables among the outputs, in order."""
    found = []
    for html in _data(content, "text/html"):
        reader = _TableReader()
        reader.feed(html)
        found += reader.tables
    return found


def plots(content: Notebook) -> list[tuple[str, str]]:
    """The label below each plot, and the plot as the address of an image."""
    labels = [
        found[1]
        for cell in code_cells(content)
        if (found := re.search(r'\.plot\(xlabel="(.*?)"', "".join(cell["source"])))
    ]
    images = [image.replace("\n", "") for image in _data(content, "image/png")]
    return [
        (label, f"data:image/png;base64,{image}")
        for label, image in zip(labels, images, strict=True)
    ]


def verdict_words(code: str) -> tuple[str, str, set[str]]:
    """In a language: the heads of a comparison's first column and verdicts, and the verdicts."""
    before = language()
    set_language(code)
    try:
        words = ("baseline", "faster", "slower", "same", "undecided")
        return gettext("variant"), gettext("verdict"), {gettext(word) for word in words}
    finally:
        set_language(before)


def _data(content: Notebook, mime: str) -> list[str]:
    return [
        "".join(output["data"][mime])
        for cell in code_cells(content)
        for output in cell["outputs"]
        if mime in output.get("data", {})
    ]
