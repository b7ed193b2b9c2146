"""Run the benchmarks, show their tables, and keep them with the date and the machine.

``make bench`` runs this file; ONLY="gpu ladder" chooses some. Each table goes to
``build/benchmarks/NAME.txt`` as it is printed, and ``machine.txt`` beside them says what machine it
was. What is worth keeping moves into benchmarks/README.md by hand.
"""

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
RESULTS = ROOT / "build" / "benchmarks"
# The first has a target of its own, for it takes hours; the second is no benchmark.
APART = ("under_load", "callables")
DOCTOR = (sys.executable, "-m", "d2lhybrid", "doctor")


def names() -> list[str]:
    """The benchmarks that there are."""
    found = sorted(path.stem for path in BENCHMARKS.glob("*.py"))
    return [name for name in found if name not in APART]


def shown(command: list[str], path: Path, heading: str) -> int:
    """Run a command, pass its lines on to the screen and to a file, and return its status."""
    print(f"== {heading}", flush=True)
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")
    with path.open("w", encoding="utf-8") as file, process:
        file.write(f"{heading}\n\n")
        for line in process.stdout or ():
            print(line, end="", flush=True)
            file.write(line)
    return process.returncode


def main() -> None:
    """Run the benchmarks named, or all; a failure of one does not stop the others."""
    wanted = sys.argv[1:] or names()
    if strangers := set(wanted) - set(names()):
        sys.exit(f"Expected some of {', '.join(names())}, received {', '.join(sorted(strangers))}.")
    RESULTS.mkdir(parents=True, exist_ok=True)
    date = datetime.now(UTC).date().isoformat()
    shown([*DOCTOR], RESULTS / "machine.txt", f"The machine, {date}")  # says itself what is amiss
    failed = []
    for name in wanted:
        command = [sys.executable, "-u", str(BENCHMARKS / f"{name}.py")]
        if shown(command, RESULTS / f"{name}.txt", f"{name}, {date}"):
            failed.append(name)
    if failed:
        sys.exit(f"These benchmarks failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
