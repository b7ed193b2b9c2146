"""What stands below the bars: a sentence for each, and the tables under *Details*."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

from d2lhybrid.core.i18n import general, gettext as _, number, sentences
from d2lhybrid.core.table import NEVER, percent, seconds
from d2lhybrid.experiments.comparison import MIME
from d2lhybrid.measuring.row import Row, Rows, fastest
from d2lhybrid.showing.page import Page, comparison_page, folded, lines
from d2lhybrid.showing.remarks import warnings
from d2lhybrid.showing.rows import summary
from d2lhybrid.showing.verdicts import not_run
from d2lhybrid.why.rules import reasons as reasons_of


@dataclass(frozen=True, repr=False)
class Revealed:
    """What stands below the picture: a sentence for each row, and the tables under *Details*."""

    comparisons: Mapping[str, Rows]
    guess: Mapping[str, float]

    def _sentences(self) -> list[str]:
        said = warnings([*self.comparisons.values()])
        for name, rows in self.comparisons.items():
            said += sentences_of(name, rows, self.guess.get(name))
        return [*said, *not_run(row for rows in self.comparisons.values() for row in rows)]

    def _pages(self) -> Iterator[tuple[str, Page]]:
        """The tables by name, without what stands above the picture and in the sentences."""
        for name, rows in self.comparisons.items():
            yield name, comparison_page(rows)._replace(cautions=[], reasons=[])

    def __repr__(self) -> str:
        tables = [f"{name}\n{page}" for name, page in self._pages()]
        return "\n\n".join(["\n".join(self._sentences()), *tables])

    def _repr_html_(self) -> str:
        tables = (lines("strong", name) + page.html_inside() for name, page in self._pages())
        return lines("span", *self._sentences()) + folded("<br>".join(tables))

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        summaries = {name: summary(rows) for name, rows in self.comparisons.items()}
        busy = any(rows.measurements.busy for rows in self.comparisons.values())
        return {MIME: {"kind": "reveal", "comparisons": summaries, "busy": busy}}


def sentences_of(name: str, rows: Rows, guess: float | None) -> Iterator[str]:
    """A sentence for each variant with its reason, and the guess after that of the fastest."""
    reasons = {reason.label: str(reason) for reason in reasons_of(rows)}
    if why := reasons.get(rows.baseline.label):
        yield f"{name}: {why}"
    for row in rows.variants:
        guessed = ""
        if row is fastest(rows.variants) and guess is not None:
            guessed = _("You guessed {guess}.").format(guess=general(guess))
        busy = _("The machine was busy meanwhile.") if row.latency.bound_while_busy else ""
        yield sentences(_sentence(name, row, rows), busy, guessed, reasons.get(row.label, ""))


def _sentence(name: str, row: Row, rows: Rows) -> str:
    times = row.latency
    low, high = times.interval
    return _template(row, rows).format(
        name=name,
        label=row.name,
        baseline=rows.baseline.label,
        ratio=times.shown_ratio,
        times=times.shown_inverse,
        low=number(low),
        high=number(high),
        time=seconds(times.seconds),
        base=seconds(rows.baseline.latency.seconds),
        margin=percent(rows.measurements.margin),
        floor=percent(rows.measurements.noise_floor),
        calls=row.calls_to_pay,
    )


def _template(row: Row, rows: Rows) -> str:
    """The sentence that fits the verdict."""
    times = row.latency
    pays_late = rows.says_calls_to_pay(row) and row.pays_after not in (None, 1, NEVER)
    if times.verdict == "faster" and pays_late:
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
    if rows.processes:
        return _(
            "{name}: it is undecided whether {label} is faster than {baseline}. There are too few "
            "processes to decide it."
        )
    return _(
        "{name}: it is undecided whether {label} is faster than {baseline}. There are too few "
        "rounds to decide it."
    )
