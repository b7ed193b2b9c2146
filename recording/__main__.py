"""``python -m recording``: run the parts on this machine's GPU; see ``make record``."""

import argparse
import signal
import subprocess
import sys
from pathlib import Path

from recording import ROOT
from recording.recordings import RecordingError
from recording.run import SECONDS, run


def main() -> int:
    """Run the chosen parts; the exit status is 1 if something failed or was left out."""
    parser = argparse.ArgumentParser(prog="python -m recording", description=__doc__)
    parser.add_argument("--parts", nargs="+", choices=SECONDS, default=[*SECONDS], metavar="PART")
    parser.add_argument("--to", type=Path, default=ROOT / "build/recorded", help="a folder")
    parser.add_argument(
        "--seconds", type=float, default=900, help="no part begins that may take more"
    )
    parser.add_argument("--commit", help="of this copy, 40 digits, where it has no Git")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended from outside; the files stay."))
    parts = {name: seconds for name, seconds in SECONDS.items() if name in options.parts}
    try:
        commit = options.commit or committed()
        is_whole = run(parts, options.to.resolve(), options.seconds, commit)
    except RecordingError as error:
        sys.exit(str(error))
    print(f"The files: {options.to}")
    return int(not is_whole)


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
