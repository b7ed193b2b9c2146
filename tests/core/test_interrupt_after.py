"""A block that ends after so many seconds, and one that ends before."""

import threading
from time import monotonic, sleep

import pytest

from d2lhybrid.core.interrupts import interrupt_after
from d2lhybrid.errors import ArgumentError


def spin():
    while True:
        pass


@pytest.mark.parametrize("block", [spin, lambda: sleep(60), threading.Event().wait])
def test_a_block_ends_at_its_limit(block):
    begin = monotonic()
    with interrupt_after(0.1) as limit:
        block()
    assert limit.is_exceeded
    assert monotonic() - begin < 20


@pytest.mark.parametrize("seconds", [None, 60.0, float("inf")])
def test_a_block_that_ends_before_is_not_interrupted(seconds):
    with interrupt_after(seconds) as limit:
        sleep(0.01)
    assert not limit.is_exceeded


def test_an_interrupt_of_the_user_is_theirs():
    with pytest.raises(KeyboardInterrupt), interrupt_after(60):
        raise KeyboardInterrupt


def test_an_interrupt_that_comes_late_arrives_inside():
    for _turn in range(20):  # the block ends at about the time of its limit
        with interrupt_after(0.01):
            sleep(0.0098)
    sleep(0.05)


def test_another_thread_has_no_limit():
    errors = []

    def enter():
        try:
            with interrupt_after(1.0):
                pass
        except ArgumentError as error:
            errors.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]
