"""Wall-clock timers that wait for the devices: ``Benchmark``, ``Timer`` and ``synchronize``."""

from itertools import accumulate
from time import perf_counter
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.frameworks import loaded
from d2lhybrid.i18n import gettext as _


def synchronize() -> None:
    """Wait for all outstanding work of every framework that is already imported, on every device.

    Imports nothing; costs next to nothing where no framework is imported.

    Raises:
        TracingError: a framework is tracing a graph, so that there is no work to wait for.

    >>> synchronize()
    """
    for framework in loaded():
        framework.tensors.synchronize()


class Timer:
    """Record running times in seconds, device work included. It starts when it is made.

    The methods are those of the Timer of *Dive into Deep Learning*.

    >>> timer = Timer()
    >>> seconds = timer.stop()
    >>> timer.times == [seconds]
    True
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.start()

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
        """The mean of the recorded seconds; raises ArgumentError when there are none."""
        if not self.times:
            raise ArgumentError(
                _("Expected at least one recorded time. Received: none. Call stop() before avg().")
            )
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
    device memory inside the block, summed over the devices. The last two are None where no
    framework can tell them, and `peak_bytes` inside another block, whose peak it would hide.
    Where the body raises, the line is still printed and the exception goes on.

    >>> with Benchmark("Two additions") as b:  # doctest: +ELLIPSIS
    ...     _ = 1 + 1 + 1
    Two additions: 0.0... sec
    >>> b.seconds < 1
    True
    """

    _open = 0  # blocks inside one another

    def __init__(self, description: str = "Done") -> None:
        self.description = description
        self.seconds: float | None = None
        self.device_seconds: float | None = None
        self.peak_bytes: int | None = None

    def __enter__(self) -> "Benchmark":
        self._tensors = [framework.tensors for framework in loaded()]
        self.device_seconds = self.peak_bytes = None
        for one in self._tensors:
            one.synchronize()
            if not Benchmark._open:
                one.reset_peak()
        self._events = [one.start_events() for one in self._tensors]
        Benchmark._open += 1
        self._start = perf_counter()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        try:
            times = map(lambda one, event: one.device_seconds(event), self._tensors, self._events)
            self.device_seconds = max((time for time in times if time is not None), default=None)
            synchronize()
        except Exception:
            if error is None:
                raise
            # The body's own exception says more than a device's complaint about it.
        finally:
            self.seconds = perf_counter() - self._start
            Benchmark._open -= 1
            print(f"{self.description}: {self.seconds:.4f} sec")
        if not Benchmark._open:
            peaks = [peak for one in self._tensors if (peak := one.peak_bytes()) is not None]
            self.peak_bytes = sum(peaks) if peaks else None
