"""What stands below the bars: a sentence for each, and the tables under *Details*."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any

from d2lhybrid.core.i18n import general, gettext as _, number, sentences
from d2lhybrid.core.table import percent, seconds
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.showing.cautions import warnings
from d2lhybrid.showing.page import Page, comparison_page, folded, lines
from d2lhybrid.showing.summary import summary
from d2lhybrid.showing.verdicts import not_run
from d2lhybrid.teaching.groups import Group
from d2lhybrid.verbs.comparison import MIME


@dataclass(frozen=True, repr=False)
class Revealed:
    """What stands below the picture: a sentence for each row, and the tables under *Details*."""

    groups: list[Group]
    comparisons: list[Rows]

    def _sentences(self) -> list[str]:
        of_groups = [line for group in self.groups for line in sentences_of(group)]
        return [
            *warnings(self.comparisons),
            *of_groups,
            *not_run(row for rows in self.comparisons for row in rows),
        ]

    def _pages(self) -> Iterator[tuple[str, Page]]:
        """The tables by name, without what stands above the picture and in the sentences."""
        for group, rows in zip(self.groups, self.comparisons, strict=True):
            yield group.name, comparison_page(rows)._replace(cautions=[], reasons=[])

    def __repr__(self) -> str:
        tables = [f"{name}\n{page}" for name, page in self._pages()]
        return "\n\n".join(["\n".join(self._sentences()), *tables])

    def _repr_html_(self) -> str:
        tables = (lines("strong", name) + page.html_inside() for name, page in self._pages())
        return lines("span", *self._sentences()) + folded("<br>".join(tables))

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        named = zip(self.groups, self.comparisons, strict=True)
        summaries = {group.name: summary(rows) for group, rows in named}
        busy = any(rows.measurements.busy for rows in self.comparisons)
        return {MIME: {"kind": "reveal", "comparisons": summaries, "busy": busy}}


def sentences_of(group: Group) -> Iterator[str]:
    """A sentence for each row with its reason, and the guess after that of the fastest."""
    if why := group.reasons.get(group.baseline.label):
        yield f"{group.name}: {why}"
    for row in group.rows:
        guessed = ""
        if row is group.fastest and group.guess is not None:
            guessed = _("You guessed {guess}.").format(guess=general(group.guess))
        busy = _("The machine was busy meanwhile.") if row.latency.while_busy else ""
        yield sentences(_sentence(group, row), busy, guessed, group.reasons.get(row.label, ""))


def _sentence(group: Group, row: Row) -> str:
    times = row.latency
    low, high = times.interval
    return _template(row, group.processes).format(
        name=group.name,
        label=row.name,
        baseline=group.baseline.label,
        ratio=times.shown_ratio,
        times=times.shown_inverse,
        low=number(low),
        high=number(high),
        time=seconds(times.seconds),
        base=seconds(group.baseline.latency.seconds),
        margin=percent(group.margin),
        floor=percent(group.floor),
        calls=row.calls_to_pay,
    )


def _template(row: Row, processes: int) -> str:
    """The sentence that fits the verdict."""
    times = row.latency
    if times.verdict == "faster" and row.pays_after is not None:
        return _(
            "{name}: {label} is {ratio} times as fast as {baseline} ({time} instead of {base}) "
            "and pays off its cold start after {calls} calls."
        )
    if times.verdict == "faster":
        return _(
            "{name}: {label} is {ratio} times as fast as {baseline} ({time} instead of {base})."
        )
    if times.verdict == "slower":
        return _(
            "{name}: {label} takes {times} times as long as {baseline} ({time} instead of {base})."
        )
    if times.verdict == "same":
        return _(
            "{name}: {label} takes the same time as {baseline} to within {margin} ({time} and "
            "{base})."
        )
    if row.is_busy:
        return _(
            "{name}: it is undecided whether {label} is faster than {baseline}, because other "
            "programs held them up."
        )
    if times.is_not_faster:
        return _(
            "{name}: {label} isn't faster than {baseline}. The ratio lies between {low} and "
            "{high}, with a noise floor of {floor}."
        )
    if isfinite(times.interval[1]):
        return _(
            "{name}: it is undecided whether {label} is faster than {baseline}. The ratio lies "
            "between {low} and {high}, with a noise floor of {floor}."
        )
    if processes:
        return _(
            "{name}: it is undecided whether {label} is faster than {baseline}. There are too few "
            "processes to decide it."
        )
    return _(
        "{name}: it is undecided whether {label} is faster than {baseline}. There are too few "
        "rounds to decide it."
    )
