"""The proof of ``save``: a process of its own verifies what was written, before it is published.

What a file needs beside itself (an operator of a library, a module that the notebook imported) is
not missed where it was written. A process that has the artifact alone misses it. Where importing
the modules of the model's classes mends that, the manifest names them.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from d2lhybrid.errors import ArtifactLoadError, D2LHybridError, SaveError
from d2lhybrid.i18n import general, sentences
from d2lhybrid.i18n import gettext as _

TIMEOUT = 600.0  # seconds


def prove(folder: Path, format: str, modules: Sequence[str]) -> tuple[str, ...]:
    """Let another process verify an artifact; returns those of `modules` that it had to import.

    Raises:
        SaveError: It does not load there, does not run, or computes something else.
    """
    names = [name for name in modules if name != "__main__"]
    paths = [os.path.abspath(path) for path in sys.path]
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    with tempfile.TemporaryDirectory(prefix="d2lhybrid-") as own:
        answer, said = Path(own, "answer.json"), Path(own, "said.txt")
        command = [sys.executable, "-W", "ignore", "-m", __name__, str(folder), str(answer), *names]
        try:
            with said.open("wb") as file:  # no pipe, which a compiler could keep open behind it
                done = subprocess.run(
                    command, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                    timeout=TIMEOUT,
                )  # fmt: skip
            last = said.read_text(errors="replace").strip().splitlines()[-1:]
            text = _("the process ended with status {status}: {said}")
            found = {"error": text.format(status=done.returncode, said=" ".join(last))}
            with suppress(OSError, ValueError):  # there is no whole answer
                found = json.loads(answer.read_bytes())
        except subprocess.TimeoutExpired:
            found = {"error": _("after {seconds} s").format(seconds=general(TIMEOUT))}
    if found.get("outputs") == "same":
        return tuple(names) if found["imported"] else ()
    if "error" not in found:
        text = _(
            "What was saved does not compute what the model computes ({difference}); is the "
            "model random or does it keep state?"
        )
        raise SaveError(text, difference=found["reason"])
    text = _("A process that has the artifact alone cannot load it as {format!r}: {error}.")
    sentence = text.format(format=format, error=found["error"])
    notebook = _("It cannot import classes from a notebook or a script; put them in a module.")
    raise SaveError(sentences(sentence, notebook if len(names) < len(modules) else ""))


def _answer(folder: Path, modules: Sequence[str]) -> dict[str, object]:
    """In the other process: what ``verify`` finds."""
    from d2lhybrid.artifacts.loading import verify

    imported = False
    try:
        try:
            found = verify(folder, trust=True)
        except ArtifactLoadError:
            if not modules:
                raise
            for module in modules:
                import_module(module)
            imported, found = True, verify(folder, trust=True)
    except (D2LHybridError, ImportError) as error:
        return {"error": str(error)}
    return {"outputs": found.outputs, "reason": found.reason, "imported": imported}


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(_answer(Path(sys.argv[1]), sys.argv[3:])))
