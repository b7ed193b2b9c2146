"""A framework that must have a GPU fails tests and notebooks where it has none."""

import asyncio
import re

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from processes import ROOT, python

from book.__main__ import main
from book.errors import BookError, ExecutionError
from book.execute import run_cells
from book.frameworks import FRAMEWORKS
from book.gpu import REQUIRE, require

# A test that passes anywhere, and the one that needs a GPU.
PLAIN = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_i18n.py")
ON_A_GPU = (*PLAIN[:-1], "tests/frameworks/test_tensors.py", "-k", "on_a_gpu")


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv(REQUIRE, raising=False)  # which the job on a GPU sets


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_framework_says_what_was_asked_what_it_sees_and_what_to_do(name, monkeypatch):
    monkeypatch.setenv(REQUIRE, f" {name},")
    with pytest.raises(BookError) as caught:
        require()
    (said,) = str(caught.value).splitlines()
    assert f"Expected {FRAMEWORKS[name].name} to compute on a GPU, because {REQUIRE} names" in said
    assert re.search("It (sees .*cpu|does not work)", said, re.IGNORECASE)
    assert "nvidia-smi" in said
    assert f"doctor {FRAMEWORKS[name].module}`" in said


def test_no_test_runs_and_no_notebook_where_a_gpu_is_missing(monkeypatch, capsys):
    done = python(*PLAIN, status=pytest.ExitCode.USAGE_ERROR, **{REQUIRE: "mxnet"})
    assert "Expected MXNet to compute on a GPU" in done.stderr
    assert "passed" not in done.stdout
    command = ("tools/run_notebooks.py", "en/mxnet/limits", "--jobs", "1")
    done = python(*command, status=pytest.ExitCode.USAGE_ERROR, **{REQUIRE: "mxnet"})
    assert "Expected MXNet to compute on a GPU" in done.stderr
    monkeypatch.setenv(REQUIRE, "mxnet")
    arguments = "build --execute --all --language en --framework mxnet --chapter limits"
    assert main([*arguments.split(), "--output", str(ROOT / "build/nowhere")]) == 1
    assert "Expected MXNet to compute on a GPU" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["torch", "gpu", "pytorch jax"])
def test_a_name_that_is_none_is_an_error(name, monkeypatch):
    monkeypatch.setenv(REQUIRE, f"jax,{name}")
    with pytest.raises(BookError, match=rf"{REQUIRE}=pytorch,.* Received: '{name}'"):
        require()
    done = python(*PLAIN, status=pytest.ExitCode.USAGE_ERROR)
    assert f"Received: {name!r}" in done.stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise ImportError('libcudart.so.13: cannot open')", "status 1: ImportError: libcudart"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "status -11: it said nothing"),
    ],
)
def test_a_framework_that_breaks_has_no_gpu(body, said, tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text(body)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    monkeypatch.setenv(REQUIRE, "pytorch")
    with pytest.raises(BookError, match=said):
        require()


def test_a_gpu_that_computes_is_enough_and_one_that_computes_wrongly_is_not(
    gpu_for_torch, monkeypatch
):
    monkeypatch.setenv(REQUIRE, "pytorch")
    for name, value in gpu_for_torch(8.0).items():
        monkeypatch.setenv(name, value)
    require()
    gpu_for_torch(7.0)
    with pytest.raises(BookError, match="came out wrong on cuda:0"):
        require()


def test_a_test_for_a_gpu_is_skipped_and_where_there_must_be_one_it_fails(tmp_path):
    done = python(*ON_A_GPU, "-rs", **{REQUIRE: ""})
    assert "needs a GPU; pytorch sees cpu" in done.stdout
    # As where another process sees a GPU, and this one no longer does.
    (tmp_path / "passed.py").write_text("import book.gpu\nbook.gpu.require = lambda: None\n")
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}", REQUIRE: "pytorch"}
    done = python(*ON_A_GPU, "-p", "passed", status=pytest.ExitCode.TESTS_FAILED, **env)
    assert "needs a GPU; pytorch sees cpu" in done.stdout


def test_an_executed_cell_that_was_left_out_fails(tmp_path, monkeypatch):
    metadata = {"d2lhybrid": {"framework": "pytorch"}}
    # PyTorch warns of a GPU that it can no longer use, on standard error.
    source = 'import sys\nprint("a warning", file=sys.stderr)\nprint("Left out: no GPU.")'
    cell = new_code_cell(source, metadata={"tags": ["gpu"]})
    notebook = new_notebook(cells=[cell], metadata=metadata)
    asyncio.run(run_cells(notebook, tmp_path / "a.ipynb"))
    monkeypatch.setenv(REQUIRE, "pytorch")
    with pytest.raises(ExecutionError, match="Expected this cell to use a GPU"):
        asyncio.run(run_cells(notebook, tmp_path / "a.ipynb"))
