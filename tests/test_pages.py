"""The programs of README and of the documents run as they stand, and print what these show.

Each runs in a fork of a process that has imported its framework; what stands there as commands, a
shell runs. `python benchmarks/why.py --page` writes the tables of docs/why.md, and
`python tools/page_comparisons.py` what of the comparisons of all pages no clock decides.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from forks import parents
from page_comparisons import FILE, SECONDS, blocks, comparisons, sections
from processes import ROOT

from book.comparisons import likeness
from d2lhybrid import backends

README, API, WHY = (
    (ROOT / page).read_text(encoding="utf-8")
    for page in ("README.md", "docs/api.md", "docs/why.md")
)
ENVIRONMENT = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests/backends")]),
    "PYTHONIOENCODING": "utf-8",
    "PYTHONWARNINGS": "ignore",  # frameworks warn of themselves
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    "D2LHYBRID_MOST_SECONDS": SECONDS,
    "TF_CPP_MIN_LOG_LEVEL": "3",
}

# What a comparison in a framework imports, and what Inductor does before its first program.
IMPORTS = {
    "torch": """
import onnxscript.function_libs.torch_lib.ops, torch._inductor.compile_fx
from torch._inductor import codecache, cpu_vec_isa
codecache.torch_key(), cpu_vec_isa.valid_vec_isa_list()
""",
    "tensorflow": "import keras, tensorflow",
    "jax": "import flax.nnx, jax, optax",
    "mxnet": "import d2lhybrid; d2lhybrid.import_mxnet()",
}
# A comparison that is printed shows its JSON, too.
JSON_TOO = "from tools.page_comparisons import print_json_too\nprint_json_too()"
IMPORTS = {name: f"{lines}\nfrom d2lhybrid import *\n{JSON_TOO}" for name, lines in IMPORTS.items()}

RECIPES = sections("docs/cookbook.md") | sections("docs/worth-it.md")
QUESTIONS = sections("docs/why.md")
COMMANDS = {title: recipe for title, recipe in RECIPES.items() if blocks(recipe, "bash")}
PROGRAMS = {title: recipe for title, recipe in RECIPES.items() if title not in COMMANDS}
FIRST, COUNTING = blocks(README, "python")
BLOCKS = [FIRST, *blocks(API, "python")]
# What of their comparisons no clock decides, as it was when the pages were written.
COMPARED = {
    title: found
    for page in json.loads(FILE.read_text(encoding="utf-8")).values()
    for title, found in page.items()
}
# The heads of the table that `print(comparison)` prints.
HEADS = re.findall(r"^\| (variant .*) \|$", README, re.MULTILINE)
# What stands in the prose and can be evaluated behind the blocks.
VERBS = r"variants\(|training\(|explain\(|compare\((?:call|variants)\("
IN_PROSE = re.findall(rf"`((?:comparison\.|{VERBS})[^`]+)`", API)

# What the reader has in the notebook before: a network, its input, and that input in NumPy.
BEFORE = """
from d2lhybrid.backends.outputs import to_host
from models import {name}_model
net, x = {name}_model()
x_numpy = to_host(x).array
"""
# What the examples in the prose speak of beside these; their names are PyTorch's.
BEFORE_PROSE = """
import d2lhybrid
import torch
from d2lhybrid import call, compare, explain, training, variants
class Masked(torch.nn.Module):
    def forward(self, ids, attention_mask):
        return ids * attention_mask
bert, ids, mask = Masked().eval(), torch.ones(1, 3), torch.ones(1, 3)
loss, batch = torch.nn.MSELoss(), (x, torch.ones(1, 2))
optimizer = torch.optim.SGD(net.requires_grad_().parameters())
f = g = lambda x: net(x)
"""


def masked(text):
    """A text without its figures, which are others in each run."""
    return re.sub(r"\d[\d.,]*", "#", text)


def table_in(printed):
    """The first comparison or sweep that is printed: its heads, and the labels of its rows."""
    table = re.search(r"^((?:variant|work|batch) .*)\n((?:.+\n)+)", printed, re.MULTILINE)
    heads, rows = table.groups() if table else ("", "")
    labels = [re.split(" {2,}", row)[0].removesuffix(" ★") for row in rows.splitlines()]
    return re.split(" {2,}", heads.strip()), labels


def require_shown(recipe, printed):
    """Fail unless what a recipe shows is printed; a line that is only "…" leaves some out."""
    (shown,) = blocks(recipe, "text")
    # The columns depend on the clock and the verdicts, more rows on what is installed.
    labels = [
        label
        for label in table_in(shown)[1]
        if label != "…" and not label.endswith("(another runtime)")
    ]
    assert labels == [label for label in table_in(printed)[1] if label in labels]
    if not labels:
        lines = [line.removesuffix("…") for line in shown.splitlines()]
        assert [line for line in lines if masked(line) not in masked(printed)] == []


def require_compared(title, printed):
    """Fail unless a program's comparisons are those that are committed; a GPU has other rows."""
    if shutil.which("nvidia-smi"):
        return
    differences = likeness(COMPARED[title], comparisons(printed)).differences
    assert not differences, "\n".join(map(str, differences))


