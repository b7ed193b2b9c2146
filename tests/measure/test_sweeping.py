"""sweep on a simulated machine."""

import re
import time

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.calls import call
from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement import patience
from d2lhybrid.measurement.sweeping import sweep


def test_sweep():
    m = Machine()

    def make(n):
        return {"eager": m.function(1e-4 + n * 1e-8), "compiled": m.function(1e-5 + n * 1e-8)}, n

    s = sweep(make, [10, 10**4, 10**7], work=lambda n: 2 * n, clock=m.clock, progress=False)
    assert s.meeting("compiled") == 2 * 10**7
    assert s.comparisons[0].verdict("compiled") == "faster"
    with pytest.raises(ArgumentError):
        sweep(make, [])


def test_an_interrupt_ends_a_sweep_with_the_sizes_that_are_complete():
    m = Machine()

    def make(n):
        calls = 0

        def work():
            nonlocal calls
            calls += 1
            m.now += 5e-3
            if calls == 40 and n > 1:
                raise KeyboardInterrupt
            return 1.0

        return ({"a": work, "b": m.function(1e-3)},)

    s = sweep(make, np.array([1, 2, 3]), clock=m.clock, progress=False)
    assert s.sizes == (1,)
    s = sweep(make, [2, 3], clock=m.clock, progress=False)
    assert (s.sizes, s.comparisons[0].stopped) == ((2,), "interrupted")


def test_a_sweep_shows_a_variant_that_is_missing_at_a_size():
    m = Machine()

    class Ways(dict):
        def __init__(self, **functions):
            super().__init__(functions)
            self.unavailable = {} if "b" in self else {"b": "no room"}

    def make(n):
        a, b = m.function(1e-3), m.function(1e-4)
        return (Ways(a=a, b=b) if n == 1 else Ways(a=a),)

    s = sweep(make, [1, 2], clock=m.clock, progress=False)
    assert s.meeting("b") == 2
    assert "b" in repr(s)
    with pytest.raises(UnknownLabelError):
        s.meeting("c")


def test_arguments_by_name():
    m, seen = Machine(), []
    f = m.function(1e-3)

    def takes(x, *, seed):
        seen.append((x, seed))
        return f()

    s = sweep(lambda n: call({"a": takes}, n, seed=2), [1, 2], clock=m.clock, progress=False)
    assert s.sizes == (1, 2)
    assert set(seen) == {(1, 2), (2, 2)}


def test_an_option_that_nobody_has_is_named():
    m = Machine()
    with pytest.raises(ArgumentError, match=r"options of sweep.*margin.*dynamic.*: 'dynamics'"):
        sweep(lambda n: ({"a": m.function(1e-3)},), [1], dynamics=True, progress=False)


def test_labels_as_references_mark_rows_at_every_size():
    m = Machine()

    def make(n):
        return {"a": m.function(1e-3), "copy": m.function(1e-4)}, n

    s = sweep(make, [1, 2], references=["copy"], clock=m.clock, progress=False)
    assert [c.references for c in s.comparisons] == [("copy",)] * 2
    with pytest.raises(ArgumentError, match=r"model from make.*references="):
        sweep(make, [1], references=True, clock=m.clock, progress=False)


def test_functions_have_no_variants_to_build():
    m = Machine()
    with pytest.raises(ArgumentError, match=r"model from make.*dynamic=, mode="):
        sweep(lambda n: ({"a": m.function(1e-3)},), [1], mode="x", dynamic=True, progress=False)


def test_progress_names_the_size_and_what_is_being_built_on_one_line(capsys, monkeypatch):
    monkeypatch.setattr(patience, "SHOWN_AFTER", 0.0)
    m = Machine()

    def make(n):
        def build():
            time.sleep(1.3)
            return m.function(1e-3)

        return ({"a": m.function(1e-3), "b": Lazy(build)},)

    sweep(make, [1, 2], clock=m.clock)
    said = capsys.readouterr().err
    assert re.search("sizes: 0/2, building b, [0-9]+ s", said)
    assert re.search("sizes: 1/2, building b, [0-9]+ s", said)
    assert "sizes: 1/2, rounds: " in said
    assert "\n" not in said  # nor a way back up
    assert not said.split("\r")[-2].strip()  # it is gone
    sweep(make, [1], clock=m.clock, progress=False)
    assert capsys.readouterr().err == ""
