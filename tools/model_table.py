"""Take real models through every function of the package and write docs/models.md.

``make models`` runs this file; ONLY="BERT resnet" chooses models by a part of their names, and then
the tables are printed, not written. Each model has a process of its own with a time limit, so that
one that crashes or hangs is a row. Where something else than "works" or a refusal came, it fails.

Times need the machine for themselves: real models are compared one after another, and what else is
asked of them follows, two models at a time. With ``--speed`` they are only compared, and the page's
last two columns are written anew.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from d2lhybrid.measuring.provenance import environment

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ROOT / "build/models"
PAGE, MADE = ROOT / "docs/models.md", "\n<!-- what follows is made -->\n"
FUNCTIONS = ("compare", "explain", "save", "load", "verify", "run_native")
SHOWN = {"works": "works", "refused": "refused", "not saved": "–"}
LONGEST = 240  # characters of a footnote
SPEED = ("fastest compiled way", "times as fast as eager")  # the last two columns
MEASURED = "Compared on "  # begins the line that says when
# The wheel of torchvision is made for PyTorch with CUDA: its operators do not load beside the build
# for the CPU, and importing it asks for two of them. No model here uses them.
STAND_IN = """
if not _has_ops():
    import torch

    for name in ("nms", "qnms"):
        arguments = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        torch.library.define(f"torchvision::{name}", arguments)
"""

Found = dict[str, dict[str, Any]]  # by function
Model = tuple[str, str]  # its library and its name


def main() -> None:
    """Run those that are chosen; write the page if these are all, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if none")
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model")
    parser.add_argument("--speed", action="store_true", help="only compare; keep the rest as it is")
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
    real = [one for one in chosen if not one[0].startswith("structures")]
    compared = {one: examine(one, options.limit, ("compare",)) for one in real}
    if options.speed:
        found, text = compared, PAGE.read_text(encoding="utf-8")
    else:
        with ThreadPoolExecutor(2) as pool:
            rows = pool.map(lambda one: examine(one, options.limit, left(one, compared)), chosen)
            found = {
                one: compared.get(one, {}) | row for one, row in zip(chosen, rows, strict=True)
            }
        written = PAGE.read_text(encoding="utf-8").partition(MADE)[0]
        text = f"{written}{MADE}\n{page(found, told('-m', 'pip', 'freeze'))}"
    text = with_speed(text, compared)
    if chosen == every:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(any(one["outcome"] not in SHOWN for row in found.values() for one in row.values()))


def left(model: Model, compared: Mapping[Model, Found]) -> tuple[str, ...]:
    """The functions that this model has not gone through yet."""
    return tuple(name for name in FUNCTIONS if name not in compared.get(model, {}))


def told(*arguments: str) -> str:
    """What Python prints with these arguments."""
    return subprocess.check_output([sys.executable, *arguments], cwd=ROOT, text=True)


def examine(model: Model, limit: float, functions: Sequence[str] = FUNCTIONS) -> Found:
    """What came of each function for one model, in a process of its own that may end early."""
    with TemporaryDirectory() as folder, Path(folder, "said").open("w+", errors="replace") as said:
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "tests/models/zoo.py", *model, folder, *functions],
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
    result = {function: found.get(function, missing) for function in functions}
    print(*model, *(f"{f} {one['outcome']}" for f, one in result.items()), flush=True)
    return result


def page(found: Mapping[Model, Found], installed: str) -> str:
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
        lines += ["|---" * (1 + len(FUNCTIONS)) + "|"]
        for (of, name), row in found.items():
            if of == library:
                cells = [cell(row[function], notes) for function in FUNCTIONS]
                lines.append(f"| {' | '.join([name, *cells])} |")
    footnotes = [f"[^{number}]: {note}" for number, note in enumerate(notes, 1)]
    return "\n".join([*lines, "", *footnotes]).rstrip() + "\n"


def with_speed(text: str, compared: Mapping[Model, Found]) -> str:
    """The page with two more columns for each library that was compared, and where that was."""
    env, lines, library = environment(), [], ""
    where = f"{MEASURED}{env.date[:10]}: {env.cpu}, {env.cores} cores."
    for line in text.split("\n"):
        if line.startswith("## "):
            library = line.removeprefix("## ").lower()
        measured = {name: row["compare"] for (of, name), row in compared.items() if of == library}
        if line.startswith("|") and measured:
            name, *others = [cell.strip() for cell in line.strip("|").split("|")]
            cells = [name, *others[: len(FUNCTIONS)], *gain(name, measured)]
            line = f"| {' | '.join(cells)} |"
        if not line.startswith(MEASURED):
            lines.append(line)
        if re.match(r"\d{4}-\d\d-\d\d · Python", line):
            lines.append(where)
    return "\n".join(lines)


def gain(name: str, measured: Mapping[str, dict[str, Any]]) -> Sequence[str]:
    """The two cells of a model's row, of the heading, or of the line below it."""
    if name == "model":
        return SPEED
    if name == "---":
        return ("---", "---")
    found = measured.get(name, {})
    if not found.get("way"):
        return ("–", "–")
    return (f"`{found['way']}`", f"{found['ratio']:.3g} ({found['verdict']})")


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
