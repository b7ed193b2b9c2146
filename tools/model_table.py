"""Take real models through every function of the package and write docs/models.md.

``make models`` runs this file; ONLY="BERT resnet" chooses models by a part of their names, and then
the table is printed, not written. The libraries of models are installed into ``.venv-models``, on
top of the environment that runs this. Each model has a process of its own with a time limit, so
that one that crashes or hangs is a row. What was found is kept in build/models; ends with status 1
where something else than "works" or a refusal came.
"""

import argparse
import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from environments import ROOT, environment

PINS = ROOT / "requirements/models.txt"
PAGE = ROOT / "docs/models.md"
KEPT = ROOT / "build/models"
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
    """Run those that are chosen; write the page if these are all, and print the table if not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of names; all if none")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=600, help="seconds for one model")
    parser.add_argument("--kept", action="store_true", help="run only what was not run before")
    options = parser.parse_args()
    python = environment(".venv-models", ["--no-deps", "--requirement", str(PINS)], on_top=True)
    every = models(python)
    chosen = [(library, name) for library, name in every if is_chosen(name, options.only)]
    missing = [one for one in chosen if not (options.kept and place(*one).exists())]
    with ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda one: examine(python, one[0], one[1], options.limit), missing))
    found = {one: json.loads(place(*one).read_text("utf-8")) for one in chosen}
    text = page(found, versions(python))
    if chosen == every:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(any(one["outcome"] not in SHOWN for row in found.values() for one in row.values()))


def is_chosen(name: str, parts: list[str]) -> bool:
    """Is this one of those that ONLY names?"""
    return not parts or any(part in name for part in parts)


def place(library: str, name: str) -> Path:
    """Where is kept what was found."""
    return KEPT / f"{library} {name}.json"


def surroundings() -> dict[str, str]:
    """The environment variables of the processes: this checkout's package, and no network."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "D2LHYBRID_LANGUAGE": "en",
        "HF_HUB_OFFLINE": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def models(python: str) -> list[tuple[str, str]]:
    """Every model, as library and name."""
    command = [python, "-W", "ignore", "tests/models/zoo.py"]
    done = subprocess.run(
        command, cwd=ROOT, env=surroundings(), stdout=subprocess.PIPE, text=True, check=True
    )
    return [(library, name) for library, name in json.loads(done.stdout.splitlines()[-1])]


def versions(python: str) -> dict[str, str]:
    """Those of the frameworks and of the libraries of models, as far as they are there."""
    names = ["torch", "tensorflow", "jax", "mxnet", "flax", "keras"]
    names += ["torchvision", "timm", "transformers"]
    command = [python, "-m", "pip", "list", "--format=json"]
    listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {re.sub("[-_]cpu$", "", one["name"]): one["version"] for one in json.loads(listed)}
    return {name: found[name] for name in names if name in found}


def examine(python: str, library: str, name: str, limit: float) -> None:
    """One model in a process of its own; keep what was found, also where it ended early."""
    folder = KEPT / "working" / f"{library} {name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = folder / "found.jsonl"
    command = [python, "-W", "ignore", "tests/models/examine.py", library, name, str(folder)]
    with (folder / "said.txt").open("w+b") as said:
        process = subprocess.Popen(
            command, cwd=ROOT, env=surroundings(), stdout=said, stderr=said, start_new_session=True
        )
        try:
            ended = f"the process ended with status {process.wait(limit)}"
        except subprocess.TimeoutExpired:
            ended = f"the process was stopped after {limit:g} seconds"
        finally:
            stop(process)
    rows = lines.read_text("utf-8").splitlines() if lines.exists() else []
    found: Found = {row["function"]: row for row in map(json.loads, rows)}
    for function in FUNCTIONS:
        if function not in found:
            last = (folder / "said.txt").read_text(errors="replace").strip().splitlines()[-1:]
            text = f"{ended}: {' '.join(last)}"
            found[function] = {"outcome": "ended", "said": text, "seconds": "0"}
    place(library, name).write_text(json.dumps(found, indent=1), encoding="utf-8")
    shutil.rmtree(folder)
    seconds = sum(float(one["seconds"]) for one in found.values())
    said_of = ", ".join(f"{f} {one['outcome']}" for f, one in found.items())
    print(f"{library} {name}: {said_of} ({seconds:.0f} s)", flush=True)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it started, such as compilers."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def page(found: dict[tuple[str, str], Found], installed: dict[str, str]) -> str:
    """The page: how it is made, how often each function works, and a table for each library."""
    notes: list[str] = []
    counts = Counter((f, one["outcome"]) for row in found.values() for f, one in row.items())
    said = [
        f"`{function}` works for {counts[function, 'works']}"
        + (f" and refuses {n}" if (n := counts[function, "refused"]) else "")
        for function in FUNCTIONS
    ]
    packages = ", ".join(f"{name} {version}" for name, version in installed.items())
    lines = [
        INTRODUCTION,
        f"Of {len(found)} models, {'; '.join(said)}.",
        "",
        f"{datetime.date.today()} · Python {platform.python_version()} · {packages}",
    ]
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
    """What came of a function, with the number of its footnote."""
    shown = SHOWN.get(found["outcome"], f"**{found['outcome']}**")
    if not found["said"]:
        return shown
    note = first_sentence(found["said"])
    if note not in notes:
        notes.append(note)
    return f"{shown} [^{notes.index(note) + 1}]"


def first_sentence(text: str) -> str:
    """The first sentence of a message, on one line, as Markdown shows it.

    >>> first_sentence("PyTorch 2.13 did not: a | b. Nothing was changed.")
    'PyTorch 2.13 did not: a \\\\| b.'
    """
    line = re.sub(r" at 0x[0-9a-f]+", "", " ".join(text.split()))  # another address in each run
    found = re.match(r"(.+?\.)(?= [A-Z])", line)
    sentence = found[1] if found else line
    if len(sentence) > LONGEST:
        sentence = sentence[:LONGEST].rpartition(" ")[0] + " …"
    return re.sub(r"([|*_<\[\]])", r"\\\1", sentence)


if __name__ == "__main__":
    main()
