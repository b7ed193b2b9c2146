"""Take real models through every function of the package and write docs/models.md.

``make models`` runs this file; ONLY="BERT resnet" chooses models by a part of their names, and then
the table is printed, not written. The libraries of models are installed into ``.venv-models``, on
top of the environment that runs this. Each model has a process of its own with a time limit, so
that one that crashes or hangs is a row. Ends with status 1 where something else than "works" or a
refusal came.
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

from setup_env import ROOT, environment

PAGE = ROOT / "docs/models.md"
FUNCTIONS = ("compare", "explain", "save", "load", "verify", "run_native")
SHOWN = {"works": "works", "refused": "refused", "not saved": "–"}
LONGEST = 240  # characters of a footnote
INTRODUCTION = """\
# Real models

`make models` takes the models below through the package, with random weights, batch size 1 and
small inputs, on a CPU: `compare` with those of the ordinary ways that build quickly, `explain`,
`save` in the framework's default format, `load` in another process, `verify`, and `run_native`,
which for PyTorch runs the model saved as ONNX. It writes this page.
`make models ONLY="BERT resnet18"` runs some and prints the table. `tests/models/zoo.py` says how
each is built; the small ones, one for each structure that models take and return, also run in
`make test`.

"works" means that the outputs were compared with the model's. A footnote behind it is what the
function says besides, such as a way to run the model that cannot be built. "refused" is an error
of ours, whose first sentence is the footnote, and "–" that nothing was saved to go on with.
Anything else is a mistake, and `make models` fails.
"""

Found = dict[str, dict[str, str]]  # by function


def main() -> None:
    """Run those that are chosen; write the page if these are all, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if none")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model")
    options = parser.parse_args()
    pins = ["--no-deps", "--requirement", "requirements/models.txt"]
    python = environment(ROOT / ".venv-models", pins, on_top=True)
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ.update(
        PYTHONPATH=os.pathsep.join(filter(None, paths)),
        D2LHYBRID_LANGUAGE="en",
        HF_HUB_OFFLINE="1",
        TF_CPP_MIN_LOG_LEVEL="3",
    )
    every = [tuple(one) for one in json.loads(told(python, "tests/models/zoo.py").splitlines()[-1])]
    parts = options.only or [""]
    chosen = [one for one in every if any(part in one[1] for part in parts)]
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = pool.map(lambda one: examine(python, *one, limit=options.limit), chosen)
        found = dict(zip(chosen, rows, strict=True))
    text = page(found, told(python, "-m", "pip", "freeze"))
    if chosen == every:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(any(one["outcome"] not in SHOWN for row in found.values() for one in row.values()))


def told(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def examine(python: str, library: str, name: str, limit: float) -> Found:
    """What came of each function for one model, in a process of its own that may end early."""
    with TemporaryDirectory() as folder:
        lines, said = Path(folder, "found.jsonl"), Path(folder, "said.txt")
        command = [python, "-W", "ignore", "tests/models/examine.py", library, name, folder]
        with said.open("w") as file:
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=file, stderr=file, start_new_session=True
            )
            try:
                ended = f"the process ended with status {process.wait(limit)}"
            except subprocess.TimeoutExpired:
                ended = f"the process was stopped after {limit:g} seconds"
            with contextlib.suppress(ProcessLookupError):  # compilers that it started
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        rows = lines.read_text("utf-8").splitlines() if lines.exists() else []
        last = " ".join(said.read_text(errors="replace").strip().splitlines()[-1:])
    found: Found = {row["function"]: row for row in map(json.loads, rows)}
    missing = {"outcome": "ended", "said": f"{ended}: {last}"}
    result = {function: found.get(function, missing) for function in FUNCTIONS}
    print(library, name, *(f"{f} {one['outcome']}" for f, one in result.items()), flush=True)
    return result


def page(found: dict[tuple[str, str], Found], installed: str) -> str:
    """The page: how it is made, how often each function works, and a table for each library.

    ``installed`` is what ``pip freeze`` says.
    """
    notes: list[str] = []
    counts = Counter((f, one["outcome"]) for row in found.values() for f, one in row.items())
    said = [
        f"`{function}` works for {counts[function, 'works']}"
        + (f" and refuses {n}" if (n := counts[function, "refused"]) else "")
        for function in FUNCTIONS
    ]
    named = r"^(torch|tensorflow|jax|mxnet|flax|keras|torchvision|timm|transformers)(?:-cpu)?==(.+)"
    packages = [f"{name} {version}" for name, version in re.findall(named, installed, re.M)]
    versions = [f"Python {platform.python_version()}", ", ".join(packages)]
    lines = [INTRODUCTION, f"Of {len(found)} models, {'; '.join(said)}.", ""]
    lines += [" · ".join([str(datetime.date.today()), *versions])]
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
