"""The recipes of docs/cookbook.md and docs/worth-it.md run as they stand, and print what they show.

A recipe is a section with a program, and, where the program isn't run by itself, the commands.
Below stands what is printed; a line that is only "…" leaves some out.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from processes import ROOT
from test_readme import masked

RECIPES = {
    title: section
    for page in ("cookbook", "worth-it")
    for title, section in re.findall(
        r"^## (.*?)\n(.*?)(?=^## |\Z)",
        (ROOT / f"docs/{page}.md").read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    if "```python\n" in section
}
FENCED = r"```{}\n(.*?)```"
ENVIRONMENT = {
    "PYTHONPATH": str(ROOT),
    "PYTHONIOENCODING": "utf-8",
    "PYTHONWARNINGS": "ignore",
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "D2LHYBRID_MOST_SECONDS": "0.05",  # nobody looks at the figures
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def blocks(section, language):
    return re.findall(FENCED.format(language), section, re.DOTALL)


def printed(section, folder):
    """What the commands of a section print, or its program if there are none."""
    program = "".join(blocks(section, "python"))
    commands = "".join(blocks(section, "bash")) or "python recipe.py"
    name = re.search(r"\w+\.py", commands)[0]
    (folder / name).write_text(program, encoding="utf-8")
    return subprocess.run(
        ["bash", "-e", "-c", commands.replace("pip install", "true")],
        cwd=folder, env={**os.environ, **ENVIRONMENT},
        check=True, stdout=subprocess.PIPE, encoding="utf-8",
    ).stdout  # fmt: skip


def rows(text):
    """The first cells of the rows of a comparison, or of a sweep; none if there is neither."""
    table = re.search(r"^(?:variant|work) .*\n((?:.+\n)+)", text, re.MULTILINE)
    lines = table[1].splitlines() if table else []
    names = [re.split(" {2,}", row)[0].removesuffix(" ★") for row in lines if row != "…"]
    # Another runtime is a row only where it is installed.
    return [name for name in names if not name.endswith("(another runtime)")]


def test_there_are_ten_recipes_and_the_question():
    assert len(RECIPES) == 11


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_prints_what_it_shows(title, tmp_path):
    section = RECIPES[title]
    said = printed(section, tmp_path)
    (shown,) = blocks(section, "text")
    # The columns depend on the clock and the verdicts, more rows on what is installed.
    assert rows(shown) == [row for row in rows(said) if row in rows(shown)]
    if not rows(shown):
        lines = [line.removesuffix("…") for line in shown.splitlines()]
        assert [line for line in lines if masked(line) not in masked(said)] == []