def allowed(example):
    """An example as a statement: a claim about this small network may be contradicted."""
    return re.sub(
        r"^comparison\.claim.*",
        r"try:\n    \g<0>\nexcept d2lhybrid.errors.ClaimError:\n    pass",
        example.replace("\n", " "),
    )


def of_frameworks(programs):
    """Parameters: the framework that a program imports first, and the title above it."""
    first = re.compile(r"^(?:import|from) (torch|keras|tensorflow|jax)\b", re.MULTILINE)
    names = {title: first.search(text)[1] for title, text in programs.items()}
    return [
        pytest.param(name.replace("keras", "tensorflow"), title, id=title)
        for title, name in names.items()
    ]


@pytest.fixture(scope="module")
def parent():
    """A process that has imported a framework, by the framework's name."""
    if not hasattr(os, "fork"):
        pytest.skip("needs os.fork")
    with parents(IMPORTS, **ENVIRONMENT) as parent:
        yield parent


def test_the_programs_are_found():
    assert len(RECIPES) == 11  # ten, and the question whether it is worth it
    assert len(COMMANDS) == 3
    assert len(QUESTIONS) == 10
    assert len(BLOCKS) == 3
    assert len(IN_PROSE) >= 5
    assert COMPARED.keys() == PROGRAMS.keys() | QUESTIONS.keys()


@pytest.mark.parametrize(("framework", "title"), of_frameworks(PROGRAMS))
def test_a_recipe_prints_what_it_shows(framework, title, parent, tmp_path):
    (program,) = blocks(PROGRAMS[title], "python")
    printed = parent(framework).printed(tmp_path / "recipe.py", program)
    require_shown(PROGRAMS[title], printed)
    require_compared(title, printed)


@pytest.mark.parametrize("title", COMMANDS)
def test_the_commands_of_a_recipe_print_what_it_shows(title, tmp_path):
    (program,), (commands,) = (blocks(COMMANDS[title], kind) for kind in ("python", "bash"))
    name = re.search(r"\w+\.py", commands)[0]
    (tmp_path / name).write_text(program, encoding="utf-8")
    done = subprocess.run(
        ["bash", "-e", "-c", commands.replace("pip install", "true")],
        cwd=tmp_path, env={**os.environ, **ENVIRONMENT},
        check=True, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    require_shown(COMMANDS[title], done.stdout)


@pytest.mark.parametrize(("framework", "title"), of_frameworks(QUESTIONS))
def test_a_question_prints_the_table_below_it(framework, title, parent, tmp_path):
    (program,), (shown,) = (blocks(QUESTIONS[title], kind) for kind in ("python", "text"))
    printed = parent(framework).printed(tmp_path / "question.py", program)
    assert table_in(printed)[1] == table_in(shown)[1] != []
    require_compared(title, printed)


def test_the_first_lines_about_why_run(parent, tmp_path):
    names = "from d2lhybrid import compare, variants\n"
    program = names + BEFORE.format(name="torch") + blocks(WHY, "python")[0]
    assert parent("torch").printed(tmp_path / "question.py", program)


@pytest.fixture(scope="module", params=backends.known(), ids=lambda framework: framework.name)
def printed(request, parent, tmp_path_factory):
    """What the examples of README and docs/api.md print, run by a process with one framework."""
    framework, programs = request.param, "\n".join(BLOCKS)
    if not any(saved.native for saved in framework.formats.values()):
        programs = re.sub(r"^run_native\(.*", "", programs, flags=re.MULTILINE)
    prose = [BEFORE_PROSE, *map(allowed, IN_PROSE)] if framework.name == "torch" else []
    code = "\n".join([BEFORE.format(name=framework.name), programs, *prose])
    return parent(framework.name).printed(tmp_path_factory.mktemp("reader") / "reader.py", code)


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


def test_what_the_page_shows_below_a_block_is_printed(printed):
    (shown,) = blocks(API, "text")
    assert masked(shown) in masked(printed)


def test_the_counter_is_wrong_as_readme_shows(parent, tmp_path):
    (shown,) = blocks(README, "text")
    assert parent("torch").printed(tmp_path / "reader.py", COUNTING).endswith(shown)
