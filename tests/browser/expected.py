"""What a notebook's file says, to compare with what a page shows."""

import json
import re
from typing import Any

Notebook = dict[str, Any]


def read(path):
    """The notebook in a file."""
    found: Notebook = json.loads(path.read_text(encoding="utf-8"))
    return found


def code_cells(content):
    """The cells with code."""
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def title(content):
    """The text of the only level-1 heading."""
    cells = [cell for cell in content["cells"] if cell["cell_type"] == "markdown"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    found = re.search(r"^# (.+)$", text, re.MULTILINE)
    assert found, "no title"
    return found[1]


def sections(content):
    """Where the cells stand that begin a section."""
    cells = enumerate(content["cells"])
    return [number for number, cell in cells if "".join(cell["source"]).startswith("## ")]


def not_well(content):
    """The cells that printed an error or a warning without being made for it."""
    return [
        f"{cell['id']}: {output}"
        for cell in code_cells(content)
        if "raises-exception" not in cell["metadata"].get("tags", [])
        for output in cell["outputs"]
        if output["output_type"] == "error" or output.get("name") == "stderr"
    ]


def shown(content, mime):
    """The outputs of a kind."""
    return [
        "".join(output["data"][mime])
        for cell in code_cells(content)
        for output in cell["outputs"]
        if mime in output.get("data", {})
    ]
