"""First calls: what is built, what is compared, what is left out and why."""

import re
import time
from typing import Any

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.errors import CannotBuildError, DifferentAnswerError, UnknownLabelError
from d2lhybrid.frameworks.protocol import Lazy
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.patience import Progress


def run(machine, functions, **options):
    return compare(functions, clock=machine.clock, seed=1, progress=False, **options)


def raises():
    raise RuntimeError("mat1 and mat2 shapes cannot be multiplied\nand more")


def test_the_first_call_alone():
    m = Machine()
    c = run(m, {"a": m.function(1e-3, cold=0.5), "b": m.function(5e-4, cold=2.0)})
    assert c["a"].first_seconds == pytest.approx(0.501)
    assert c["b"].first_seconds == c["b"].cold_seconds == pytest.approx(2.0005)
    assert c["a"].build_seconds is c["a"].load_seconds is None
    assert max(c["b"].samples) < 1e-3


def test_what_is_built_at_the_first_call_is_part_of_it_and_built_anew_each_time():
    m = Machine()

    def build():
        m.now += 2.0
        return m.function(1e-3)

    ways = {"a": m.function(1e-3), "b": Lazy(build)}
    for _turn in range(2):
        c = run(m, ways)
        assert c["b"].first_seconds == pytest.approx(2, rel=0.01)
        assert c["b"].build_seconds is None


def test_what_is_built_ahead_is_four_times():
    m = Machine()

    def build():
        m.now += 30.0
        return "product"

    def load(product):
        assert product == "product"
        m.now += 0.5
        return m.function(1e-3, cold=0.25)

    c = run(m, {"a": m.function(2e-3), "b": Lazy(build, load)})
    b = c["b"]
    assert (b.build_seconds, b.load_seconds) == (pytest.approx(30), pytest.approx(0.5))
    assert b.first_seconds == pytest.approx(0.251)
    assert b.cold_seconds == pytest.approx(0.751)
    assert b.median == pytest.approx(1e-3)
    assert c.break_even("b") == pytest.approx(1 + (0.751 - 0.002) / 1e-3, abs=1.1)  # no build


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (raises, "'b' .*cannot be multiplied"),
        (Lazy(raises), "^mat1 and mat2 shapes cannot be multiplied$"),
        (lambda: np.ones(3), "shape"),
        (lambda: np.array([1.0, 1.01]), r"up to 0\.01"),
        (lambda: np.array([1.0, np.nan]), "NaN in output of 'b'"),
    ],
)
def test_a_variant_that_fails_or_answers_something_else_is_left_out_with_its_reason(other, said):
    m = Machine()
    right = m.function(1e-3, result=np.ones(2))
    c = run(m, {"a": right, "b": other, "c": right})
    assert list(c) == ["a", "c"]
    assert list(c.unavailable) == ["b"]
    with pytest.raises(UnknownLabelError, match=said):
        raise UnknownLabelError(c.unavailable["b"])
    with pytest.raises(UnknownLabelError, match="'b' was not measured"):
        c["b"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([2**60]), np.array([2**60 + 100])),
        (np.array(["x"]), np.array([1.0])),
        (np.array([1, 2]), np.array([1, 3])),
        ({"y": 1.0}, {"z": 1.0}),
    ],
)
def test_answers_that_differ_are_told_apart(one, other):
    m = Machine()
    c = run(m, {"a": m.function(1e-3, result=one), "b": m.function(1e-3, result=other)})
    assert list(c.unavailable) == ["b"]


def test_check_can_be_loosened_and_switched_off():
    m = Machine()
    functions = {"a": m.function(1e-3, result=1.0), "b": m.function(1e-3, result=1.01)}
    assert run(m, functions, check=0.02).checked == 0.02
    assert run(m, functions, check=False).checked is False
    assert "b" in run(m, functions, check=0.001).unavailable


