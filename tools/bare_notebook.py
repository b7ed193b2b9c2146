"""Try a notebook on a machine that has PyTorch and nothing of ours: ``make test-bare``.

It is what Colab is: an environment with PyTorch and a kernel, and a notebook without the rest of
its repository. Its first cell has to install what is missing, d2lhybrid from the last commit, and
all others have to run.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory

from nbclient import NotebookClient

from book.assemble import assemble
from book.files import CHAPTERS, Key
from book.parse import load
from book.translate import identity
from tools.setup_env import ROOT, environment

BARE = ROOT / "build" / "bare"
CELL_SECONDS = 600


def bare_environment() -> str:
    """Make the environment anew; its Python."""
    shutil.rmtree(BARE, ignore_errors=True)
    pins = (ROOT / "requirements/lock.txt").read_text(encoding="utf-8")
    python = environment(BARE, [*re.findall(r"^torch==\S+", pins, re.MULTILINE), "ipykernel"])
    kernel = ("ipykernel", "install", "--prefix", str(BARE), "--name", "bare")
    subprocess.run([python, "-m", *kernel], check=True, stdout=subprocess.DEVNULL)
    return python


def has_package(python: str) -> bool:
    """Does this Python have d2lhybrid?"""
    code = "from importlib.util import find_spec; print(find_spec('d2lhybrid') is not None)"
    return subprocess.check_output([python, "-c", code], cwd=BARE, text=True) == "True\n"


def run(chapter: str) -> str:
    """Run a notebook alone in a folder with the bare Python; what its first cell printed.

    Raises CellExecutionError where a cell fails.
    """
    url = ROOT.as_uri().replace("///", "//localhost/")  # some releases of pip want a host
    made = assemble(load(ROOT / CHAPTERS), "en", "pytorch", identity, url=url)
    notebook = made[Key("en", "pytorch", chapter)]
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(
            notebook, kernel_name="bare", timeout=CELL_SECONDS, resources=where
        ).execute()
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    return "".join(output.get("text", "") for output in first.outputs)


def main() -> None:
    """Make the environment and run the notebook; say what its first cell installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapter", default="hybridize")
    options = parser.parse_args()
    # PYTHONPATH could name the checkout, and other Jupyters have kernels of this name.
    os.environ.update(PYTHONPATH="", JUPYTER_PATH=str(BARE / "share/jupyter"))
    python = bare_environment()
    if has_package(python):
        sys.exit("Expected an environment with PyTorch alone. It has d2lhybrid, too.")
    said = run(options.chapter)
    if not has_package(python):
        sys.exit("Expected the first cell to install d2lhybrid. All others ran without it.")
    print("".join(re.findall(r"^Successfully installed .*\n", said, re.MULTILINE)), end="")
    print(f"{options.chapter}: the first cell installed what was missing, and all others ran.")


if __name__ == "__main__":
    main()
