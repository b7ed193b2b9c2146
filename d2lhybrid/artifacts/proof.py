"""The proof of ``save``: a process of its own verifies what was written, before it is published.

What a file needs beside itself (an operator of a library, a module that the notebook imported) is
not missed where it was written. A process that has the artifact alone misses it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from d2lhybrid.errors import D2LHybridError, SaveError
from d2lhybrid.i18n import general
from d2lhybrid.i18n import gettext as _

TIMEOUT = 600.0  # seconds


def prove(folder: Path, format: str) -> None:
    """Let another process verify an artifact.

    Raises:
        SaveError: It does not load there, does not run, or computes something else.
    """
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, sys.path))
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as own:
        answer, said = Path(own, "answer.json"), Path(own, "said.txt")
        command = [sys.executable, "-W", "ignore", "-m", __name__, str(folder), str(answer)]
        try:
            with said.open("wb") as file:  # no pipe, which a compiler could keep open behind it
                done = subprocess.run(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    timeout=TIMEOUT,
                )  # fmt: skip
            last = said.read_text(errors="replace").strip().splitlines()[-1:]
            text = _("the process ended with status {status}: {said}")
            found = {"error": text.format(status=done.returncode, said=" ".join(last))}
            if not done.returncode:
                found = json.loads(answer.read_bytes())
        except subprocess.TimeoutExpired:
            found = {"error": _("after {seconds} s").format(seconds=general(TIMEOUT))}
    if "error" in found:
        text = _("A process that has the artifact alone cannot load it as {format!r}: {error}.")
        raise SaveError(text, format=format, error=found["error"])
    if found["outputs"] != "same":
        text = _(
            "What was saved does not compute what the model computes ({difference}); is the "
            "model random or does it keep state?"
        )
        raise SaveError(text, difference=found["reason"])


def _answer(folder: Path) -> dict[str, str]:
    """In the other process: what ``verify`` finds."""
    from d2lhybrid.artifacts.loading import verify

    try:
        found = verify(folder, trust=True)
    except D2LHybridError as error:
        return {"error": str(error)}
    return {"outputs": found.outputs, "reason": found.reason}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(_answer(Path(sys.argv[1]))))
