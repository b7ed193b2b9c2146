"""Which processor native code was compiled for, and whether this one can run it.

An instruction that a processor does not know ends the whole process, so this is found out before
any native code runs.
"""

import platform
import re
from pathlib import Path
from typing import Any

from d2lhybrid.errors import UnsupportedArtifactError

_CPUINFO = Path("/proc/cpuinfo")
# Of all that Linux lists, what a compiler uses when it compiles for the machine that it is on.
_INSTRUCTIONS = re.compile(
    r"(sse|ssse|avx|amx|bmi|fma|sve|sme|asimd|fp)\w*|"
    "abm|adx|aes|f16c|gfni|movbe|pclmulqdq|popcnt|sha_ni|vaes|vpclmulqdq|"
    "atomics|bf16|crc32|fcma|i8mm|jscvt|lrcpc"
)


def processor() -> dict[str, Any]:
    """This machine's kind, and its instruction sets where the system tells (Linux)."""
    try:
        text = _CPUINFO.read_text()
    except OSError:
        text = ""
    line = re.search(r"^(?:flags|Features)\s*:(.*)", text, re.MULTILINE)
    names = sorted(filter(_INSTRUCTIONS.fullmatch, line[1].split())) if line else []
    return {"machine": platform.machine().lower(), "instructions": names}


def require_processor(options: dict[str, Any]) -> None:
    """Raise UnsupportedArtifactError if code for ``options["processor"]`` cannot run here."""
    made, here = options.get("processor"), processor()
    if not isinstance(made, dict):  # saved before this was recorded
        return
    if made.get("machine") != here["machine"]:
        wanted, found = f"a {made.get('machine')} processor", f"this is {here['machine']}"
    else:
        listed = made.get("instructions")
        lacking = set(map(str, listed if isinstance(listed, list) else ())) - {
            *here["instructions"]
        }
        if not lacking or not here["instructions"]:
            return
        wanted = f"a processor with {', '.join(sorted(lacking))}"
        found = "this one has no such instructions"
    raise UnsupportedArtifactError(
        f"This model was compiled for {wanted}, and {found}. Nothing was run; save the model "
        "again on this machine, or save it as torch.export or onnx, which run on any."
    )
