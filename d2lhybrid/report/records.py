"""What was measured, apart from how: frozen records that go to JSON and come back the same.

The schema is described in docs/results-schema.md.
"""

import statistics
from dataclasses import dataclass
from typing import Any, ClassVar

from d2lhybrid import stats
from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.i18n import sentences
from d2lhybrid.jsonrecord import Record
from d2lhybrid.report.provenance import Environment, stamp
from d2lhybrid.report.units import seconds, span

CLOCKS = ("latency", "throughput", "device")
DEFAULT_CLOCK = "latency"  # what somebody who waits for an answer sees
AGREE = 0.05  # latency and throughput that are closer than this are one time


class Result(Record):
    """A record of version 2, which reads version 1, too."""

    version: ClassVar[int] = 2

    @classmethod
    def upgraded(cls, content: dict[str, Any], version: int) -> dict[str, Any]:
        """The fields of version 1, which had one clock and waited once a sample."""
        if "comparisons" in content:
            return content | {"comparisons": [cls.upgraded(c, 1) for c in content["comparisons"]]}
        if "measurements" in content:
            return content | {
                "measurements": [cls.upgraded(one, 1) for one in content["measurements"]],
                "again": {"latency": content["again"], "throughput": None, "device": None},
                "references": [],
                "limit_needed": None,
            }
        fields = dict.fromkeys(
            ["build_seconds", "load_seconds", "stream_calls", "peak_bytes", "host_peak_bytes"]
        )
        latency, device = content.pop("samples"), content.pop("device_samples")
        several = content["calls"] > 1
        return fields | {
            "first_seconds": content.pop("cold_seconds"),
            **content,
            "times": {"latency": latency, "throughput": None, "device": device},
            "note": N_("the calls of a sample were waited for together") if several else None,
        }


@dataclass(frozen=True)
class Samples:
    """Seconds per call by clock, one number a round; None for a clock that did not run.

    `latency`: each call waited for. `throughput`: the slope of a stream's time over its number of
    calls; None where nothing was queued, for there it is the latency. `device`: the same slope by
    the accelerator's own events; None without one.
    """

    latency: tuple[float, ...]
    throughput: tuple[float, ...] | None = None
    device: tuple[float, ...] | None = None

    def of(self, clock: str | None) -> tuple[float, ...] | None:
        """The samples of one clock, the default one for None."""
        if clock not in (None, *CLOCKS):
            text = _("Expected a clock among {clocks}. Received: {received!r}.")
            raise ArgumentError(text.format(clocks=", ".join(map(repr, CLOCKS)), received=clock))
        if clock == "device":
            return self.device
        return self.latency if clock != "throughput" else self.throughput or self.latency

    def check(self) -> None:
        """Raise ValueError unless all times are times, and as many by each clock."""
        for samples in (self.latency, self.throughput, self.device):
            if samples is not None:
                require_times(samples)
                if len(samples) != len(self.latency):
                    raise ValueError(_("rounds are missing"))


@dataclass(frozen=True, repr=False)
class Measurement(Result):
    """The times of one callable, in seconds per call.

    `build_seconds` is what was compiled ahead of time, once for all processes, `load_seconds` what
    each process pays to load it, `first_seconds` the first call, with tracing and compiling; None
    where there is no such step. `times` are the samples of the steady state by each clock.

    >>> from d2lhybrid import measure
    >>> result = measure(sum, range(1000), time_limit=0.2)
    >>> result.ci95[0] <= result.median <= result.ci95[1]
    True
    """

    label: str
    build_seconds: float | None
    load_seconds: float | None
    first_seconds: float
    times: Samples
    calls: int
    stream_calls: int | None
    warmup_calls: int
    peak_bytes: int | None
    host_peak_bytes: int | None
    note: str | None
    env: Environment

    def __repr__(self) -> str:
        return f"{sentences(_in_steady_state(self), *_beside(self))}\n{stamp(self.env)}"

    def check(self) -> None:
        """Raise ValueError unless all times are times."""
        paid = (self.build_seconds, self.load_seconds, self.first_seconds)
        require_times(tuple(seconds for seconds in paid if seconds is not None))
        self.times.check()

    @property
    def samples(self) -> tuple[float, ...]:
        """The samples of the default clock, in seconds per call."""
        return self.times.latency

    def samples_of(self, clock: str | None = None) -> tuple[float, ...]:
        """The samples of a clock, in seconds per call; raises ArgumentError if it did not run."""
        found = self.times.of(clock)
        if found is None:
            text = _("Expected a clock that ran for {label!r}. Received: {received!r}.")
            raise ArgumentError(text.format(label=self.label, received=clock))
        return found

    def median_of(self, clock: str | None = None) -> float:
        """The median by a clock, in seconds per call."""
        return statistics.median(self.samples_of(clock))

    def interval(self, clock: str | None = None) -> tuple[float, float]:
        """The 95% interval of the median by a clock, (low, high) in seconds per call.

        By the sign test on the samples (Conover, *Practical Nonparametric Statistics*, 3.1); with
        fewer than six it is infinite.
        """
        return stats.median_interval(self.samples_of(clock))

    @property
    def median(self) -> float:
        """The median latency, in seconds per call."""
        return self.median_of()

    @property
    def ci95(self) -> tuple[float, float]:
        """The 95% interval of the median latency, (low, high) in seconds per call."""
        return self.interval()

    @property
    def iqr(self) -> float:
        """The interquartile range of the latency, in seconds per call."""
        return stats.iqr(self.samples)

    @property
    def min(self) -> float:
        """The fastest sample of the latency, in seconds per call."""
        return min(self.samples)

    @property
    def device_median(self) -> float | None:
        """The median time on the accelerator, in seconds per call; None without one."""
        return self.median_of("device") if self.times.device else None

    @property
    def cold_seconds(self) -> float:
        """What each process pays before the steady state: loading and the first call."""
        return (self.load_seconds or 0.0) + self.first_seconds


def require_times(times: tuple[float, ...]) -> None:
    if not times or not all(time >= 0 for time in times):
        raise ValueError(_("a time is missing, or is no number of seconds, 0 or more"))


def _in_steady_state(m: Measurement) -> str:
    """Latency, first call and warm-up in a sentence."""
    low, high = span(*m.interval(), seconds)
    text = _(
        "{label}: {median} per call (95% interval {low} to {high}); first call {cold}; "
        "{calls} calls of warm-up."
    )
    return text.format(
        label=m.label,
        median=seconds(m.median),
        low=low,
        high=high,
        cold=seconds(m.first_seconds),
        calls=m.warmup_calls,
    )


def _beside(m: Measurement) -> list[str]:
    """The times beside latency and first call, a sentence each."""
    stream = m.median_of("throughput") if m.times.throughput else None
    found = [
        (_("In a stream of calls: {time} per call."), stream),
        (_("On the device: {time}."), m.device_median),
        (_("Built ahead in {time}."), m.build_seconds),
        (_("Loaded in {time}."), m.load_seconds),
    ]
    return [text.format(time=seconds(time)) for text, time in found if time is not None]
