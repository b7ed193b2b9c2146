"""measure on a simulated machine."""

import numpy as np
import pytest
from fake import Machine

from d2lhybrid import quieting as waiting
from d2lhybrid.errors import ArgumentError, CallFailedError
from d2lhybrid.measurement import comparing
from d2lhybrid.measurement.comparing import measure


def test_measure():
    m = Machine()
    result = measure(m.function(1e-3, 0.02, cold=1), clock=m.clock, label="f")
    assert result.first_seconds == pytest.approx(1, rel=0.01)
    assert result.median == pytest.approx(1e-3, rel=0.02)
    low, high = result.interval()
    assert low <= result.median <= high < low * 1.02
    assert result.times.device is result.device_median is None
    assert result.env.versions["numpy"] == np.__version__
    assert result.label == "f"
    with pytest.raises(ArgumentError):
        measure(list, time_limit=-3)
    with pytest.raises(CallFailedError, match="unexpected keyword argument 'scales'"):
        measure(m.function(1e-3), scales=2, clock=m.clock)


def test_it_ends_after_five_seconds_or_a_hundred_thousand_samples(capsys, monkeypatch):
    monkeypatch.setattr(waiting, "SHOWN_AFTER", 0.0)
    m = Machine()
    measure(m.function(0.01, 2.0), clock=m.clock)
    assert 5 < m.now < 8
    monkeypatch.setattr(comparing, "MOST_SAMPLES", 20)
    m = Machine()
    assert len(measure(m.function(0.01, 2.0), clock=m.clock).samples) == 20
    assert capsys.readouterr().err == ""


def test_the_environment_may_shorten_the_measuring(monkeypatch):
    m = Machine()
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "1")
    measure(m.function(1e-3, 2.0), clock=m.clock, time_limit=100)
    assert m.now < 3
