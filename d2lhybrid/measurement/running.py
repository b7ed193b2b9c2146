"""The times of one callable: first call, warm-up, and samples of the steady state.

What a sample is depends on whether the callable leaves work in a queue when it returns, which is
found out by measuring. Where nothing is queued, a call is over when it returns, and a sample is the
mean of several. Where work is queued, there are two true times: the *latency* of a call that is
waited for (a sample is the median of several), and the *throughput*, time per call of a stream. A
stream is waited for once; what that costs cancels in the slope between two streams of different
length (as Criterion and Google Benchmark fit it). The accelerator's own events give a third time,
by the same slope.
"""

import math
import statistics
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from d2lhybrid import stats
from d2lhybrid.errors import CannotBuildError, first_line
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement.calling import Clock, Target, call_failed, require_one_device
from d2lhybrid.measurement.timing import synchronize
from d2lhybrid.report.provenance import Environment
from d2lhybrid.report.records import AGREE, Measurement, Samples

SAMPLE_SECONDS = 5e-4  # some thousand times the resolution of perf_counter
STREAM_SECONDS = 1e-3  # of the shorter stream, if that is enough for the slope to settle
STRETCH = 4  # the longer stream holds so many times the calls of the shorter
BATCH_SECONDS = 2e-4  # of a warm-up time
LEAST_WARM_UP = 0.25  # seconds, where there are not enough times yet
PROBE_SECONDS = 0.02  # of the calls that tell whether something is queued
MOST_PROBES = 40
HEAVY_SECONDS = 0.01  # a call this long is a long one


