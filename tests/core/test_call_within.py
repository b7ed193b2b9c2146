"""A call that ends after so many seconds, and one that ends before."""

import signal
import threading
from contextlib import suppress
from time import monotonic, sleep

import pytest

from d2lhybrid.core.interrupts import LimitExceeded, call_within
from d2lhybrid.errors import ArgumentError


def spin():
    while True:
        pass


def interrupt():
    raise KeyboardInterrupt


def swallow():
    with suppress(KeyboardInterrupt):
        spin()
    return "result"


def turn_into_another_error():
    try:
        spin()
    except KeyboardInterrupt:
        raise ValueError("the compiler was stopped") from None


ENDLESS = [spin, lambda: sleep(60), threading.Event().wait, swallow, turn_into_another_error]


@pytest.mark.parametrize("function", ENDLESS)
def test_a_call_ends_at_its_limit_whatever_it_makes_of_the_interrupt(function):
    begin = monotonic()
    with pytest.raises(LimitExceeded):
        call_within(0.1, function)
    assert monotonic() - begin < 20


@pytest.mark.parametrize("seconds", [None, 60.0, float("inf")])
def test_a_call_that_ends_before_is_not_interrupted(seconds):
    assert call_within(seconds, lambda: "result") == "result"


def test_an_interrupt_of_the_user_and_an_error_are_theirs():
    with pytest.raises(KeyboardInterrupt):
        call_within(60, interrupt)
    with pytest.raises(ZeroDivisionError):
        call_within(60, lambda: 1 / 0)


@pytest.mark.parametrize("seconds", [0.0098, 0.01])
def test_a_call_that_ends_at_about_its_limit_has_its_result_or_the_limit(seconds):
    for _turn in range(20):
        try:
            assert call_within(seconds, lambda: sleep(0.0098) or "result") == "result"
        except LimitExceeded:
            continue
    sleep(0.05)


def test_a_limit_that_is_over_as_the_call_begins():
    for _turn in range(50):
        with pytest.raises(LimitExceeded):
            call_within(1e-9, lambda: sleep(10))
    sleep(0.05)


def test_the_limit_is_written_as_the_language_does(monkeypatch):
    monkeypatch.setenv("D2LHYBRID_LANGUAGE", "pt")
    with pytest.raises(LimitExceeded, match=r"^0,05$"):
        call_within(0.05, spin)


def test_another_thread_has_no_limit():
    errors = []

    def enter():
        try:
            call_within(1.0, lambda: None)
        except ArgumentError as error:
            errors.append(str(error))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN, lambda *_: None])
def test_whatever_handles_interrupts_the_limit_holds(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(LimitExceeded):
            call_within(0.05, spin)
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_alarm_of_the_program_is_put_off_and_not_lost():
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        assert call_within(60, lambda: sleep(0.3) or "result") == "result"
        assert not rung
        sleep(0.3)
        assert rung
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
