"""What ``compare`` returns: what was measured, and what a reader asks of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, overload

import msgspec

from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.usage import written_as
from d2lhybrid.core.wording import option
from d2lhybrid.measuring.measurements import Measurements
from d2lhybrid.measuring.result import Result
from d2lhybrid.measuring.row import Rows
from d2lhybrid.showing.page import comparison_page
from d2lhybrid.showing.rows import rows_of

if TYPE_CHECKING:  # they load when a claim is made, or when a reader asks why
    from d2lhybrid.graphs.facts import Facts
    from d2lhybrid.measuring.claim import Claim
    from d2lhybrid.why.rules import Reason, Reasons

# What a result shows, for programs that read notebooks: the site, README, whoever collects them.
MIME = "application/vnd.d2lhybrid.comparison+json"
CLAIMS = "claim('compiled', 'faster')", "claim('compiled', 'faster', at_least=1.5)"


def misclaimed(given: Mapping[str, Any]) -> str:
    """What is wrong with a claim whose arguments are swapped; "" if they aren't."""
    from d2lhybrid.measuring.claim import SENSES

    is_swapped = given["label"] in SENSES and given["sense"] not in SENSES
    return _("The variant comes first, then what you claim.") if is_swapped else ""


class ComparisonSource(Protocol):
    """What a comparison came from, as far as it can take more rounds and answer questions."""

    def measure_on(self, decided: "Callable[[Comparison], bool]", /) -> "Comparison":
        """What was measured so far if `decided` is true of it, or else with more, for so long."""

    def ask(self, rows: Rows, /) -> "dict[str, Facts]":
        """What is observed of its compiled variants."""


