"""measure on a simulated machine."""

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.calls import call
from d2lhybrid.errors import ArgumentError, CallFailedError
from d2lhybrid.measurement import measuring, patience
from d2lhybrid.measurement.measuring import measure


def test_measure():
    m = Machine()
    result = measure(m.function(1e-3, 0.02, cold=1), clock=m.clock, label="f")
    assert result.first_seconds == pytest.approx(1, rel=0.01)
    assert result.median == pytest.approx(1e-3, rel=0.02)
    assert result.ci95[0] <= result.median <= result.ci95[1] < result.ci95[0] * 1.02
    assert result.min <= result.median
    assert result.iqr > 0
    assert result.times.device is result.device_median is None
    assert result.env.versions["numpy"] == np.__version__
    assert result.label == "f"
    with pytest.raises(ArgumentError):
        measure(list, time_limit=-3)
    noisy = Machine()
    measure(noisy.function(1e-3, 2.0), clock=noisy.clock, time_limit=1)
    assert noisy.now < 2


def test_it_ends_after_five_seconds_or_a_hundred_thousand_samples(capsys, monkeypatch):
    monkeypatch.setattr(patience, "SHOWN_AFTER", 0.0)
    m = Machine()
    measure(m.function(0.01, 2.0), clock=m.clock)
    assert 5 < m.now < 8
    monkeypatch.setattr(measuring, "MOST_SAMPLES", 20)
    m = Machine()
    assert len(measure(m.function(0.01, 2.0), clock=m.clock).samples) == 20
    assert capsys.readouterr().err == ""


def test_the_environment_may_shorten_the_measuring(monkeypatch):
    m = Machine()
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "1")
    measure(m.function(1e-3, 2.0), clock=m.clock, time_limit=100)
    assert m.now < 3
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "soon")
    with pytest.raises(ArgumentError, match=r"D2LHYBRID_MOST_SECONDS=10\. Received"):
        measure(m.function(1.0), clock=m.clock)


def test_heavy_calls_are_measured_six_times():
    m = Machine()
    assert len(measure(m.function(1.0), clock=m.clock, time_limit=4).samples) == 6


def test_arguments_by_name():
    m = Machine()
    f, seen = m.function(1e-3), []

    def takes(x, *, label=None, scale=None):
        seen.append((x, label, scale))
        return f()

    assert measure(takes, 1, scale=2, clock=m.clock).label == "takes"
    assert set(seen) == {(1, None, 2)}
    seen.clear()
    assert measure(call(takes, 1, label="inner"), label="outer", clock=m.clock).label == "outer"
    assert set(seen) == {(1, "inner", None)}
    with pytest.raises(CallFailedError, match="unexpected keyword argument 'scales'"):
        measure(takes, 1, scales=2, clock=m.clock)


def test_an_interrupt_keeps_what_was_measured():
    m, turns = Machine(), 0

    def interrupted():
        nonlocal turns
        turns += 1
        m.now += 5e-3 * (1 + turns % 3)
        if turns == 40:
            raise KeyboardInterrupt
        return 1.0

    assert 6 < len(measure(interrupted, clock=m.clock).samples) < 40
