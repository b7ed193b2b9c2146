"""README's examples run as they stand, for each framework, and print what README shows."""

import os
import re

import pytest
from processes import ROOT, python

from d2lhybrid import frameworks

README = (ROOT / "README.md").read_text(encoding="utf-8")
TRANSLATIONS = sorted(ROOT.glob("README.*.md"))
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# What a block prints stands below it.
SHOWN = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
# The heads of the table that `print(comparison)` prints.
HEADS = re.findall(r"^\| (variant .*) \|$", README, re.MULTILINE)
# What stands in the prose and can be evaluated behind the blocks.
IN_PROSE = re.findall(r"`((?:comparison\.|variants\(|training\(|explain\()[^`]+)`", README)

# What the reader has in the notebook before: a network, its input, and that input in NumPy.
BEFORE = """
from d2lhybrid.frameworks import to_host
from models import {name}_model
net, x = {name}_model()
x_numpy = to_host(x).array
"""
# What the examples in the prose speak of beside these; their names are PyTorch's.
BEFORE_PROSE = """
import d2lhybrid
import torch
from d2lhybrid import explain, training
class Masked(torch.nn.Module):
    def forward(self, ids, attention_mask):
        return ids * attention_mask
bert, ids, mask = Masked().eval(), torch.ones(1, 3), torch.ones(1, 3)
loss, batch = torch.nn.MSELoss(), (x, torch.ones(1, 2))
optimizer = torch.optim.SGD(net.requires_grad_().parameters())
"""


def table_in(printed):
    """The first table that was printed: its heads, and the labels of its rows."""
    heads, rows = re.search(r"^(variant .*)\n((?:.+\n)+)", printed, re.MULTILINE).groups()
    labels = [re.split(" {2,}", row)[0].removesuffix(" ★") for row in rows.splitlines()]
    return re.split(" {2,}", heads.strip()), labels


def masked(text):
    """A text without its figures, which are others in each run."""
    return re.sub(r"\d[\d.,]*", "#", text)


def allowed(example):
    """An example as a statement: a claim about this small network may be contradicted."""
    return re.sub(
        r"^comparison\.claim.*",
        r"try:\n    \g<0>\nexcept d2lhybrid.errors.ClaimError:\n    pass",
        example.replace("\n", " "),
    )


@pytest.fixture(scope="module", params=frameworks.known(), ids=lambda framework: framework.name)
def printed(request, tmp_path_factory):
    """What the examples of README print, run by a process with one framework."""
    framework, folder = request.param, tmp_path_factory.mktemp("reader")
    blocks = "\n".join(BLOCKS)
    if not any(saved.native for saved in framework.formats.values()):
        blocks = re.sub(r"^run_native\(.*", "", blocks, flags=re.MULTILINE)
    prose = [BEFORE_PROSE, *map(allowed, IN_PROSE)] if framework.name == "torch" else []
    code = "\n".join([BEFORE.format(name=framework.name), blocks, *prose])
    (folder / "reader.py").write_text(code, encoding="utf-8")
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/frameworks")])}
    env["D2LHYBRID_MOST_SECONDS"] = "0.05"  # nobody looks at the figures
    # Frameworks warn of themselves.
    return python("-W", "ignore", "reader.py", cwd=folder, **env).stdout


def test_the_table_has_the_columns_that_readme_shows(printed, request):
    # README's table is one of several processes; its last line of heads says so of one.
    (shown,) = [masked(heads).split(" | ") for heads in HEADS]
    shown = [re.sub("^#% interval in # processes$", "in this process", head) for head in shown]
    heads, labels = table_in(masked(printed))  # of few rounds, the interval is one of 99%
    common = [head for head in dict.fromkeys(heads) if head in shown]
    assert common == [head for head in shown if head in common]
    if "torch" in request.node.callspec.id:  # README's table is PyTorch's
        # Nothing pays off if no verdict is known, as on a busy machine.
        assert {*shown} - {*common} <= {"pays after"}
    assert labels[0] == "eager"
    assert len(labels) > 1


def test_what_readme_shows_below_a_block_is_printed(printed):
    assert len(SHOWN) == 1
    for text in SHOWN:
        assert masked(text) in masked(printed)


def test_the_examples_are_found():
    assert len(BLOCKS) == 3
    assert len(IN_PROSE) >= 5


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.name)
def test_translations_show_the_same_code(path):
    """Except for comments and blanks, and with fewer blocks."""

    def code(blocks):
        return [re.sub(r" *#.*", "", block) for block in blocks]

    text = path.read_text(encoding="utf-8")
    translated = code(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    assert translated
    assert not [block for block in translated if block not in code(BLOCKS)]
    language = path.suffixes[0].removeprefix(".")
    assert f'`from d2lhybrid.teaching import set_language; set_language("{language}")`' in text
