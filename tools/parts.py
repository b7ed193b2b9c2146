"""Run parts of the tests one after the other, and say how many minutes each took.

``make test`` is run by this file. A part is what is given to make, such as "test-unit". The first
one that fails ends the run. With ``--limit 75`` so does the 75th minute: a machine that stops a run
itself says nothing of where its time went.

It may set up the environment, so it uses the standard library alone.
"""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress

SECONDS_TO_END = 10


def run(part: str, seconds: float | None) -> int:
    """The status of one part, which is ended after so many seconds; 124 then, as of timeout(1)."""
    # A session of its own, so that all that it has started can be ended with it.
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", *shlex.split(part)]
    started = subprocess.Popen(command, start_new_session=True)
    try:
        return started.wait(seconds)
    except subprocess.TimeoutExpired:
        end(started, signal.SIGTERM)
        return 124
    except KeyboardInterrupt:
        end(started, signal.SIGINT)
        return 130


def end(started: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """End a process and what it has started: with a signal, and if that does not help, at once."""
    for one in (how, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(started.pid, one)
        with suppress(subprocess.TimeoutExpired):
            started.wait(SECONDS_TO_END)
            return


def table(minutes: dict[str, float]) -> str:
    """The minutes of each part, and of all."""
    rows = {**minutes, "in all": sum(minutes.values())}
    width = max(map(len, rows))
    return "\n".join(["Minutes:", *(f"  {name:{width}} {rows[name]:6.1f}" for name in rows)])


def main() -> None:
    """Run the parts and end with the status of the last one that ran."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", help='what is given to make: test-unit "html X=1"')
    parser.add_argument("--limit", type=float, metavar="MINUTES", help="fail when they are over")
    options = parser.parse_args()
    first, minutes, status = time.monotonic(), {}, 0
    for part in options.parts:
        begin = time.monotonic()
        left = None if options.limit is None else first + 60 * options.limit - begin
        status = run(part, left)
        minutes[part] = (time.monotonic() - begin) / 60
        if status:
            break
    print(table(minutes), flush=True)
    if status == 124:
        print(f"Stopped: {options.limit:g} minutes are over, and {part} was not at its end.")
    elif status:
        print(f"Failed: {part}")
    sys.exit(status)


if __name__ == "__main__":
    main()
