"""The proof: a fresh process loads an artifact and runs its recorded calls, within a time limit."""

import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from d2lhybrid.core.errors import SaveError
from d2lhybrid.core.i18n import general, gettext as _, language
from d2lhybrid.core.subprocesses import run, started_python, status

DIFFERENT = 99  # the status of a process that has found other outputs
VERIFY = f"""
import os, sys, warnings
warnings.simplefilter("ignore")
from d2lhybrid.artifacts.load import load
from d2lhybrid.core.errors import D2LHybridError, brief
try:
    model = load(sys.argv[1], trust=sys.argv[2:] == ["trust"])
    difference = model.difference()
except Exception as error:
    sys.exit(str(error) if isinstance(error, D2LHybridError) else brief(error))
if difference:
    print(difference, file=sys.stderr)
    sys.exit({DIFFERENT})
del model  # a loader of PyTorch removes what it has unpacked
os._exit(0)  # Python would take the framework apart first, for a second
"""
VERIFY_SECONDS = 600.0  # that it may take


def verify_in_subprocess(folder: Path, *, trust: bool = True) -> str:
    """Let a process that has the artifact alone verify it; why it does not load there, or nothing.

    What a file needs beside itself (an operator of a library, a module that the notebook imported)
    is not missed where it was written. And a model of a stranger may never come to an end, or crash
    its process: without `trust`, it is loaded as ``load`` does.

    Raises:
        SaveError: It computes something else there, or takes too long, which no import would mend.
    """
    # What leaves a GPU's memory to others, the framework's import there sets by itself.
    variables = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ, "D2LHYBRID_LANGUAGE": language()}
    with tempfile.TemporaryFile() as file:  # no pipe, which a compiler could keep open behind it
        output: Any = {"stdout": file, "stderr": file}
        try:
            program = [VERIFY, str(folder), *["trust"] * trust]
            process = run(program, VERIFY_SECONDS, start=started_python, env=variables, **output)
        except subprocess.TimeoutExpired as error:
            text = _(
                "A fresh process that has only the artifact did not verify it within {seconds} s."
            )
            raise SaveError(text, seconds=general(VERIFY_SECONDS)) from error
        file.seek(0)
        printed = file.read().decode(errors="replace").strip().splitlines()
    last_line = printed[-1] if printed else ""
    if process.returncode == 0:
        return ""
    if process.returncode == DIFFERENT:
        text = _(
            "The saved model doesn't compute what the model computes ({difference}). Is the model "
            "random, or does it keep state?"
        )
        raise SaveError(text, difference=last_line)
    text = _("the process ended with status {status}: {said}")
    said = last_line.rstrip(".") or _("it printed nothing")
    return text.format(status=status(process.returncode), said=said)
