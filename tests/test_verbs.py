"""What stands around every verb: one runs at a time, and a verb may be called inside another."""

import random
import threading
from itertools import pairwise

import numpy as np
import pytest

from d2lhybrid import compare, load, measure, save

QUICK = {"time_limit": 0.02, "progress": False}


def in_threads(*functions):
    """Call each in a thread of its own, to its end; what they raised."""
    raised = []

    def run(function):
        try:
            function()
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(each,), daemon=True) for each in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    return raised


def test_verbs_of_two_threads_run_one_after_the_other():
    calls = []

    def callable_of(thread):
        return lambda: calls.append(thread)

    def verb_of(thread):
        return lambda: measure(callable_of(thread), time_limit=0.02, progress=False)

    assert not in_threads(*map(verb_of, "ab"))
    changes = sum(before != after for before, after in pairwise(calls))
    assert ({*calls}, changes) == ({"a", "b"}, 1)


def test_a_verb_may_be_called_by_what_another_one_calls():
    inside = []

    def measures(x):
        inside.append(measure(sum, [1, 2], time_limit=0.001, progress=False))
        return x

    assert list(compare({"a": measures}, 1.0, **QUICK)) == ["a"]
    assert inside


def test_a_loaded_model_is_called_while_a_verb_runs(tmp_path):
    torch = pytest.importorskip("torch")
    net, x = torch.nn.Linear(3, 2).eval(), torch.ones(1, 3)
    save(net, tmp_path / "net", x)
    model, outputs = load(tmp_path / "net"), []

    def waits_for_a_thread_that_calls_it():
        assert not in_threads(lambda: outputs.append(model(x)))

    measure(waits_for_a_thread_that_calls_it, **QUICK)
    assert torch.equal(outputs[0], net(x))


def test_random_numbers_of_a_verb_inside_another_are_put_back():
    def draws(x):
        measure(random.random, time_limit=0.001, progress=False)
        return x + np.random.random()

    before = repr((random.getstate(), np.random.get_state()))
    compare({"a": draws}, 1.0, check=False, **QUICK)
    assert repr((random.getstate(), np.random.get_state())) == before
