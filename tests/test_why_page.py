"""The programs of docs/why.md run as they stand, and print the tables that stand below them.

`python benchmarks/why.py --page` writes these.
"""

import os
import re

import pytest
from processes import ROOT, python
from test_readme import BEFORE, table_in

PAGE = (ROOT / "docs/why.md").read_text(encoding="utf-8")
FIRST = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
# A question's heading, its program, and what stands below it.
QUESTIONS = re.findall(
    r"^### (.*?)\n.*?```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?",
    PAGE,
    re.DOTALL | re.MULTILINE,
)
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/frameworks")]),
    "D2LHYBRID_MOST_SECONDS": "0.05",  # nobody looks at the figures
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


def printed(program, folder):
    (folder / "question.py").write_text(program, encoding="utf-8")
    return python("-W", "ignore", "question.py", cwd=folder, **ENVIRONMENT).stdout


def test_there_are_ten_questions():
    assert len(QUESTIONS) == 10


@pytest.mark.parametrize(
    ("program", "shown"), [question[1:] for question in QUESTIONS], ids=[q[0] for q in QUESTIONS]
)
def test_a_program_prints_the_table_below_it(program, shown, tmp_path):
    labels = table_in(printed(program, tmp_path))[1]
    assert not shown or table_in(shown)[1] == labels


def test_the_first_lines_run(tmp_path):
    names = "from d2lhybrid import compare, variants\n"
    assert printed(names + BEFORE.format(name="torch") + FIRST, tmp_path)
