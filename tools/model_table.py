"""Take real models through every function of the package and write docs/models.md.

``make models`` runs this file; ONLY="BERT resnet" chooses models by a part of their names, and then
the tables are printed, not written. Each model has a process of its own with a time limit, so that
one that crashes or hangs is a row. Where something else than "works" or a refusal came, it fails.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / "build/models"
PAGE, MADE = ROOT / "docs/models.md", "\n<!-- what follows is made -->\n"
FUNCTIONS = ("compare", "explain", "save", "load", "verify", "run_native")
SHOWN = {"works": "works", "refused": "refused", "not saved": "–"}
LONGEST = 240  # characters of a footnote
# The wheel of torchvision is made for PyTorch with CUDA: its operators do not load beside the build
# for the CPU, and importing it asks for two of them. No model here uses them.
STAND_IN = """
if not _has_ops():
    import torch

    for name in ("nms", "qnms"):
        arguments = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{name}", arguments)
"""

Found = dict[str, dict[str, str]]  # by function


def main() -> None:
    """Run those that are chosen; write the page if these are all, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if none")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model")
    options = parser.parse_args()
    if not LIBRARIES.exists():
        pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", str(LIBRARIES)]
        told(*pip, "--requirement", "requirements/models.txt")
        with (LIBRARIES / "torchvision/extension.py").open("a") as file:
            file.write(STAND_IN)
    path = os.pathsep.join([str(ROOT), str(LIBRARIES), os.environ.get("PYTHONPATH", "")])
    os.environ |= {"PYTHONPATH": path, "D2LHYBRID_LANGUAGE": "en"}
    os.environ |= {"HF_HUB_OFFLINE": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    listed = json.loads(told("tests/models/zoo.py").splitlines()[-1])
    every = [(library, name) for library, name in listed]
    chosen = [one for one in every if any(part in one[1] for part in options.only or [""])]
    with ThreadPoolExecutor(2) as pool:
        rows = pool.map(lambda one: examine(one[0], one[1], options.limit), chosen)
        found = dict(zip(chosen, rows, strict=True))
    text = page(found, told("-m", "pip", "freeze"))
    if chosen == every:
        written = PAGE.read_text(encoding="utf-8").partition(MADE)[0]
        PAGE.write_text(f"{written}{MADE}\n{text}", encoding="utf-8")
    print(text)
    sys.exit(any(one["outcome"] not in SHOWN for row in found.values() for one in row.values()))


def told(*arguments: str) -> str:
    """What Python prints with these arguments."""
    return subprocess.check_output([sys.executable, *arguments], cwd=ROOT, text=True)


def examine(library: str, name: str, limit: float) -> Found:
    """What came of each function for one model, in a process of its own that may end early."""
    with TemporaryDirectory() as folder, Path(folder, "said").open("w+", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "tests/models/zoo.py", library, name, folder],
            cwd=ROOT, stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        try:
            ended = f"the process ended with status {process.wait(limit)}"
        except subprocess.TimeoutExpired:
            ended = f"the process was stopped after {limit:g} seconds"
        with contextlib.suppress(ProcessLookupError):  # compilers that it started
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        said.seek(0)
        last = " ".join(said.read().strip().splitlines()[-1:])
        lines = Path(folder, "found.jsonl")
        rows = lines.read_text("utf-8").splitlines() if lines.exists() else []
    found: Found = {row["function"]: row for row in map(json.loads, rows)}
    missing = {"outcome": "ended", "said": f"{ended}: {last}"}
    result = {function: found.get(function, missing) for function in FUNCTIONS}
    print(library, name, *(f"{f} {one['outcome']}" for f, one in result.items()), flush=True)
    return result


def page(found: dict[tuple[str, str], Found], installed: str) -> str:
    """The made part of the page: how often each function works, and a table for each library.

    ``installed`` is what ``pip freeze`` says.
    """
    counts = Counter((f, one["outcome"]) for row in found.values() for f, one in row.items())
    said = [
        f"`{function}` works for {counts[function, 'works']}"
        + (f" and refuses {n}" if (n := counts[function, "refused"]) else "")
        for function in FUNCTIONS
    ]
    names = "torch|tensorflow|jax|mxnet|flax|keras|torchvision|timm|transformers"
    named = re.findall(rf"^({names})(?:[-_]cpu)?==(.+)", installed, re.MULTILINE)
    packages = ", ".join(f"{name} {version}" for name, version in named)
    machine = f"{datetime.date.today()} · Python {platform.python_version()}"
    lines = [f"Of {len(found)} models, {'; '.join(said)}.", "", f"{machine} · {packages}"]
    notes: list[str] = []
    for library in dict.fromkeys(library for library, _name in found):
        lines += ["", f"## {library[0].upper()}{library[1:]}", ""]
        lines += [f"| model | {' | '.join(f'`{function}`' for function in FUNCTIONS)} |"]
        lines += ["|---" * (len(FUNCTIONS) + 1) + "|"]
        for (of, name), row in found.items():
            if of == library:
                cells = [cell(row[function], notes) for function in FUNCTIONS]
                lines.append(f"| {' | '.join([name, *cells])} |")
    footnotes = [f"[^{number}]: {note}" for number, note in enumerate(notes, 1)]
    return "\n".join([*lines, "", *footnotes]).rstrip() + "\n"


def cell(found: dict[str, str], notes: list[str]) -> str:
    """What came of a function, with the number of its footnote: the first sentence of it all."""
    shown = SHOWN.get(found["outcome"], f"**{found['outcome']}**")
    line = re.sub(r" at 0x[0-9a-f]+", "", " ".join(found["said"].split()))  # differs in each run
    if not line:
        return shown
    sentence = re.split(r"(?<=\.) (?=[A-Z])", line)[0]
    if len(sentence) > LONGEST:
        sentence = sentence[:LONGEST].rpartition(" ")[0] + " …"
    note = re.sub(r"([|*_<\[\]])", r"\\\1", sentence)
    if note not in notes:
        notes.append(note)
    return f"{shown} [^{notes.index(note) + 1}]"


if __name__ == "__main__":
    main()
