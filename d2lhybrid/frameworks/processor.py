"""Which processor native code was compiled for, and whether this one can run it.

An instruction that a processor does not know ends the whole process, so this is found out before
any native code runs. Linux says it in a file.
"""

import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from d2lhybrid.errors import UnsupportedArtifactError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences

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
    return {"machine": platform.machine().lower(), "instructions": tuple(names)}


def require_processor(options: Mapping[str, Any]) -> None:
    """Raise UnsupportedArtifactError if code for the machine in `options` cannot run here."""
    here = processor()
    made = {**here, **options}
    lacking = sorted({*made["instructions"]} - {*here["instructions"]})
    if made["machine"] != here["machine"]:
        text = _("This model was compiled for a {machine} processor, and this is {here}.")
    elif lacking and here["instructions"]:
        text = _(
            "This model was compiled for a processor with {instructions}, and this one has no such "
            "instructions."
        )
    else:
        return
    advice = _(
        "Nothing was run; save the model again on this machine, or in a format that is not "
        "compiled for a processor."
    )
    fields = {"machine": made["machine"], "here": here["machine"]}
    said = sentences(text, advice)
    raise UnsupportedArtifactError(said, **fields, instructions=", ".join(lacking))
