"""Which frameworks must have a GPU, and which cells were left out for want of one.

A machine with a GPU proves nothing about it where a framework has quietly fallen back to the CPU.
``D2LHYBRID_REQUIRE_GPU=pytorch,jax`` makes tests and notebooks fail there instead. The idea, that
what was asked for and is missing fails instead of being skipped, is that of einops' tests.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from book.errors import BookError
from book.frameworks import FRAMEWORKS
from d2lhybrid.backends import variables_for_child

REQUIRE = "D2LHYBRID_REQUIRE_GPU"
SECONDS = 300.0  # for a framework to import, to wake its devices and to compute
# In a separate process: it may crash, and it keeps a GPU's memory. A device that is listed and
# cannot compute, because a library does not fit, raises.
_PROBE = """
import json, sys
from d2lhybrid.backends import get
room = get(sys.argv[1]).device
print(json.dumps({device: room.compute_on(device) for device in room.devices()}))
"""


def required() -> list[str]:
    """The frameworks that must have a GPU.

    Raises BookError where the variable names something else.
    """
    names = [name.strip() for name in os.environ.get(REQUIRE, "").split(",")]
    for name in filter(None, names):
        if name not in FRAMEWORKS:
            raise BookError(
                f"Expected {REQUIRE} to name frameworks, as in {REQUIRE}={','.join(FRAMEWORKS)}. "
                f"Received: {name!r}."
            )
    return [name for name in FRAMEWORKS if name in names]


def require() -> None:
    """Raise BookError, with a sentence for each required framework that has no GPU."""
    sentences = [
        f"Expected {FRAMEWORKS[name].name} to compute on a GPU, because {REQUIRE} names {name}. "
        f"{seen} Look at what `nvidia-smi` and `{sys.executable} -m d2lhybrid doctor "
        f"{FRAMEWORKS[name].module}` say; `make conda` makes the environment for it."
        for name in required()
        if (seen := _lacking(FRAMEWORKS[name].module))
    ]
    if sentences:
        raise BookError("\n".join(sentences))


def _lacking(module: str) -> str | None:
    """What a framework sees where that is no GPU, in a sentence; None where it computes on one."""
    command = [sys.executable, "-c", _PROBE, module]
    try:
        pipes: Any = {"capture_output": True, "text": True}
        done = subprocess.run(command, timeout=SECONDS, env=variables_for_child(), **pipes)
    except subprocess.TimeoutExpired:
        return f"It gave no answer within {SECONDS:.0f} s."
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    if done.returncode:
        last = lines[-1] if lines else "it said nothing"
        return f"It does not work: its process ended with status {done.returncode}: {last}"
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    gpus = [device for device in found if "cpu" not in device.lower()]
    wrong = [device for device in gpus if found[device] != 8.0]
    if wrong:
        return f"A product of matrices came out wrong on {wrong[0]}."
    if gpus:
        return None
    # What it says of drivers and libraries is often the cause; the rest is noise.
    said = [line for line in lines if re.search(r"(?i)cuda|gpu|driver", line)]
    return " ".join([f"It sees {', '.join(found)} and nothing else.", *said[-1:]])


def left_out(source: str, outputs: Sequence[Any]) -> bool:
    """Did a cell that needs a GPU print nothing but one of its own texts, that it was left out?

    Warnings on standard error do not count: a framework that has lost its GPU prints some.
    """
    shown = [output for output in outputs if output.get("name") != "stderr"]
    printed = [str(output.get("text", "")).strip() for output in shown]
    return len(printed) == 1 and bool(printed[0]) and f'print("{printed[0]}")' in source


def missed(framework: str, tags: Sequence[str], source: str, outputs: Sequence[Any]) -> str | None:
    """Why a cell fails that was left out in a framework that must have a GPU; else None."""
    if framework in required() and "gpu" in tags and left_out(source, outputs):
        name = FRAMEWORKS[framework].name
        why = f"{REQUIRE} names {framework}"
        return f"Expected this cell to use a GPU, because {why}. {name} saw none."
    return None
