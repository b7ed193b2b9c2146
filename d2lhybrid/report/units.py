"""Times, fractions and the stamp of an environment, in the reader's language."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isfinite
from typing import TYPE_CHECKING

from d2lhybrid.frameworks import known
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import ngettext, number

if TYPE_CHECKING:
    from d2lhybrid.report.records import Environment

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


def span(low: float, high: float, show: Callable[[float], str] = number) -> tuple[str, str]:
    """The ends of an interval; both unknown where samples were too few for one.

    >>> span(1.25, 1.5), span(0, float("inf"))
    (('1.25', '1.50'), ('?', '?'))
    """
    known = low > 0 and isfinite(high)
    return (show(low), show(high)) if known else (UNKNOWN, UNKNOWN)


def stamp(env: Environment, seed: int | None = None) -> str:
    """Where and when, in one line."""
    names = {"python": "Python", **{one.name: one.display for one in known()}}
    shown = [name for name in env.versions if name not in ("numpy", "d2lhybrid")]
    parts = [env.date[:10], *(f"{names.get(name, name)} {env.versions[name]}" for name in shown)]
    parts += [env.cpu, *env.accelerators]
    parts.append(ngettext("{n} core", "{n} cores", env.cores).format(n=env.cores))
    for name, threads in env.threads.items():
        text = ngettext("{framework}: {n} thread", "{framework}: {n} threads", threads)
        parts.append(text.format(framework=names.get(name, name), n=threads))
    if env.governor:
        parts.append(_("governor {name}").format(name=env.governor))
    if env.load is not None:
        parts.append(_("load {load}").format(load=number(env.load, 2)))
    if seed is not None:
        parts.append(_("seed {seed}").format(seed=seed))
    return " · ".join(parts)
