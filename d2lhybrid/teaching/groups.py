"""Several comparisons beside a reader's guesses: their rows, a picture, a sentence for each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from numbers import Real
from typing import Any

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import general, gettext as _, number, sentences
from d2lhybrid.core.table import NEVER, percent, seconds
from d2lhybrid.measuring.row import Row, Rows
from d2lhybrid.showing import bars, pictures
from d2lhybrid.showing.cautions import warnings
from d2lhybrid.showing.summary import summary
from d2lhybrid.showing.text import Page, comparison_page, folded, lines
from d2lhybrid.showing.verdicts import VERDICTS, not_run, verdict_in_words
from d2lhybrid.teaching.guesses import require_guesses
from d2lhybrid.verbs.comparison import MIME, Comparison
from d2lhybrid.why.rules import reasons as reasons_of

_SHOWN_BY_SIDE = ("faster", "slower")  # verdicts that the side of a bar shows


@dataclass(frozen=True)
class Group:
    """A comparison under its name: the baseline, the variants, and the reader's guess.

    The guess is how many times as fast as the baseline the fastest variant will be; None if there
    is none. `margin` is what counts as the same time, and `floor` the noise floor, as fractions.
    `reasons` are sentences by label: why a row takes its time.
    """

    name: str
    baseline: Row
    rows: tuple[Row, ...]
    rounds: int
    processes: int
    margin: float
    floor: float
    guess: float | None = None
    reasons: Mapping[str, str] = field(default_factory=dict, hash=False)  # pictures are cached

    @property
    def fastest(self) -> Row | None:
        """The variant with the highest ratio, whose sentence the guess follows."""
        return max(self.rows, key=lambda row: row.latency.ratio, default=None)


def groups(results: Mapping[str, Comparison], guess: Mapping[str, float]) -> list[Group]:
    """The rows of these comparisons, by latency, without references.

    Raises:
        ArgumentError: `results` is no dict of comparisons by name, or `guess` has a name that
            `results` has not, or something else than a number above 0.
    """
    _require_comparisons(results)
    require_guesses(guess, results, example=1.5)
    for name, guessed in guess.items():
        _require_ratio(name, guessed)
    return [_group(str(name), c.rows, guess.get(name)) for name, c in results.items()]


def _require_comparisons(results: Any) -> None:
    example = '{"ResNet, batch 1": compare(net, x)}'
    if not isinstance(results, Mapping) or isinstance(results, Comparison) or not results:
        message = _(
            "Expected a dict of comparisons, words or numbers by name, such as {example}. "
            "Received: {received}."
        )
        received = "{}" if results == {} else type(results).__name__
        raise ArgumentError(message.format(example=example, received=received))
    for name, result in results.items():
        if not isinstance(result, Comparison):
            message = _(
                "Expected what compare returns, such as {example}. Received: {kind} for {name!r}."
            )
            kind = type(result).__name__
            raise ArgumentError(message.format(example=example, kind=kind, name=name))


def _require_ratio(name: str, guessed: Any) -> None:
    is_number = isinstance(guessed, Real) and not isinstance(guessed, bool)
    if not is_number or not 0 < guessed < inf:
        message = _(
            "Expected a guess above 0, such as 1.5 for 1.5 times as fast. Received: "
            "{received!r} for {name!r}."
        )
        raise ArgumentError(message.format(received=guessed, name=name))


def _group(name: str, rows: Rows, guess: float | None) -> Group:
    variants = tuple(_without_early_pay_off(row, rows) for row in rows.variants)
    circumstances = rows.rounds, rows.processes, rows.margin, rows.noise_floor
    reasons = {reason.label: str(reason) for reason in reasons_of(rows)}
    return Group(name, rows.baseline, variants, *circumstances, guess, reasons)


def _without_early_pay_off(row: Row, rows: Rows) -> Row:
    """The row as a sentence has it: a cold start that nobody feels is not spoken of."""
    is_spoken_of = rows.cold_start_is_felt and row.pays_after not in (1, NEVER)
    return row if is_spoken_of else replace(row, pays_after=None)


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
        verdict=verdict_in_words(times, group.rounds, group.processes),
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
    if times.in_each:
        return _("{name}: {label} against {baseline}: {verdict} ({time} instead of {base}).")
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


def picture(groups: Sequence[Group], comparisons: Sequence[Rows] = ()) -> Any:
    """A bar for each variant of each group, and the guesses; returns the axes.

    The comparisons are those of the groups: the figure says where and when they ran, and whether
    their times are uncertain. Without them, whoever shows the figure has to say that.
    """
    return bars.draw([*map(_bars, groups)], pictures.notes(comparisons))


def picture_in_words(groups: Sequence[Group]) -> str:
    """This picture for those who don't see it."""
    return bars.in_words([*map(_bars, groups)])


def _bars(group: Group) -> bars.Group:
    base = seconds(group.baseline.latency.seconds)
    of_rows = tuple(_bar(row) for row in group.rows)
    return bars.Group(group.name, group.baseline.label, base, of_rows, group.guess)


def _bar(row: Row) -> bars.Bar:
    """Its text has ratio and time, and the verdict unless the side of the bar shows it."""
    times = row.latency
    verdict = VERDICTS[times.shown_verdict]
    word = "" if times.shown_verdict in _SHOWN_BY_SIDE else f", {_(verdict.word)}"
    return bars.Bar(
        label=row.name,
        ratio=times.ratio,
        text=f"{times.shown_ratio}× ({seconds(times.seconds)}{word})",
        colour=verdict.colour,
        is_undecided=times.shown_verdict == "undecided",
    )


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
        busy = any(rows.busy for rows in self.comparisons)
        return {MIME: {"kind": "reveal", "comparisons": summaries, "busy": busy}}
