"""``python -m recording run`` and ``table``; see ``make record``."""

import argparse
import re
import signal
import subprocess
import sys
from pathlib import Path

from recording import ROOT
from recording.plan import SECONDS, plan
from recording.recordings import RecordingError
from recording.run import run
from recording.tables import tables


def main() -> int:
    """Run or show; the exit status is 1 if something failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m recording", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="run | table")
    runs = commands.add_parser("run", help="run the parts on this machine's GPU")
    runs.add_argument("--parts", nargs="+", choices=SECONDS, default=[*SECONDS], metavar="PART")
    runs.add_argument("--to", type=Path, default=ROOT / "build/recorded", help="a folder")
    runs.add_argument(
        "--seconds", type=float, default=900, help="no part begins that may take more"
    )
    runs.add_argument("--commit", type=digits, help="of this copy, where it has no Git")
    runs.set_defaults(command=record)
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
    """Run the chosen parts."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended from outside; the files stay."))
    is_whole = run(
        plan(options.parts), options.to.resolve(), options.seconds, options.commit or committed()
    )
    print(f"The files: {options.to}")
    return int(not is_whole)


def digits(commit: str) -> str:
    """A commit that is named in full."""
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise argparse.ArgumentTypeError(f"expected 40 hexadecimal digits; received {commit!r}")
    return commit


def committed() -> str:
    """The commit of this copy.

    Raises:
        RecordingError: this copy has no Git.
    """
    command = ["git", "-c", f"safe.directory={ROOT}", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise RecordingError(
            f"Expected Git to name the commit of this copy. Received: {error}. "
            "Name it yourself: make record COMMIT=<40 digits>"
        ) from error
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
