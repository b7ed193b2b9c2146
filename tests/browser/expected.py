"""What a notebook's file says, to compare with what a page shows."""

import json
import re
from pathlib import Path
from typing import Any

from d2lhybrid.i18n import gettext, language, set_language

Notebook = dict[str, Any]


def read(path: Path) -> Notebook:
    """The notebook in a file."""
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(content: Notebook) -> list[dict[str, Any]]:
    """The cells with code."""
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def title(content: Notebook) -> str:
    """The text of the only level-1 heading."""
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "markdown"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
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


def tables(content: Notebook) -> int:
    """How many tables there are among the outputs."""
    return sum(html.count("<table") for html in _data(content, "text/html"))


def drawings(content: Notebook) -> int:
    """How many graphs are drawn among the outputs."""
    return sum(html.count("<svg") for html in _data(content, "text/html"))


def plots(content: Notebook) -> list[str]:
    """The plots among the outputs, as the addresses of images."""
    images = (image.replace("\n", "") for image in _data(content, "image/png"))
    return [f"data:image/png;base64,{image}" for image in images]


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
