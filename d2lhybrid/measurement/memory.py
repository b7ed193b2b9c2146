"""How far building and calling a variant drive the memory of process and devices up."""

import gc
import re
from contextlib import suppress
from pathlib import Path

from d2lhybrid.frameworks import loaded
from d2lhybrid.measurement.timing import synchronize

_PROCESS = Path("/proc/self")
_RESET_PEAK = "5"


class Peak:
    """Peaks above what was there when it was made, on the devices and in the process.

    On devices, by the framework's own records. In the process, by Linux's record of the peak
    resident memory, begun anew; elsewhere it is not known. Memory that a framework keeps for later
    is handed out again without a rise, so that the figure of a variant is the least it needed.
    """

    def __init__(self) -> None:
        import psutil

        synchronize()
        gc.collect()
        with suppress(AttributeError, OSError):  # of another C library than glibc
            psutil.heap_trim()  # what was freed goes back to the system
        self._before: int | None = None
        with suppress(OSError):
            (_PROCESS / "clear_refs").write_text(_RESET_PEAK, encoding="ascii")
            self._before = psutil.Process().memory_info().rss
        for framework in loaded():
            framework.tensors.reset_peak()
        self._devices = {one.name: one.tensors.peak_bytes() or 0 for one in loaded()}

    def host_bytes(self) -> int | None:
        """How far the process's memory rose; None where the system does not tell."""
        if self._before is None:
            return None
        status = (_PROCESS / "status").read_text(encoding="ascii", errors="replace")
        peak = re.search(r"^VmHWM:\s*(\d+) kB", status, re.MULTILINE)
        return max(0, 1024 * int(peak[1]) - self._before) if peak else None

    def device_bytes(self) -> int | None:
        """How far the memory of all devices rose; None where no framework can tell."""
        synchronize()
        rises = [
            peak - self._devices.get(one.name, 0)
            for one in loaded()
            if (peak := one.tensors.peak_bytes()) is not None
        ]
        return sum(rises) if rises else None
