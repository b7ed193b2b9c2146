"""What `make test-notebooks` lets pass and what it stops, tried on spoiled notebooks."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import nbformat
import pytest
import run_notebooks
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook, new_output

from d2lhybrid.experiments.comparison import MIME as COMPARED
from d2lhybrid.experiments.judge import DECIDED, UNDECIDED

ROOT = Path(__file__).resolve().parent.parent.parent
ROWS = [
    {"label": "eager", "role": "baseline", "verdict": "same", "latency": 0.5,
     "facts": {}, "cause": None},
    {"label": "jit", "role": "variant", "verdict": "slower", "latency": 0.7,
     "facts": {"recorded": 25, "steps": 15}, "cause": "graph_break"},
]  # fmt: skip
SUMMARY = {"kind": "comparison", "baseline": "eager", "rows": ROWS, "not_run": []}
CELLS = {
    "number": "print(6 * 7, 0.1653)",
    "count": "print(509, 'calls')",
    "lines": "print('first')\nprint('second')",
    "caught": "try:\n    int('x')\nexcept ValueError as error:\n    print(type(error), error)",
    "raised": "raise KeyError('nothing there')",
    "timing": "from d2lhybrid import Benchmark\nwith Benchmark('Work'):\n    sum(range(9))",
    "address": "print(object())",
    "path": "import tempfile\nprint(tempfile.mkdtemp() + '/run_mlp.c')",
    "package": "print('line 53 of ../../../.venv/lib/python3.11/site-packages/mxnet/layers.py')",
    "value": "6 * 7",
    "array": "print('[0.1653]')",
    "program": "print('14 instructions, and 29 once XLA has optimized it, 4 of them fusions.')",
    "picture": "from IPython.display import publish_display_data\n"
    """svg = '<svg xmlns="http://www.w3.org/2000/svg"><path id="p1" d="M1.5 2"/></svg>'\n"""
    "shown = {'image/svg+xml': svg, 'text/html': f'<div>{svg}</div>', 'text/plain': 'a graph'}\n"
    "publish_display_data(shown)",
    "claim": "from IPython.display import publish_display_data\n"
    f"publish_display_data({{'text/plain': 'too busy to tell', {UNDECIDED!r}: {{}}}})\nprint(1)",
    "compared": "from IPython.display import publish_display_data\n"
    f"publish_display_data({{'text/plain': 'jit takes 0.7 s', {COMPARED!r}: {SUMMARY}}})",
    "decided": "from IPython.display import publish_display_data\n"
    f"print(0)\npublish_display_data({{'text/plain': '✓ it is', {DECIDED!r}: {{}}}})\n"
    "print(1)",
}
# What a claim shows that holds, as a committed notebook has it.
HELD = new_output("display_data", {"text/plain": "✓ it is", DECIDED: {}})
# name of the case: (cell, committed text, what stands there instead, is it rejected?)
CASES = {
    "untouched": ("number", "42", "42", False),
    "rounded_number": ("number", "0.1653\\n", "0.1654\\n", False),
    "wrong_number": ("number", "0.1653\\n", "0.1663\\n", True),
    "wrong_count": ("count", "509", "510", True),
    "missing_print": ("lines", "second\\n", "", True),
    "changed_caught_error": ("caught", "invalid literal", "wrong literal", True),
    "changed_error_type": ("raised", '"ename": "KeyError"', '"ename": "IndexError"', True),
    "wrong_value": ("value", '"42"', '"43"', True),
    "other_timing": ("timing", "Work: 0.0000 sec", "Work: 9.1234 sec", False),
    "timing_of_another_form": ("timing", "0.0000 sec", "0.00001 sec", True),
    "other_address": ("address", "at 0x", "at 0xabc", False),
    "other_folder": ("path", "/tmp", "/private/var/folders/tmp", False),
    "other_file": ("path", "run_mlp.c", "run_cnn.c", True),
    "other_environment": (
        "package",
        "../../../.venv/lib/python3.11",
        "../../../../conda/envs/a/lib/python3.12",
        False,
    ),
    "other_file_of_a_package": ("package", "layers.py", "blocks.py", True),
    "another_processor": ("program", "29 once", "31 once", False),
    "another_record": ("program", "14 instructions", "15 instructions", True),
    "on_a_gpu": ("array", "[0.1653]", "[0.1653] @gpu(0)", False),
    "picture_of_another_processor": ("picture", "M1.5", "M1.5001", False),
    "picture_with_other_ids": ("picture", "p1", "p2", False),
    "moved_picture": ("picture", "M1.5", "M1.6", True),
    "picture_of_something_else": ("picture", "<path", "<g/><path", True),
    "other_words_for_a_picture": ("picture", "a graph", "graphs", True),
    "other_undecided_claim": ("claim", "too busy", "far too busy", False),
    "other_decided_claim": ("decided", "it is", "it was", False),
    "no_decided_claim_yet": ("decided", f"{json.dumps(HELD)}, ", "", False),
    "decided_claim_and_another_print": ("decided", '"text": "1\\n"', '"text": "2\\n"', True),
    "other_times": ("compared", "0.7", "0.6", False),
    "comparison_of_an_earlier_version": ("compared", '"role"', '"what"', False),
    "another_label": ("compared", '"label": "jit"', '"label": "scan"', True),
    "another_role": ("compared", '"variant"', '"reference"', True),
    "another_fact": ("compared", '"steps": 15', '"steps": 14', True),
    "another_cause": ("compared", "graph_break", "recompiled", True),
    "no_comparison": ("compared", COMPARED, "application/other+json", True),
    "other_output": ("claim", UNDECIDED, "application/other+json", True),
}


# The folders of commands, but for those of a driver. With a GPU, comparisons aren't compared.
NO_DRIVER = [folder for folder in os.get_exec_path() if not Path(folder, "nvidia-smi").exists()]
# What is said against comparisons: the row, the field, and both values.
SAID = {
    "another_label": "scan: label: committed scan, received no such row",
    "another_role": "jit: role: committed reference, received variant",
    "another_fact": "jit: steps: committed 14, received 15",
    "another_cause": "jit: cause: committed recompiled, received graph_break",
    "no_comparison": "all: number: committed 0, received 1",
}


def nbval(folder, *more, jobs="1", env=None):
    """Its status and what it said of the notebooks in a folder."""
    command = run_notebooks.command([folder], jobs, "-v", f"--rootdir={folder}", *more)
    env = {**os.environ, "D2LHYBRID_REQUIRE_GPU": "", "PY_COLORS": "0", **(env or {})}
    done = subprocess.run(
        command, cwd=ROOT, env=env,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240,
    )  # fmt: skip
    return done.returncode, done.stdout


def test_it_says_how_many_claims_were_decided(tmp_path):
    shown = [*[DECIDED] * 2, UNDECIDED]
    sources = [
        f"from IPython.display import publish_display_data\n"
        f"publish_display_data({{'text/plain': 'a claim', {kind!r}: {{}}}})"
        for kind in shown
    ]
    cells = [new_code_cell(source, execution_count=1) for source in sources]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    status, said = nbval(tmp_path)
    assert status == 0, said
    assert "decided 2 of 3 claims" in said.splitlines()


def test_it_says_how_much_was_compared(tmp_path):
    source = (
        "from IPython.display import publish_display_data\n"
        f"publish_display_data({{{COMPARED!r}: {SUMMARY}}})"
    )
    committed = json.loads(json.dumps(SUMMARY).replace("role", "what"))
    shown = new_output("display_data", {COMPARED: committed})
    printed = new_output("stream", text="1\n")
    ignored = {"tags": ["nbval-ignore-output"]}
    cells = [
        new_code_cell("print(1)", outputs=[printed], execution_count=1),
        new_code_cell("print(2)", outputs=[printed], execution_count=2, metadata=ignored),
        new_code_cell("kept = 3", execution_count=3),
        new_code_cell(source, outputs=[shown], execution_count=4, metadata=ignored),
    ]
    nbformat.write(new_notebook(cells=cells), tmp_path / "a.ipynb")
    status, said = nbval(tmp_path, env={"PATH": ":".join(NO_DRIVER)})
    assert status == 0, said
    assert "compared the outputs of 2 of 3 cells: 1 as printed, 1 by what their comparisons" in said
    figures = "1 of 1 comparisons, 2 of 2 labels, 0 of 2 roles, 2 of 2 facts, 1 of 1 causes"
    assert f"compared {figures}" in said.splitlines()


def spoiled(cell, case):
    """The cell with other outputs, under the name of the case."""
    name, old, new, _ = CASES[case]
    committed = json.dumps(cell.outputs)
    assert old in committed, f"{old!r} is not in the output of cell {name}: {committed}"
    outputs = json.loads(committed.replace(old, new))
    return nbformat.from_dict({**cell, "id": case, "outputs": outputs})


@pytest.fixture(scope="module")
def failures(tmp_path_factory):
    """What nbval says against each case, each a cell; one run for all of them."""
    folder = tmp_path_factory.mktemp("spoiled")
    good = new_notebook(cells=[new_code_cell(source, id=name) for name, source in CELLS.items()])
    cells = {cell.id: cell for cell in good.cells}
    cells["raised"].metadata["tags"] = ["raises-exception"]
    cells["compared"].metadata["tags"] = ["nbval-ignore-output"]
    NotebookClient(good, timeout=60).execute()
    notebook = new_notebook(cells=[spoiled(cells[CASES[case][0]], case) for case in CASES])
    nbformat.write(notebook, folder / "cases.ipynb")
    hang = new_code_cell("import time; time.sleep(600)")
    nbformat.write(new_notebook(cells=[hang]), folder / "hang.ipynb")
    report = folder / "report.xml"
    options = "--nbval-cell-timeout=5", f"--junitxml={report}"
    _, said = nbval(folder, *options, env={"PATH": ":".join(NO_DRIVER)})
    assert report.exists(), said
    found: dict[str, str] = {}
    for test in ElementTree.parse(report).iter("testcase"):
        number = int(test.get("name", "").removeprefix("Cell "))
        case = "hang" if "hang" in test.get("classname", "") else [*CASES][number]
        problem = test.find("failure")
        found[case] = problem.text or "failed" if problem is not None else ""
    return found


@pytest.mark.parametrize("case", CASES)
def test_only_what_may_vary_may_differ(case, failures):
    assert bool(failures[case]) == CASES[case][3], failures[case]
    assert SAID.get(case, "") in failures[case]
    assert "imeout" in failures["hang"]


def two_cells_for_a_gpu(path):
    """One says that it is left out. The other prints something else than what is committed."""
    left_out = [new_output("stream", text="Left out: no GPU.\n")]
    options = {"metadata": {"tags": ["gpu"]}, "execution_count": 1, "outputs": left_out}
    texts = ('print("Left out: no GPU.")', 'print("Left out: no GPU."[9:])')
    cells = [new_code_cell(text, **options) for text in texts]
    nbformat.write(new_notebook(cells=cells), path)


@pytest.mark.parametrize("gpu", [False, True], ids=["without a GPU", "with a GPU"])
def test_cells_that_need_a_gpu(tmp_path, gpu):
    two_cells_for_a_gpu(tmp_path / "a.ipynb")
    driver = tmp_path / "bin" / "nvidia-smi"
    driver.parent.mkdir()
    if gpu:
        driver.write_text("#!/bin/sh\n")
        driver.chmod(0o755)
    status, said = nbval(tmp_path, env={"PATH": ":".join([str(driver.parent), *NO_DRIVER])})
    assert status == (0 if gpu else 1), said
    assert "cells left out: 1 (no GPU)" in said
    assert ("Cell outputs differ" in said) is not gpu


def test_a_cell_that_needs_vector_instructions_is_skipped_without(tmp_path):
    cell = new_code_cell("1 / 0", metadata={"tags": ["nbval-vectors"]}, execution_count=1)
    nbformat.write(new_notebook(cells=[cell, new_code_cell("2")]), tmp_path / "a.ipynb")
    status, said = nbval(tmp_path, env={"ATEN_CPU_CAPABILITY": "default"})
    assert "1 passed, 1 skipped" in said, said
    assert status == 0


def test_a_cell_left_out_is_a_failure_where_its_framework_must_have_a_gpu(tmp_path, gpu_for_torch):
    (tmp_path / "pytorch").mkdir()
    two_cells_for_a_gpu(tmp_path / "pytorch/a.ipynb")
    env = {**gpu_for_torch(8.0), "D2LHYBRID_REQUIRE_GPU": "pytorch"}
    status, said = nbval(tmp_path, env=env)
    assert status == 1, said
    assert "Expected this cell to use a GPU, because D2LHYBRID_REQUIRE_GPU names pytorch." in said
    assert "1 failed, 1 passed" in said, "the other cell prints what it likes"


def test_translations_share_a_process_and_processes_have_one_thread_each(tmp_path, monkeypatch):
    names = ("OMP_NUM_THREADS", "NPROC", "TF_NUM_INTRAOP_THREADS")
    printed = f"{' '.join(['1'] * len(names))}\n"
    options = {"execution_count": 1, "outputs": [new_output("stream", text=printed)]}
    code = f"import os\nprint(*(os.environ[name] for name in {names}))"
    cell = new_code_cell(code, **options)
    for name in ("en/jax/a", "ja/jax/a", "en/jax/b"):
        (path := tmp_path / f"{name}.ipynb").parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(new_notebook(cells=[cell]), path)
    for name in names:
        monkeypatch.delenv(name, raising=False)
    status, said = nbval(tmp_path, jobs="2")
    assert status == 0, said
    found = re.findall(r"\[(gw\d)\].*PASSED \S*?(\w+/jax/\w)", said)
    process = {name: worker for worker, name in found}
    assert process["en/jax/a"] == process["ja/jax/a"] != process["en/jax/b"]


def test_no_cell_is_skipped_and_few_go_uncompared():
    notebooks = sorted((ROOT / "notebooks").glob("*/*/*.ipynb"))
    cells = [
        cell.metadata.get("tags", [])
        for path in notebooks
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "code"
    ]
    assert not [tags for tags in cells if "nbval-skip" in tags]
    # Counted by notebook, because a share of all cells allows more to chapters with more cells.
    uncompared = [tags for tags in cells if "nbval-ignore-output" in tags]
    assert len(uncompared) <= 8 * len(notebooks)
