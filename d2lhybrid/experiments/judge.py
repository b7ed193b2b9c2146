"""Claims: a line if what a text says of a comparison holds, an error if it is contradicted."""

from collections.abc import Callable
from typing import TypeVar

from d2lhybrid.core.errors import ClaimError
from d2lhybrid.core.i18n import sentences
from d2lhybrid.core.progress import ipython
from d2lhybrid.measuring.claim import Claim
from d2lhybrid.measuring.measurements import Measurements
from d2lhybrid.measuring.provenance import stamp
from d2lhybrid.showing.claim_sentences import contradicted, expected, held, needed_more, undecided

# Of what a claim shows. It depends on the machine, so tests leave it out: that the claim is
# undecided, or that it holds.
UNDECIDED = "application/vnd.d2lhybrid.undecided+json"
DECIDED = "application/vnd.d2lhybrid.decided+json"

# A comparison, which imports this.
C = TypeVar("C", bound=Measurements)


def judge(
    comparison: C, claim: Claim, measure_on: Callable[[Callable[[C], bool]], C] | None
) -> tuple[str, C]:
    """Show a line if it holds, raise if it is contradicted; otherwise measure on, and say so.

    While other programs hold it up, nothing more is measured, because that is held up as well.

    Args:
        comparison: what was measured.
        claim: what is said of it.
        measure_on: takes more rounds until what was measured satisfies a question, or for so long;
            None if there are no more.

    Returns:
        'holds' or 'undecided', and what it was judged by, which has the rounds taken for it.

    Raises:
        ClaimError: the interval contradicts the claim.
        ArgumentError, UnknownLabelError: there is no such metric or variant.
    """

    def is_over(so_far: C) -> bool:
        is_busy = so_far.has_interval and so_far.is_busy(claim.label, claim.against)
        return is_busy or claim.judged(so_far) != "undecided"

    before = comparison
    if measure_on is not None and not is_over(comparison):
        comparison = measure_on(is_over)
    outcome = claim.judged(comparison)
    if outcome == "contradicted":
        message = sentences(expected(claim, comparison), contradicted(claim, comparison))
        raise ClaimError(f"{message}\n{stamp(comparison.env, comparison.seed)}", claim=claim)
    if outcome == "undecided":
        _show(
            claim,
            sentences(expected(claim, comparison), undecided(claim, comparison)),
            UNDECIDED,
            busy=comparison.is_busy(claim.label, claim.against),
        )
    else:
        more = "" if comparison is before else needed_more(comparison, before)
        _show(claim, sentences(held(claim, comparison), more), DECIDED)
    return outcome, comparison


def _show(claim: Claim, line: str, kind: str, **more: bool) -> None:
    """Print it; in a notebook as an output of a separate type, which tests leave out."""
    if ipython() is None:
        print(line)
        return
    from IPython.display import publish_display_data

    about = {"label": claim.label, "claim": claim.sense, **more}
    publish_display_data({"text/plain": line, kind: about})