def test_a_baseline_that_keeps_state_is_shown_the_way_to_compare_steps_of_training():
    m, weight = Machine(), np.ones(2)
    f = m.function(1e-3)

    def step():
        nonlocal weight
        weight = 0.9 * weight
        return f() * weight

    said = r"random .*keeps state.*check=False.*training\(net, loss, optimizer, batch\)"
    with pytest.raises(DifferentAnswerError, match=said):
        run(m, {"step": step})


class Cache:
    """What a library returns beside its tensors: without __eq__, with arrays inside."""

    def __init__(self, value: float) -> None:
        self.layers = [np.full(2, value)]


def test_an_object_without_equality_is_looked_into_or_named_in_a_note():
    m = Machine()
    f = m.function(1e-3)
    values = {"a": 1.0, "b": 1.0, "c": 2.0}
    c = run(m, {k: lambda v=v: (f(), Cache(v)) for k, v in values.items()}, time_limit=0.1)
    assert (list(c), list(c.unavailable)) == (["a", "b"], ["c"])
    assert c["b"].note is None
    handle = type("Handle", (), {})
    opaque = {k: lambda: (f(), handle()) for k in "ab"}
    assert run(m, opaque)["b"].note == "not compared: output[1]"


def test_data_frames_are_compared():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"x": [1.0, value]}) for value in (2.0, 2.5)]
    m = Machine()
    f = m.function(1e-3)
    c = run(m, {"a": lambda: (f(), frames[0])[1], "b": lambda: (f(), frames[1])[1]})
    assert "0.5" in c.unavailable["b"]


def test_a_limit_for_building():
    def slow() -> Any:
        time.sleep(30)

    def quick() -> float:
        time.sleep(1e-3)
        return 1.0

    start = time.monotonic()
    c = compare({"a": quick, "b": Lazy(slow), "c": quick}, build_limit=0.3, time_limit=0.2,
                progress=False)  # fmt: skip
    assert time.monotonic() - start < 20
    assert list(c) == ["a", "c"]
    assert "build_limit=0.3" in c.unavailable["b"]
    with pytest.raises(CannotBuildError, match=r"build_limit=0\.3"):
        compare({"b": Lazy(slow)}, build_limit=0.3, progress=False)


def test_what_shortens_the_measuring_leaves_a_build_its_time(monkeypatch):
    monkeypatch.setenv("D2LHYBRID_MOST_SECONDS", "0.1")

    def slow():
        time.sleep(0.3)
        return list

    c = compare({"a": Lazy(slow), "b": list}, time_limit=5, progress=False)
    assert list(c) == ["a", "b"]


def test_an_interrupt_by_the_user_is_not_taken_for_the_limit():
    def interrupt() -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare({"b": Lazy(interrupt)}, build_limit=100, progress=False)


def test_progress_names_what_is_being_built(capsys, monkeypatch):
    from d2lhybrid.measurement import patience

    monkeypatch.setattr(patience, "SHOWN_AFTER", 0.0)
    bar = Progress(3, shown=True)
    bar.now("torch.compile")
    said, until = "", time.monotonic() + 60
    while not re.search(r"building torch\.compile, [1-9]\d* s", said):
        assert time.monotonic() < until, said
        time.sleep(0.1)
        said += capsys.readouterr().err
    bar.close()


def test_memory():
    m = Machine()
    f = m.function(1e-3)

    def hungry() -> float:
        kept = np.ones(8_000_000)
        return float(kept[0]) * f()

    c = run(m, {"a": f, "b": hungry}, memory=True)
    assert c["a"].peak_bytes is None  # no accelerator
    if c["b"].host_peak_bytes is not None:  # Linux
        assert 60e6 < c["b"].host_peak_bytes < 300e6
        assert c["a"].host_peak_bytes < 30e6
        assert "peak memory, host" in repr(c)
        assert "peak memory, host" in c._repr_html_()
    assert "peak memory, device" not in repr(c)
    assert run(m, {"a": f})["a"].host_peak_bytes is None
