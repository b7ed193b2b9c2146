"""Times and fractions in the reader's language."""

from collections.abc import Callable
from math import inf, isfinite

from d2lhybrid.i18n import count, number

UNKNOWN = "?"
NEVER = inf  # calls after which a cold start is paid that no call makes up for
NEVER_MARK = "∞"
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def unit(value: float) -> tuple[str, float]:
    """The unit for a time in seconds and its size, such that three digits of it are below 1000.

    >>> unit(0.9994), unit(0.9996)
    (('ms', 0.001), ('s', 1.0))
    """
    rounded = float(f"{abs(value):.3g}")
    return next((one for one in UNITS if rounded >= one[1]), UNITS[-1])


def seconds(value: float) -> str:
    """A time with its unit.

    >>> seconds(2.34567e-05), seconds(0.5), seconds(83.2), seconds(0.9996)
    ('23.5 µs', '500 ms', '83.2 s', '1.00 s')
    """
    name, size = unit(value)
    return f"{number(value / size)} {name}" if value else "0 s"


def percent(value: float) -> str:
    """A fraction as percent, with two digits; "?" where it is not known.

    >>> percent(0.0123), percent(50), percent(float("inf"))
    ('1.2%', '> 1000%', '?')
    """
    if not isfinite(value):
        return UNKNOWN
    return f"{number(100 * value, 2)}%" if value < 10 else "> 1000%"


def calls(found: float | None) -> str:
    """The calls after which a cold start is paid, or the marks for never and not known.

    >>> calls(28566), calls(NEVER), calls(None)
    ('28,566', '∞', '?')
    """
    return UNKNOWN if found is None else NEVER_MARK if found == NEVER else count(found)


def span(low: float, high: float, show: Callable[[float], str] = number) -> tuple[str, str]:
    """The ends of an interval; both unknown where samples were too few for one.

    >>> span(1.25, 1.5), span(0, float("inf"))
    (('1.25', '1.50'), ('?', '?'))
    """
    known = low > 0 and isfinite(high)
    return (show(low), show(high)) if known else (UNKNOWN, UNKNOWN)