class Runner(Target):
    """A callable with its arguments, and the times that were taken of it."""

    def __init__(
        self,
        label: str,
        function: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        clock: Clock,
        flush: bool = False,
    ) -> None:
        super().__init__(label, function, args, kwargs, clock)
        self.flush = flush
        self.build_seconds: float | None = None
        self.load_seconds: float | None = None
        self.first_seconds = 0.0
        self.peak_bytes: int | None = None
        self.host_peak_bytes: int | None = None
        self.notes: list[str] = []
        self.queued = False  # is a call still going on when it has returned?
        self.calls, self.stream_calls, self.warmup_calls = 1, 1, 0
        self.call_seconds = self.waited_seconds = self.stream_seconds = 0.0  # as far as we know
        self.latency: list[float] = []
        self.throughput: list[float] = []
        self.device: list[float] = []

    def twin(self) -> "Runner":
        """The same callable, warm as it is, for a second turn in each round."""
        twin = Runner(self.label, self.function, self.args, self.kwargs, self.clock, self.flush)
        twin.devices, twin.queued = self.devices, self.queued
        twin.queues, twin.effects = self.queues, self.effects
        twin.calls, twin.stream_calls = self.calls, self.stream_calls
        return twin

    def first(self) -> Any:
        """Time building, loading and the first call, as far as there are such; its output.

        Raises:
            CallFailedError: the callable raised, or its arguments are on another device.
            CannotBuildError: a variant cannot be built here.
        """
        require_one_device(self.function, self.args)
        variant = self.function if isinstance(self.function, Lazy) else None
        synchronize()
        try:
            if variant is not None and variant.ahead:
                self._build_ahead(variant)
            start = self.clock()
            output = self.function(*self.args, **self.kwargs)
            synchronize()
        except Exception as error:
            if variant is not None:
                raise CannotBuildError(first_line(error) or type(error).__name__) from error
            raise call_failed(self.label, error) from error
        self.first_seconds = self.clock() - start
        if variant is not None and variant.built is not None:
            self.function = variant.built
        note = self.find_devices(output)
        self.notes += [note] if note else []
        return output

    def _build_ahead(self, variant: Lazy) -> None:
        start = self.clock()
        variant.build()
        built = self.clock()
        self.function = variant.load()
        self.build_seconds, self.load_seconds = built - start, self.clock() - built

    def warm_up(self, limit: float) -> None:
        """Call until the times stop falling, or for `limit` seconds.

        A quarter of a second is always left to find enough times that tell whether they fall. On a
        busy machine a call may wait for a core for as long as a hundred of them take; the quickest
        of many times is that of a call.
        """
        begin, batch, times = self.clock(), 1, []
        while True:
            seconds = self.seconds(batch)
            self.warmup_calls += batch
            times.append(seconds / batch)
            if seconds < BATCH_SECONDS and not self.flush:
                batch *= 2
                continue
            enough = limit if len(times) >= stats.SETTLING else max(limit, LEAST_WARM_UP)
            if stats.settled(times) or self.clock() - begin > enough:
                break
        self.call_seconds = max(min(times), 1e-9)
        self.waited_seconds = self.stream_seconds = self.call_seconds

    def probe(self) -> None:
        """Find out whether calls leave work in a queue, and what one takes that is waited for.

        The framework of the output knows; where the output belongs to none, waiting after a call
        is compared with waiting for nothing. A device still at work when the output is there was
        left work besides, and is waited for from then on. A long call has a throughput of its own
        only where host and device both have a part in it, so that streams overlap; else it is its
        latency.
        """
        if self.flush or not self.devices or self.queues is False:
            return
        turns = min(MOST_PROBES, math.ceil(PROBE_SECONDS / self.call_seconds))
        hosts: list[float] = []
        rests: list[float] = []
        idles: list[float] = []
        for _turn in range(turns):
            times = [self.clock()]
            output = self.call(1)
            times.append(self.clock())
            self.wait(output)
            times.append(self.clock())
            if not self.effects and any(device.is_busy() for device in self.devices):
                self.effects = True
                return self.probe()
            idle = self.clock()
            self.wait(output)
            idles.append(self.clock() - idle)
            for part, seconds in zip((hosts, rests), pairwise(times), strict=True):
                part.append(seconds[1] - seconds[0])
        host, rest, free = map(statistics.median, (hosts, rests, idles))
        self.waited_seconds = max(min(map(sum, zip(hosts, rests, strict=True))), 1e-9)
        if self.call_seconds > HEAVY_SECONDS:
            self.queued = min(host, rest) > AGREE * (host + rest)
        else:
            self.queued = self.queues or rest - free > AGREE * (host + rest)

    def settle(self, limit: float) -> None:
        """Lengthen the stream as long as that lowers the slope by more than the margin.

        Beside a long call, what is paid once per wait is nothing: one of them is stream enough.
        """
        begin = self.clock()
        self.stream_calls = max(1, math.ceil(STREAM_SECONDS / self.stream_seconds))
        if self.call_seconds > HEAVY_SECONDS:
            return
        while self.clock() - begin < limit and self._falls():
            self.stream_calls *= 2

    def _falls(self) -> bool:
        """Is the slope of streams of twice the length lower, each of five times in turn?"""
        return all(
            self._streams(2)[0] < (1 - stats.MARGIN) * self._streams()[0] for _turn in range(5)
        )

    def sample(self) -> None:
        """Take one sample of the steady state by each clock."""
        if self.flush:
            latency, device = self.after_a_flush()
            throughput = latency
        else:
            if self.calls > 1:
                self.call(1)  # what ran before may have taken the caches
            if self.queued:
                latency = self.median_waited(self.calls)
                throughput, device = self._streams()
            else:
                together, device = self.with_events(self.calls)
                latency = throughput = together / self.calls
                device = None if device is None else device / self.calls
        self.latency.append(latency)
        self.throughput.append(throughput)
        if device is not None:
            self.device.append(device)

    def _streams(self, times: int = 1) -> tuple[float, float | None]:
        """Seconds per call by the slope between two streams, for the host and for the device."""
        calls = times * self.stream_calls
        short, short_device = self.with_events(calls)
        long, long_device = self.with_events(STRETCH * calls)
        slope = stats.slope(short, long, calls, STRETCH)
        if short_device is None or long_device is None:
            return slope, None
        return slope, stats.slope(short_device, long_device, calls, STRETCH)

    def samples(self, rounds: int, queued: bool) -> Samples:
        """Those of the first rounds; without throughput where nothing of the round was queued."""
        whole = len(self.device) >= rounds > 0
        return Samples(
            latency=tuple(self.latency[:rounds]),
            throughput=tuple(self.throughput[:rounds]) if queued else None,
            device=tuple(self.device[:rounds]) if whole else None,
        )

    def measurement(self, rounds: int, queued: bool, env: Environment) -> Measurement:
        """The first `rounds` samples as a record."""
        return Measurement(
            label=self.label,
            build_seconds=self.build_seconds,
            load_seconds=self.load_seconds,
            first_seconds=self.first_seconds,
            times=self.samples(rounds, queued),
            calls=self.calls,
            stream_calls=self.stream_calls if self.queued else None,
            warmup_calls=self.warmup_calls,
            peak_bytes=self.peak_bytes,
            host_peak_bytes=self.host_peak_bytes,
            note="; ".join(self.notes) or None,
            env=env,
        )
