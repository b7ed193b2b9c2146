"""What each layer of software adds to the time of a call, as steps from the fastest program up."""

from collections.abc import Sequence
from typing import Any

from d2lhybrid.report import remarks
from d2lhybrid.report.axes import GREY, beside, drawing, make_room, notes, rows, time_axis
from d2lhybrid.report.records import Comparison
from d2lhybrid.report.units import seconds, stamp
from d2lhybrid.report.verdicts import VERDICTS


def waterfall(c: Comparison, labels: Sequence[str], ax: Any = None, clock: str = "latency") -> Any:
    """A step for each label in order: a bar from the time before it to its own; returns the axes.

    The first bar is a time from 0; each other one is what its layer adds (to the right) or saves
    (to the left, hatched). Times are medians by the clock.
    """
    times = [c[label].median_of(clock) for label in labels]
    befores = [0.0, *times[:-1]]
    with drawing(ax, 1.3 + 0.42 * len(labels)) as ax:
        texts = []
        for row, (before, time) in enumerate(zip(befores, times, strict=True)):
            saves = time < before
            colour = VERDICTS["faster" if saves else "slower"].colour if row else GREY
            ax.barh(
                row, time - before, 0.62, before, color="none" if saves else colour,
                edgecolor=colour, hatch="////" if saves else None, alpha=0.75,
            )  # fmt: skip
            if row:  # a thread from the end of the step before
                ax.plot([before, before], [row - 1, row], color=GREY, linewidth=1, linestyle=":")
            said = f"{seconds(time)} ({_change(time - before)})" if row else seconds(time)
            texts.append(beside(ax, said, max(before, time), row))
        rows(ax, labels)
        ax.set_xlabel(remarks.clock_title(clock, c.clocks), fontsize="small")
        notes(ax, remarks.busy([c]), stamp(c.env, c.seed))
        make_room(ax, texts, 0.0)
        time_axis(ax.xaxis, 0.0, ax.get_xlim()[1], logarithmic=False)
    return ax


def _change(seconds_more: float) -> str:
    sign = "+" if seconds_more >= 0 else "−"
    return f"{sign}{seconds(abs(seconds_more))}"
