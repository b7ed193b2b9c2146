"""Run the programs of the pages, and keep what of their comparisons no clock decides.

    python tools/page_comparisons.py

It writes docs/comparisons.json: for each program of the cookbook and of *Why is it slow?*, by the
title above it, what ``book.comparisons`` compares. tests/test_pages.py holds the programs against
it. Run it anew when a program has changed, or what the package finds out about one.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from book.comparisons import without_clock
from d2lhybrid.experiments.comparison import MIME, Comparison
from d2lhybrid.verbs.sweep import Sweep

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs/comparisons.json"
PAGES = ("docs/cookbook.md", "docs/why.md")
SECONDS = "3"  # of rounds: a model that counts its calls needs enough of them to reach the limit
# Runs a program as Python does, and prints the JSON of its comparisons, too.
RUN = """
import runpy
from tools.page_comparisons import print_json_too
print_json_too()
runpy.run_path("question.py", run_name="__main__")
"""
_MARK = "comparison as JSON: "


def blocks(text: str, language: str) -> list[str]:
    """What stands on a page as a program, as commands, or as what is printed."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def sections(page: str) -> dict[str, str]:
    """Those of a page that have a program, by their titles."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.findall(r"^##+ (.*?)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE)
    return {title: section for title, section in found if blocks(section, "python")}


def print_json_too() -> None:
    """From now on, a comparison that is printed has its JSON in a line below its text."""
    for kind in (Comparison, Sweep):
        kind.__repr__ = _with_json(kind.__repr__)  # type: ignore[method-assign]


def _with_json(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda shown: f"{text(shown)}\n{_MARK}{json.dumps(shown._repr_mimebundle_()[MIME])}"


def comparisons(printed: str) -> list[dict[str, Any]]:
    """What no clock decides of the comparisons that such a program has printed, in order.

    Rows of another runtime are left out, because they depend on what is installed.
    """
    lines = [line for line in printed.splitlines() if line.startswith(_MARK)]
    found = [without_clock(json.loads(line.removeprefix(_MARK))) for line in lines]
    for table in (table for one in found for table in one.get("comparisons", [one])):
        table["rows"] = [row for row in table["rows"] if not row["other_runtime"]]
    return found


def run(program: str) -> list[dict[str, Any]]:
    """Run a program in a new process: its comparisons."""
    environment = {"PYTHONPATH": str(ROOT), "D2LHYBRID_LANGUAGE": "en"}
    environment |= {"D2LHYBRID_MOST_SECONDS": SECONDS, "TF_CPP_MIN_LOG_LEVEL": "3"}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "question.py").write_text(program, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", RUN],
            check=True, stdout=subprocess.PIPE, encoding="utf-8", cwd=folder,
            env={**os.environ, **environment},
        )  # fmt: skip
    return comparisons(done.stdout)


def main() -> None:
    """Write the file; the programs that a shell runs are not among them."""
    found: dict[str, dict[str, Any]] = {}
    for page in PAGES:
        found[page] = {}
        for title, section in sections(page).items():
            if not blocks(section, "bash"):
                print(f"{page}: {title}", flush=True)
                found[page][title] = run("".join(blocks(section, "python")))
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
