"""Try a notebook on a machine that has PyTorch and nothing of ours: ``make test-bare``.

It is what Colab is: an environment with PyTorch and a kernel, and a notebook without the rest of
its repository. Its first cell has to install what is missing, and all others have to run. PyTorch
is a link to the one of the Python that runs this, so no gigabytes are downloaded; the rest comes
from the package index, and d2lhybrid from the last commit.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory

from book.assemble import assemble
from book.files import CHAPTERS, Key
from book.frameworks import FRAMEWORKS
from book.parse import load
from book.translate import identity

ROOT = Path(__file__).resolve().parent.parent
BARE = ROOT / "build" / "bare"
KERNELS = BARE / "share" / "jupyter" / "kernels"
PYTORCH = "pytorch"
CELL_SECONDS = 600
# Without PYTHONPATH, which could put the checkout in the place of what was installed.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def with_requirements(name: str, known: dict[str, Distribution]) -> dict[str, Distribution]:
    """The installed package of a name and all that it requires, by their names."""
    if name in known:
        return known
    try:
        known[name] = distribution(name)
    except PackageNotFoundError:  # of an extra, or of another system
        return known
    for requirement in known[name].requires or ():
        if "extra ==" not in requirement:
            with_requirements(re.split(r"[^\w.-]", requirement)[0].lower(), known)
    return known


def parts(package: Distribution) -> Iterator[Path]:
    """The files and folders of a package that lie in site-packages themselves."""
    top = {path.parts[0] for path in package.files or () if path.parts[0] != ".."}
    yield from (Path(str(package.locate_file(name))) for name in top - {"__pycache__"})


def bare_environment() -> Path:
    """Make the environment anew; its Python."""
    shutil.rmtree(BARE, ignore_errors=True)
    venv.create(BARE, with_pip=True)
    python = BARE / "bin" / "python"
    for command in (
        ("pip", "install", "--quiet", "--disable-pip-version-check", "ipykernel"),
        ("ipykernel", "install", "--prefix", str(BARE), "--name", "bare"),
    ):
        subprocess.run(
            [python, "-m", *command], env=_ENVIRONMENT, check=True, stdout=subprocess.DEVNULL
        )
    (packages,) = BARE.glob("lib/python*/site-packages")
    for package in with_requirements("torch", {}).values():
        for part in parts(package):
            if not (packages / part.name).exists():
                (packages / part.name).symlink_to(part)
    return python


def missing(python: Path) -> set[str]:
    """Which of the collection's packages this Python cannot import."""
    modules = ["d2lhybrid", *(framework.module for framework in FRAMEWORKS.values())]
    code = (
        "from importlib.util import find_spec\n"
        f"print(*(name for name in {modules} if not find_spec(name)))"
    )
    done = subprocess.run(
        [python, "-c", code], cwd=BARE, check=True, env=_ENVIRONMENT, capture_output=True, text=True
    )
    return set(done.stdout.split())


def run(chapter: str, folder: Path) -> str:
    """Run a notebook alone in a folder with the bare Python; what its first cell printed.

    Raises CellExecutionError where a cell fails.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    url = ROOT.as_uri().replace("///", "//localhost/")  # some releases of pip want a host
    made = assemble(load(ROOT / CHAPTERS), "en", PYTORCH, identity, url=url)
    notebook = made[Key("en", PYTORCH, chapter)]
    kernels = KernelSpecManager(kernel_dirs=[str(KERNELS)])
    manager = AsyncKernelManager(kernel_name="bare", kernel_spec_manager=kernels)
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, km=manager, timeout=CELL_SECONDS, resources=where).execute(
        env=_ENVIRONMENT
    )
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    return "".join(output.get("text", "") for output in first.outputs)


def main() -> None:
    """Make the environment and run the notebook; say what its first cell installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chapter", default="hybridize")
    options = parser.parse_args()
    python = bare_environment()
    others = {one.module for one in FRAMEWORKS.values()} - {"torch"}
    if (before := missing(python)) != others | {"d2lhybrid"}:
        sys.exit(f"Expected an environment with PyTorch alone. Missing there: {sorted(before)}.")
    with TemporaryDirectory() as folder:
        said = run(options.chapter, Path(folder))
    if (after := missing(python)) != others:
        sys.exit(f"Expected only the other frameworks to be missing. Missing: {sorted(after)}.")
    print("".join(re.findall(r"^Successfully installed .*\n", said, re.MULTILINE)), end="")
    print(f"{options.chapter}: the first cell installed what was missing, and all others ran.")


if __name__ == "__main__":
    main()
