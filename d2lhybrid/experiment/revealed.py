"""Several comparisons beside a reader's guesses: their rows as plain data, and a sentence for each.

``bars`` draws the same rows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real
from typing import Any

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import general, gettext as _, names, number, sentences
from d2lhybrid.display.table import NEVER, calls, percent, seconds
from d2lhybrid.experiment import text
from d2lhybrid.experiment.comparison import MIME, Comparison


@dataclass(frozen=True)
class Row:
    """A variant of a comparison. The ratio is above 1 if it is faster than the baseline.

    `low` and `high` are the ends of the ratio's interval, 0 and infinite if there are too few
    rounds for one. `pays_after` is the number of calls after which its cold start is paid off; None
    if it has none to speak of, if it never pays off, or if that is not known.
    """

    label: str
    verdict: str
    ratio: float
    low: float
    high: float
    seconds: float
    pays_after: float | None = None
    deprecated: bool = False

    @property
    def shown(self) -> str:
        """The label, with a word if it is deprecated."""
        return text.named(self.label, [self.label] if self.deprecated else [])


@dataclass(frozen=True)
class Group:
    """A comparison under its name: the baseline's time, the variants, and the reader's guess.

    The guess is how many times as fast as the baseline the fastest variant will be; None if there
    is none. `margin` is what counts as the same time, and `floor` the noise floor, as fractions.
    """

    name: str
    baseline: str
    seconds: float
    rows: tuple[Row, ...]
    margin: float
    floor: float
    guess: float | None = None

    @property
    def fastest(self) -> Row | None:
        """The variant with the highest ratio, beside which the guess is shown."""
        return max(self.rows, key=lambda row: row.ratio, default=None)


def groups(results: Mapping[str, Comparison], guess: Mapping[str, float]) -> list[Group]:
    """The rows of these comparisons, by latency, without references.

    Raises:
        ArgumentError: `results` is no dict of comparisons by name, or `guess` has a name that
            `results` has not, or something else than a number above 0.
    """
    _require_comparisons(results)
    if not isinstance(guess, Mapping):
        said = _("Expected a dict of guesses, such as {example}. Received: {kind}.")
        example = dict.fromkeys([*results][:1], 1.5)
        raise ArgumentError(said.format(example=example, kind=type(guess).__name__))
    for name, guessed in guess.items():
        _require_guess(name, guessed, results)
    return [_group(name, result, guess.get(name)) for name, result in results.items()]


def _require_comparisons(results: Any) -> None:
    example = '{"ResNet, batch 1": compare(variants(net, x), x)}'
    if not isinstance(results, Mapping) or not results:
        said = _("Expected a dict of comparisons by name, such as {example}. Received: {received}.")
        received = "{}" if isinstance(results, Mapping) else type(results).__name__
        raise ArgumentError(said.format(example=example, received=received))
    for name, result in results.items():
        if not isinstance(result, Comparison):
            said = _(
                "Expected what compare returns, such as {example}. Received: {kind} for {name!r}."
            )
            kind = type(result).__name__
            raise ArgumentError(said.format(example=example, kind=kind, name=name))


def _require_guess(name: str, guessed: Any, results: Mapping[str, Comparison]) -> None:
    if name not in results:
        said = _("Expected guesses for {names}. Received: one for {received!r}.")
        raise ArgumentError(said.format(names=names(map(repr, results)), received=name))
    is_number = isinstance(guessed, Real) and not isinstance(guessed, bool)
    if not is_number or not 0 < guessed < inf:
        said = _(
            "Expected a guess above 0, such as 1.5 for 1.5 times as fast. Received: "
            "{received!r} for {name!r}."
        )
        raise ArgumentError(said.format(received=guessed, name=name))


def _group(name: str, c: Comparison, guess: float | None) -> Group:
    rows = tuple(_row(c, label) for label in c.others)
    base = c[c.baseline].median
    return Group(str(name), c.baseline, base, rows, c.margin, c.noise_floor, guess)


def _row(c: Comparison, label: str) -> Row:
    pays = text.pay_off(c).get(label)
    pays = None if pays in (1, NEVER) else pays
    ratio, median = c.ratio(label), c[label].median
    return Row(label, c.verdict(label), *ratio, median, pays, label in c.deprecated)


def told(group: Group) -> Iterator[str]:
    """A sentence for each row, and what the reader guessed after that of the fastest."""
    for row in group.rows:
        guessed = ""
        if row is group.fastest and group.guess is not None:
            guessed = _("You guessed {guess}.").format(guess=general(group.guess))
        yield sentences(_sentence(group, row), guessed)


def _sentence(group: Group, row: Row) -> str:
    if row.verdict == "faster" and row.pays_after is not None:
        said = _(
            "{name}: {label} is {ratio} times as fast as {baseline} ({time} in place of {base}) "
            "and pays off its cold start after {calls} calls."
        )
    elif row.verdict == "faster":
        said = _(
            "{name}: {label} is {ratio} times as fast as {baseline} ({time} in place of {base})."
        )
    elif row.verdict == "slower":
        said = _(
            "{name}: {label} takes {times} times as long as {baseline} ({time} in place of {base})."
        )
    elif row.verdict == "same":
        said = _(
            "{name}: {label} takes the same time as {baseline} to within {margin} ({time} and "
            "{base})."
        )
    elif isfinite(row.high):
        said = _(
            "{name}: it is undecided whether {label} is faster than {baseline}. The ratio lies "
            "between {low} and {high}, with a noise floor of {floor}."
        )
    else:
        said = _(
            "{name}: it is undecided whether {label} is faster than {baseline}. There are too few "
            "rounds to decide it."
        )
    return said.format(
        name=group.name,
        label=row.shown,
        baseline=group.baseline,
        ratio=number(row.ratio),
        times=number(1 / row.ratio if row.ratio else inf),
        low=number(row.low),
        high=number(row.high),
        time=seconds(row.seconds),
        base=seconds(group.seconds),
        margin=percent(group.margin),
        floor=percent(group.floor),
        calls=calls(row.pays_after),
    )


@dataclass(frozen=True, repr=False)
class Revealed:
    """What stands below the picture: a sentence for each row, and the tables under *Details*."""

    groups: list[Group]
    comparisons: list[Comparison]

    def _said(self) -> list[str]:
        rows = [line for group in self.groups for line in told(group)]
        return [*rows, *text.not_run(self.comparisons)]

    def _pages(self) -> Iterator[tuple[str, text.Page]]:
        """The tables by name; that times are uncertain stands above the picture."""
        for group, c in zip(self.groups, self.comparisons, strict=True):
            yield group.name, text.comparison(c)._replace(busy="")

    def __repr__(self) -> str:
        tables = [f"{name}\n{page}" for name, page in self._pages()]
        return "\n\n".join(["\n".join(self._said()), *tables])

    def _repr_html_(self) -> str:
        tables = (text.lines("strong", name) + page.html_inside() for name, page in self._pages())
        return text.lines("span", *self._said()) + text.folded("<br>".join(tables))

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        named = zip(self.groups, self.comparisons, strict=True)
        summaries = {group.name: c.summary() for group, c in named}
        return {MIME: {"kind": "reveal", "comparisons": summaries}}
