"""``python -m recording run``, ``kit`` and ``table``; see ``make record``."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from recording import ROOT, kit
from recording.plan import plan
from recording.recordings import PARTS, NotebooksRecording, Recording, RecordingError
from recording.supervisor import Run
from recording.tables import tables

MINUTES = 9.0
REHEARSED_MINUTES = 60.0  # on any machine, however busy


def main() -> int:
    """Run, pack or show; the exit status is 1 if something failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m recording", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="run | kit | table")
    run = commands.add_parser("run", help="run the GPU part on this machine and record it")
    run.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    run.add_argument("--to", type=Path, help="the folder of the files; recorded/<device>")
    run.add_argument("--minutes", type=float, help="what hasn't begun by then is left out; 9")
    run.add_argument("--rehearse", action="store_true", help="small, on stand-ins, without a GPU")
    run.add_argument("--plant", action="store_true", help="rehearse with a failure in each part")
    run.set_defaults(command=record)
    pack = commands.add_parser("kit", help="pack what a machine without this repository needs")
    pack.add_argument("--python", default="3.12", help="the version of Python there")
    pack.add_argument("--to", type=Path, default=ROOT / "build/record-kit.zip")
    pack.set_defaults(command=kit.pack)
    show = commands.add_parser("table", help="print recorded networks as tables in Markdown")
    show.add_argument("file", type=Path, help="recorded/<device>/networks-<framework>.json")
    show.set_defaults(command=lambda options: print(tables(options.file)))
    options = parser.parse_args()
    try:
        return options.command(options) or 0
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1


def record(options: argparse.Namespace) -> int:
    """Run the chosen parts, and say what came of each."""
    rehearsed = options.rehearse or options.plant
    target = options.to or (ROOT / "build/rehearsed" if rehearsed else None)
    # Not among the recordings, which are committed, unless somebody fetches a whole folder.
    log = (options.to or ROOT / "build") / "record-log.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended from outside; the files stay."))
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as caches, log.open("wb") as printed:
        run = Run(
            folder=target,
            minutes=options.minutes or (REHEARSED_MINUTES if rehearsed else MINUTES),
            rehearsed=rehearsed,
            commit=commit(),
            log=printed,
            environment=partial(environment, Path(caches), rehearsed),
        )
        try:
            run(plan(options.parts, rehearsed, options.plant))
        finally:
            print(*report(run), f"What the processes printed: {log}", sep="\n")
    failed = any(failures(recording) for recording in run.recordings.values())
    return int(failed or bool(run.left_out))


def environment(folder: Path, rehearsed: bool, part: str) -> dict[str, str]:
    """The variables of a part's workers: their own caches, and memory as it is needed."""
    caches = folder / part
    variables = {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "PYTHONUNBUFFERED": "1",
        "PYTHONIOENCODING": "utf-8",
        "MPLBACKEND": "agg",
        "D2LHYBRID_LANGUAGE": "en",
        "D2LHYBRID_CACHE": str(caches / "cache"),
        "D2LHYBRID_DATA": str(caches / "data"),
        "TORCHINDUCTOR_CACHE_DIR": str(caches / "inductor"),
        "TRITON_CACHE_DIR": str(caches / "triton"),
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # or one process takes most of the memory
    }
    if part == "networks-jax":  # its cold starts fill the cache, which the notebooks don't have
        variables["JAX_COMPILATION_CACHE_DIR"] = str(caches / "jax")
        variables["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        variables["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    # Most cells say how long they measure; in a rehearsal nothing is worth waiting for.
    return variables | ({"D2LHYBRID_MOST_SECONDS": "0.05"} if rehearsed else {})


def commit() -> str:
    """The commit of this copy: Git's, or what the kit wrote down."""
    written = ROOT / "COMMIT"
    if written.exists():
        return written.read_text().strip()
    command = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"Expected a copy with Git, or a kit, to name the commit. Received: {error}")
    return done.stdout.strip()


def report(run: Run) -> list[str]:
    """What came of each part, in lines."""
    lines = [""]
    if run.rehearsed:
        lines.append("REHEARSED on stand-ins: no figure means anything, and it is no recording.")
    for recording in run.recordings.values():
        failed = failures(recording)
        whole = "complete" if recording.complete else "not complete"
        count = len(recording.entries)  # type: ignore[attr-defined]
        lines.append(f"{recording.part}: {whole}, {count} entries, {len(failed)} with an error")
        lines += [f"  {line}" for line in failed]
    lines += [f"Left out: {line}" for line in run.left_out]
    return [*lines, f"The files: {run.folder}" if run.recordings else "Nothing was recorded."]


def failures(recording: Recording) -> list[str]:
    """A line for each entry with an error."""
    if isinstance(recording, NotebooksRecording):
        return [
            f"{entry.notebook}, code cell {cell.cell}: {cell.error}"
            for entry in recording.entries
            for cell in entry.failed
        ]
    entries = [*recording.entries, *getattr(recording, "cold_starts", ())]  # type: ignore[attr-defined]
    return [f"{named(entry)}: {entry.error}" for entry in entries if entry.error]


def named(entry: object) -> str:
    """What an entry is of."""
    names = ("network", "batch", "dtype", "task", "notebook", "cell", "check", "framework")
    return ", ".join(str(getattr(entry, name)) for name in names if hasattr(entry, name))


if __name__ == "__main__":
    sys.exit(main())
