"""What pip is doing, in one line: which package of how many, and how much it downloads."""

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence

_TAKING = re.compile(
    r"(?:Collecting ([\w.-]+)==(\S+)|Processing \S*?([\w.]+)-(\d[\w.+]*)-\S+\.whl)"
)
_DOWNLOADING = re.compile(r"\s+Downloading \S+ \((\S+ \wB)\)")
_LARGE = re.compile(r"[\d.]{2,} MB|.* GB")
_LAST_LINES = 20  # of pip's own words, where it fails


def told(lines: Iterable[str], total: int) -> Iterator[tuple[str, bool]]:
    """What to say at each of pip's lines that say something new, and whether it is a long wait."""
    count, name = 0, ""
    for line in lines:
        if line.startswith("Ignoring "):  # what other systems need
            total -= 1
        elif found := _TAKING.match(line):
            count, name = count + 1, " ".join(filter(None, found.groups()))
            yield f"[{count}/{total}] {name}", False
        elif found := _DOWNLOADING.match(line):
            yield f"[{count}/{total}] {name}: {found[1]}", bool(_LARGE.fullmatch(found[1]))
        elif line.startswith("Installing collected packages"):
            yield f"unpacking {line.count(',') + 1} packages", True


def install(command: Sequence[str], total: int, cwd: object) -> None:
    """Run a ``pip install`` of so many packages and tell how far it is.

    In a terminal each line replaces the one before; elsewhere only long waits are told. Where pip
    fails, its last words are shown and all ends.
    """
    terminal, said = sys.stdout.isatty(), []
    command = [*command, "--progress-bar", "off"]
    with subprocess.Popen(command, cwd=str(cwd), stdout=subprocess.PIPE, text=True) as pip:

        def heard() -> Iterator[str]:
            for line in pip.stdout or ():
                said.append(line)
                yield line

        for text, long in told(heard(), total):
            if terminal:
                print(f"\r\x1b[K{text}", end="", flush=True)
            elif long:
                print(text, flush=True)
    if terminal:
        print("\r\x1b[K", end="", flush=True)
    if pip.returncode:
        last = "".join(said[-_LAST_LINES:])
        sys.exit(f"{last}Set-up stopped: this command failed: {' '.join(command)}")
