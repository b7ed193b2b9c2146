"""How far building and calling a variant drive the memory of process and devices up."""

import ctypes
import gc
from contextlib import suppress
from pathlib import Path

from d2lhybrid.frameworks import loaded
from d2lhybrid.measurement.timing import synchronize

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


class Peak:
    """Peaks above what was there when it was made, on the devices and in the process.

    On devices, by the framework's own records. In the process, by Linux's record of the peak
    resident memory, begun anew; elsewhere it is not known. Memory that a framework keeps for later
    is handed out again without a rise, so that the figure of a variant is the least it needed.
    """

    def __init__(self) -> None:
        synchronize()
        gc.collect()
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
        self._before: int | None = None
        with suppress(OSError):
            _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
            self._before = _resident("VmRSS")
        for framework in loaded():
            framework.tensors.reset_peak()
        self._devices = {one.name: one.tensors.peak_bytes() or 0 for one in loaded()}

    def host_bytes(self) -> int | None:
        """How far the process's memory rose; None where the system does not tell."""
        now = _resident("VmHWM") if self._before is not None else None
        return None if now is None or self._before is None else max(0, now - self._before)

    def device_bytes(self) -> int | None:
        """How far the memory of all devices rose; None where no framework can tell."""
        synchronize()
        rises = [
            peak - self._devices.get(one.name, 0)
            for one in loaded()
            if (peak := one.tensors.peak_bytes()) is not None
        ]
        return sum(rises) if rises else None


def _resident(name: str) -> int | None:
    """A line of the process's status, in bytes."""
    with suppress(OSError):
        for line in _STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith(f"{name}:"):
                return 1024 * int(line.split()[1])
    return None
