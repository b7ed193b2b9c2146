"""Try a notebook on a machine that has PyTorch and nothing of ours: ``make test-bare``.

It is what Colab is: an environment with PyTorch and a kernel, and a notebook without the rest of
its repository. Its first cell has to install what is missing, d2lhybrid from the last commit, and
all others have to run.
"""

import os
import re
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory

from nbclient import NotebookClient
from setup_env import ROOT, environment

from book.assemble import assemble
from book.files import CHAPTERS, Key
from book.parse import load
from book.translate import identity

BARE = ROOT / "build" / "bare"


def bare_environment() -> None:
    """Make the environment anew, with a kernel."""
    shutil.rmtree(BARE, ignore_errors=True)
    pins = (ROOT / "requirements/lock.txt").read_text(encoding="utf-8")
    python = environment(BARE, [*re.findall(r"^torch==\S+", pins, re.MULTILINE), "ipykernel"])
    kernel = ("ipykernel", "install", "--prefix", str(BARE), "--name", "bare")
    subprocess.run([python, "-m", *kernel], check=True, stdout=subprocess.DEVNULL)


def run() -> str:
    """Run a notebook alone in a folder with the bare Python; what its first cell printed.

    Raises CellExecutionError where a cell fails.
    """
    url = ROOT.as_uri().replace("///", "//localhost/")  # some releases of pip want a host
    made = assemble(load(ROOT / CHAPTERS), "en", "pytorch", identity, url=url)
    notebook = made[Key("en", "pytorch", "hybridize")]
    with TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, kernel_name="bare", timeout=600, resources=where).execute()
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    return "".join(output.get("text", "") for output in first.outputs)


def main() -> None:
    """Make the environment and run the notebook; say what its first cell installed."""
    # PYTHONPATH could name the checkout, and other Jupyters have kernels of this name.
    os.environ.update(PYTHONPATH="", JUPYTER_PATH=str(BARE / "share/jupyter"))
    bare_environment()
    installed = re.findall(r"^Successfully installed .*", run(), re.MULTILINE)
    if "d2lhybrid" not in " ".join(installed):
        sys.exit(f"Expected the first cell to install d2lhybrid. Installed: {installed}.")
    print(*installed, "All other cells ran.", sep="\n")


if __name__ == "__main__":
    main()