@dataclass(frozen=True, repr=False)
class Comparison(Result, Measurements):
    """Several callables, measured in the same rounds; a mapping from label to Measurement.

    Its fields are those of ``Measurements``, and an `experiment`, which can take more rounds for an
    undecided claim and keeps the callables and their arguments for that. It isn't part of the data:
    equality, JSON, copies and pickles leave it out.

    `processes` are the comparisons of the fresh processes, if any were asked for. Then one-time
    costs are those of the first, and a ratio has one value per process: the median over its rounds.

    >>> from d2lhybrid import compare
    >>> functions = {"sum": sum, "max": max}
    >>> result = compare(functions, range(9), check=False, time_limit=0.3, progress=False)
    >>> list(result), result.baseline
    (['sum', 'max'], 'sum')
    >>> Comparison.from_json(result.to_json()) == result
    True
    """

    processes: "tuple[Comparison, ...]" = ()
    experiment: ComparisonSource | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Raise ValueError if rounds are missing, and make facts of what JSON has of them."""
        super().__post_init__()
        if not self.facts:
            return
        from d2lhybrid.graphs.facts import Facts

        for label, observed in self.facts.items():
            if not isinstance(observed, Facts):
                self.facts[label] = msgspec.convert(observed, Facts)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self.release())

    def __repr__(self) -> str:
        return str(comparison_page(self.rows))

    def _repr_html_(self) -> str:
        return comparison_page(self.rows).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        return {MIME: self.summary()}

    def _plain(self) -> dict[str, Any]:
        content: dict[str, Any] = msgspec.to_builtins(self.release())
        for each in (content, *content["processes"]):
            del each["experiment"]
        return content

    def _derived(self) -> dict[str, Any]:
        return {"summary": self.summary()}

    def release(self) -> "Comparison":
        """The same comparison without its experiment, so it keeps no models and inputs alive.

        Claims on it use only the rounds that were taken.
        """
        return replace(self, experiment=None)

    @cached_property
    def rows(self) -> Rows:
        """Everything that is shown: a row for each variant, and for each that was not run."""
        return rows_of(self)

    @written_as(*CLAIMS, check=misclaimed)
    def claim(
        self,
        label: str,
        sense: str,
        *,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> "Judgement":
        """Check a claim, such as "tf.function is faster", against what was measured.

        If the claim holds, a line says so: "✓ tf.function is faster than eager: 4.21 times." If it
        is undecided, and the comparison has its experiment, more rounds are taken, for up to three
        times the comparison's limit or 20 s, whichever is longer, but at most 30 times the limit;
        or in up to six processes, or three times as many if that is more. The line then says how
        many rounds or processes it took, because this comparison stays as it is, or that the claim
        is still undecided, and why. A terminal says meanwhile that it measures, unless the
        comparison had ``progress=False``. If other programs held a variant up, nothing contradicts
        a claim, and the line says so at once, unless there are fewer than six rounds or processes.

        Args:
            label: the variant.
            sense: 'faster', 'slower', 'same', 'not slower' or 'not faster'.
            at_least: how many times as fast it must be, or how many times as long it must take.
            against: the other variant; the baseline if None.
            metric: 'latency', 'throughput' or 'device'; the latency if None.

        Returns:
            A Judgement, with the comparison of all rounds that were taken for it.

        Raises:
            ClaimError: what was measured contradicts it.
            ArgumentError, UnknownLabelError: there is no such claim, metric or variant.
        """
        from d2lhybrid.experiments.judge import judge
        from d2lhybrid.measuring.claim import Claim

        measure_on = self.experiment.measure_on if self.experiment else None
        claim = Claim(label, sense, at_least, against, metric)
        return Judgement(claim, *judge(self, claim, measure_on))

    @overload
    def why(self, label: str) -> "Reason": ...

    @overload
    def why(self, label: None = None) -> "Reasons": ...

    @written_as("why()", "why('compiled')")
    def why(self, label: str | None = None) -> "Reason | Reasons":
        """What was observed of a compiled variant, in one line, and a cause if one is decisive.

        ``print(comparison.why("torch.compile"))`` prints both, and
        ``comparison.why("torch.compile").cause`` is a word for the cause: "not_compiled",
        "graph_break", "recompiled", "entering" or "faster_python", or "unknown" if the facts stand
        alone. If nobody has asked yet, this takes up to a second, and a process of its own if fresh
        processes have measured.

        Args:
            label: the variant; None for all compiled variants, with a line for each.

        Raises:
            UnknownLabelError: there is no such variant.
            ArgumentError: nothing was observed, and the variants are no longer there to ask.
        """
        if label is not None:
            self[label]  # raises if there is none
        if self.experiment is None and not self.facts:
            text = _(
                "Nothing was observed of these variants: none is compiled, or nobody asked while "
                "they could be called. Compare them with {why}."
            )
            raise ArgumentError(text.format(why=option("why", True)))
        from d2lhybrid.why.rules import reason, reasons

        rows = self.asked().rows
        if label is None:
            return reasons(rows)
        return reason(next(row for row in rows if row.label == label), rows)

    def asked(self) -> "Comparison":
        """The same comparison with what is observed of its variants, if that isn't known yet."""
        if self.experiment is None or self.facts:
            return self
        return replace(self, facts=self.experiment.ask(self.rows))

    @written_as("plot()", "plot(metric='throughput')")
    def plot(self, metric: str = "latency") -> Any:
        """Draw the times per call and their intervals with matplotlib, and return the axes.

        Args:
            metric: 'latency', 'throughput' or 'device'.
        """
        self[self.baseline].times.usable(metric)  # raises if there is none
        from d2lhybrid.showing import pictures

        return pictures.comparison(self.rows, metric)

    def to_frame(self) -> Any:
        """A pandas data frame with a row per variant; raises MissingPackageError without pandas.

        Times are in seconds per call, and ratios above 1 are faster. The columns are the fields of
        a row in ``summary``, which docs/results-schema.md describes.
        """
        from d2lhybrid.core.toolchain import require

        frame = require("pandas", "notebooks").DataFrame(self.summary()["rows"]).set_index("label")
        frame.loc[self.baseline, "verdict"] = "baseline"
        return frame

    def summary(self) -> dict[str, Any]:
        """What the table shows, as plain data (docs/results-schema.md)."""
        from d2lhybrid.showing.rows import summary

        return summary(self.rows)


@dataclass(frozen=True, repr=False)
class Judgement:
    """The outcome of a claim, 'holds' or 'undecided', and the comparison that it was judged by.

    If the claim needed more rounds, that comparison has them. A notebook doesn't show a judgement,
    because the line about it was already shown.
    """

    claim: "Claim"
    outcome: str
    comparison: "Comparison"

    def __repr__(self) -> str:
        claim = self.claim
        return f"Judgement({claim.label!r}, {claim.sense!r}, {self.outcome!r})"

    def _ipython_display_(self) -> None:
        """Show nothing."""


class Judgements(tuple[Judgement, ...]):
    """The judgements of a claim at several sizes; a notebook doesn't show these either."""

    def _ipython_display_(self) -> None:
        """Show nothing."""
