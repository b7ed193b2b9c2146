"""A callable with its arguments: what is refused, and what its calls are waited for on."""

from time import perf_counter
from types import SimpleNamespace

import numpy as np
import pytest

from d2lhybrid.errors import ArgumentError, CallFailedError
from d2lhybrid.measurement import calling
from d2lhybrid.measurement.calling import Target, require_one_device


class Kept:
    """A tensor, or a model, of the library below, in these places."""

    def __init__(self, *places):
        self.places = set(places)

    def __array__(self):
        return np.zeros(0)

    def __call__(self):
        return self


class Waits:
    """Devices that note what they were waited for."""

    def __init__(self):
        self.waited = []

    def places(self, obj):
        return obj.places

    def is_tensor(self, obj):
        return isinstance(obj, Kept)

    def queues(self, obj):
        return True

    def start_events(self):
        return None

    def wait(self, output):
        self.waited.append(output)


@pytest.fixture
def devices(monkeypatch):
    """Those of the library that every Kept belongs to, beside another one that is loaded."""
    own = SimpleNamespace(tensors=Waits())
    found = {Kept: own}
    monkeypatch.setattr(calling, "owner", lambda *things: found.get(type(things[0])))
    monkeypatch.setattr(calling, "loaded", lambda: [own, SimpleNamespace(tensors=Waits())])
    monkeypatch.setattr(calling, "synchronize", lambda: None)
    return own.tensors


def target(function):
    return Target("mine", function, (), {}, perf_counter)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(ArgumentError) as caught:
        target(3)
    assert str(caught.value) == (
        "Expected something to call as 'mine'. Received: int. Hand over a function or a model."
    )


def test_before_the_first_call_nothing_is_known_of_the_work():
    made = target(Kept("cpu"))
    assert (made.devices, made.queues, made.effects) == ((), None, False)


def test_each_call_is_waited_for_by_its_output_on_the_devices_of_its_framework(devices):
    output = Kept("gpu:0")
    made = target(output)
    assert made.find_devices(output) is None
    assert made.devices == (devices,)
    assert made.queues is True
    made.seconds(2, each=True)
    assert devices.waited == [output] * 3  # and once more before the clock is read
    made.with_events(5)
    assert devices.waited == [output] * 4


def test_what_times_itself_is_waited_for_by_nobody_here(devices):
    output = Kept("gpu:0")
    output.timed = lambda calls, each: 0.25 * calls
    made = target(output)
    assert made.find_devices(output) is None
    assert made.devices == ()
    assert made.seconds(2) == 0.5
    assert devices.waited == []


def test_arguments_on_another_device_than_the_model_are_refused(devices):
    with pytest.raises(CallFailedError) as caught:
        require_one_device(Kept("gpu:1", "gpu:0"), (Kept("gpu:0"), Kept("disk", "cpu", "gpu:1")))
    assert str(caught.value) == (
        "Expected the arguments on gpu:0, gpu:1, where the model is. "
        "Received: argument 1 on cpu, disk. Move one to the other."
    )


@pytest.mark.parametrize(
    ("model", "args"),
    [
        (Kept("gpu:0", "cpu"), (Kept("cpu"), Kept("gpu:0"))),
        (Kept(), (Kept("cpu"),)),  # a model without weights is anywhere
        (Kept("cpu"), (Kept(),)),  # so is a scalar
        (len, (Kept("cpu"),)),  # a function of no framework
    ],
)
def test_arguments_that_may_be_where_the_model_is_are_let_through(devices, model, args):
    require_one_device(model, args)
