"""Timers that wait for the devices: ``Benchmark`` and ``Timer``."""

from collections.abc import Callable
from contextlib import nullcontext, suppress
from itertools import accumulate
from threading import Lock
from time import perf_counter
from typing import Any, Self

from d2lhybrid.backends import loaded
from d2lhybrid.core.errors import ArgumentError

TimerFunction = Callable[[], float]  # a clock that returns seconds, such as perf_counter


def synchronize() -> None:
    """Wait for all outstanding work of every framework that is already imported, on every device.

    It imports nothing, and costs next to nothing if no framework is imported.

    Raises:
        TracingError: a framework is tracing a graph, so there is no work to wait for.

    >>> synchronize()
    """
    for framework in loaded():
        framework.device.synchronize()


class Timer:
    """Record running times in seconds, device work included. It starts when it is created.

    The methods are those of the Timer in *Dive into Deep Learning*. As a context manager, it starts
    at the beginning of the block and records the seconds at its end, unless the block raises.

    >>> timer = Timer()
    >>> seconds = timer.stop()
    >>> timer.times == [seconds]
    True
    >>> with timer:
    ...     _ = 1 + 1
    >>> len(timer.times)
    2
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            self.stop()

    def start(self) -> None:
        """Wait for the devices, then start the clock."""
        synchronize()
        self._started = perf_counter()

    def stop(self) -> float:
        """Wait for the devices, record the seconds since the last start and return them."""
        synchronize()
        self.times.append(perf_counter() - self._started)
        return self.times[-1]

    def avg(self) -> float:
        """The mean of the recorded seconds; raises ArgumentError if there are none."""
        if not self.times:
            from d2lhybrid.core.i18n import gettext as _  # nobody else here needs a catalog

            text = _("No time has been recorded yet. Call {stop} first.")
            raise ArgumentError(text.format(stop="timer.stop()"))
        return sum(self.times) / len(self.times)

    def sum(self) -> float:
        """The sum of the recorded seconds."""
        return sum(self.times)

    def cumsum(self) -> list[float]:
        """The running sums of the recorded seconds."""
        return list(accumulate(self.times))


class Benchmark:
    """Time a block of code, device work included, and print one line.

    After the block, `seconds` is the wall-clock time, `device_seconds` the time between events
    on the accelerator's current stream (the longest over the devices), and `peak_bytes` the peak
    device memory inside the block, summed over the devices. `device_seconds` and `peak_bytes` are
    None if no framework can measure them; `peak_bytes` is also None inside another block, whose
    peak it would hide. If the block raises, the line is still printed and the exception goes on.

    >>> with Benchmark("Two additions") as b:  # doctest: +ELLIPSIS
    ...     _ = 1 + 1 + 1
    Two additions: 0.0... sec
    >>> b.seconds < 1
    True
    """

    _open = 0  # blocks inside one another, or in several threads
    _lock = Lock()

    def __init__(self, description: str = "Done") -> None:
        self.description = description
        self.seconds: float | None = None
        self.device_seconds: float | None = None
        self.peak_bytes: int | None = None

    def __enter__(self) -> "Benchmark":
        synchronize()
        if not Benchmark._open:
            reset_device_peaks()
        self._clocks = [framework.device.start_clock() for framework in loaded()]
        with Benchmark._lock:  # last, for what raises before it has opened nothing
            Benchmark._open += 1
        self._start = perf_counter()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        # The body's own exception says more than a device's complaint about it.
        with suppress(Exception) if error else nullcontext():
            try:
                seconds = [clock() for clock in self._clocks if clock is not None]
                self.device_seconds = max(seconds, default=None)
                synchronize()
            finally:
                self.seconds = perf_counter() - self._start
                with Benchmark._lock:
                    Benchmark._open -= 1
                print(f"{self.description}: {self.seconds:.4f} sec")
            if not Benchmark._open:
                peaks = device_peaks()
                self.peak_bytes = sum(peaks.values()) if peaks else None


def reset_device_peaks() -> None:
    """Begin a new record of the devices' peak memory, in every framework."""
    for framework in loaded():
        framework.device.reset_peak_memory()


def device_peaks() -> dict[str, int]:
    """The most memory that each framework has used on its devices, if it reports it."""
    peaks = {framework.name: framework.device.peak_memory_bytes() for framework in loaded()}
    return {name: peak for name, peak in peaks.items() if peak is not None}
