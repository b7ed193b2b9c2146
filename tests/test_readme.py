"""README's examples run as they stand: for each framework, in a process of its own."""

import os
import re

import pytest
from processes import ROOT, python

from d2lhybrid import frameworks

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
# What stands in the prose and can be evaluated behind the blocks.
IN_PROSE = re.findall(r"`((?:comparison\.|variants\(|training\(|explain\()[^`]+)`", README)

# What the reader has in the notebook before: a network, its input, and that input in NumPy.
BEFORE = """
from d2lhybrid.frameworks import get
from models import {name}_model
net, x = {name}_model()
x_numpy = get("{name}").tensors.to_raw(x).array
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


def variants_of(text):
    """The names in the first column of the first table."""
    table = re.search(r"^variant .*\n((?:.+\n)+)", text, re.MULTILINE)
    return [re.split(" {2,}", row)[0].removesuffix(" ★") for row in table[1].splitlines()]


def allowed(example):
    """An example as a statement: a claim about this small network may be contradicted."""
    return re.sub(
        r"^comparison\.claim.*",
        r"try:\n    \g<0>\nexcept d2lhybrid.errors.ClaimError:\n    pass",
        example.replace("\n", " "),
    )


@pytest.mark.parametrize("framework", frameworks.known(), ids=lambda one: one.name)
def test_the_examples_run(framework, tmp_path):
    assert len(BLOCKS) == 3
    blocks = "\n".join(BLOCKS)
    if not any(one.native for one in framework.formats.values()):
        blocks = re.sub(r"^run_native\(.*", "", blocks, flags=re.MULTILINE)
    prose = [BEFORE_PROSE, *map(allowed, IN_PROSE)] if framework.name == "torch" else []
    code = "\n".join([BEFORE.format(name=framework.name), blocks, *prose])
    (tmp_path / "reader.py").write_text(code, encoding="utf-8")
    env = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/frameworks")])}
    env["D2LHYBRID_MOST_SECONDS"] = "0.05"  # nobody looks at the figures
    # Frameworks warn of themselves.
    printed = python("-W", "ignore", "reader.py", cwd=tmp_path, **env).stdout
    assert re.search(r"^Without hybridization: \d+\.\d{4} sec$", printed, re.MULTILINE)
    assert variants_of(printed)[0] == "eager"
    assert len(variants_of(printed)) > 1
    assert len(IN_PROSE) >= 5
