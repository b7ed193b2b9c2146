"""Which APIs that the chapters use are on their way out? A part of `make audit`.

Runs notebooks with the Python that runs this file, each with tools/warning_recorder.py in its
kernel, and prints what was recorded as JSON.
"""

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

TOOLS = Path(__file__).resolve().parent
SECONDS = 600
RECORD = """\
import sys
sys.path.append({tools!r})
import warning_recorder
warning_recorder.start({path!r}, get_ipython())
"""


@dataclass(frozen=True)
class Announcement:
    """An API whose end, or change, is announced: by which function, how, in which words."""

    api: str
    kind: str
    text: str


def record(notebook: Path) -> list[dict[str, str | int]]:
    """Run a notebook to its end, whatever fails in it, and return what was recorded, in order.

    Each entry has the number of the cell, as JupyterLab shows it, the place in this project that
    led to the call, and the parts of an Announcement.
    """
    node = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "recorded.jsonl")
        path.touch()
        source = RECORD.format(tools=str(TOOLS), path=str(path))
        node.cells.insert(0, nbformat.v4.new_code_cell(source))
        # Without folders to look in, the only kernel there is belongs to this very interpreter.
        kernels = KernelSpecManager(kernel_dirs=[])
        NotebookClient(
            node,
            km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels),
            timeout=SECONDS,
            allow_errors=True,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(notebook.parent)}},
        ).execute(cleanup_kc=True)
        if node.cells[0].outputs:
            raise RuntimeError(f"The recorder did not start: {node.cells[0].outputs}")
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def grouped(
    runs: Iterable[tuple[str, str, list[dict[str, str | int]]]],
) -> dict[Announcement, dict[str, dict[str, set[int]]]]:
    """What was announced, then in which notebook, then in which versions and cells.

    Takes the name of the versions, that of the notebook, and what was recorded there. What came
    from a library by itself, with nothing of this project on the stack, is left out.
    """
    found: dict[Announcement, dict[str, dict[str, set[int]]]] = {}
    for versions, notebook, entries in runs:
        for entry in entries:
            if not entry["where"]:
                continue
            text = " ".join(str(entry["text"]).split())
            key = Announcement(str(entry["api"]), str(entry["kind"]), text)
            where = "" if entry["where"] == "cell" else f" through {entry['where']}"
            cells = found.setdefault(key, {}).setdefault(notebook + where, {})
            cells.setdefault(versions, set()).add(int(entry["cell"]))
    return found


def main() -> None:
    """Print what the notebooks named on the command line record, by their paths."""
    print(json.dumps({path: record(Path(path)) for path in sys.argv[1:]}))


if __name__ == "__main__":
    main()
