"""Peak memory: how far it rises, on the devices and in the process."""

import gc
from contextlib import suppress
from pathlib import Path

from d2lhybrid.timing import device_peaks, reset_device_peaks, synchronize

_PROCESS = Path("/proc/self")


class PeakMemory:
    """How far memory rose above its level at creation, on the devices and in the process.

    On devices, by the framework's own records. In the process, by Linux's record of the peak
    resident memory, which is reset; other systems don't report it. If a framework reuses memory
    that it kept, nothing rises, so the result is the least that was needed.
    """

    def __init__(self) -> None:
        import psutil

        synchronize()
        gc.collect()
        with suppress(AttributeError, OSError):  # of another C library than glibc
            psutil.heap_trim()  # what was freed goes back to the system
        self._before: int | None = None
        with suppress(OSError):
            (_PROCESS / "clear_refs").write_text("5", encoding="ascii")  # resets the peak
            self._before = psutil.Process().memory_info().rss
        reset_device_peaks()
        self._devices = device_peaks()

    def host_bytes(self) -> int | None:
        """How far the process's memory rose; None if the system doesn't report it."""
        if self._before is None:
            return None
        status = (_PROCESS / "status").read_text(encoding="ascii", errors="replace")
        kilobytes = int(status.partition("VmHWM:")[2].split()[0])
        return max(0, 1024 * kilobytes - self._before)

    def device_bytes(self) -> int | None:
        """How far the memory of all devices rose; None if no framework reports it."""
        synchronize()
        rises = [peak - self._devices.get(name, 0) for name, peak in device_peaks().items()]
        return sum(rises) if rises else None
