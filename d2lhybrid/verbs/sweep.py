"""The same comparison over a range of sizes: when does compiling stop mattering?"""

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from time import perf_counter
from typing import Any

from d2lhybrid.backends.failures import wrap_call_errors
from d2lhybrid.backends.owners import is_model
from d2lhybrid.core.arguments import Call, parameters_of
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.progress import show_progress
from d2lhybrid.core.usage import written_as
from d2lhybrid.core.wording import kind_of, name_of
from d2lhybrid.experiments.comparison import (
    CLAIMS,
    MIME,
    Comparison,
    Judgement,
    Judgements,
    misclaimed,
)
from d2lhybrid.experiments.judge import judge
from d2lhybrid.measuring.claim import Claim
from d2lhybrid.measuring.result import Result
from d2lhybrid.measuring.row import Rows
from d2lhybrid.showing.page import sweep_page
from d2lhybrid.timing import TimerFunction
from d2lhybrid.verbs.callables import call_of
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.variants import variants
from d2lhybrid.verbs.ways import Variants


@dataclass(frozen=True, repr=False)
class Sweep(Result):
    """The same comparison over a range of sizes.

    >>> import numpy as np
    >>> from d2lhybrid import sweep
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], time_limit=1, progress=False)
    >>> points.sizes
    (1000, 100000)
    """

    sizes: tuple[int | float, ...]
    comparisons: tuple[Comparison, ...]
    name: str = ""  # what the sizes are called, such as "batch"; "" if nobody has named them

    def __post_init__(self) -> None:
        """Raise ValueError unless there is one comparison a size."""
        if not len(self.comparisons) == len(self.sizes) > 0:
            raise ValueError(_("rounds are missing"))

    def __repr__(self) -> str:
        return str(sweep_page(self.sizes, self.rows, self.name))

    def _repr_html_(self) -> str:
        return sweep_page(self.sizes, self.rows, self.name).html()

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, Any]:
        comparisons = [each.summary() for each in self.comparisons]
        busy = any(each.busy for each in self.comparisons)
        shown = {"sizes": list(self.sizes), "comparisons": comparisons, "busy": busy}
        return {MIME: {"kind": "sweep", **shown}}

    def _plain(self) -> dict[str, Any]:
        comparisons = [comparison._plain() for comparison in self.comparisons]
        return {"sizes": list(self.sizes), "comparisons": comparisons, "name": self.name}

    @property
    def rows(self) -> list[Rows]:
        """The rows of the comparison at each size."""
        return [comparison.rows for comparison in self.comparisons]

    @written_as(*CLAIMS, check=misclaimed)
    def claim(
        self,
        label: str,
        sense: str,
        *,
        size: float | None = None,
        at_least: float | None = None,
        against: str | None = None,
        metric: str | None = None,
    ) -> Judgements:
        """Like ``Comparison.claim``, at one size, or at all sizes with a line for each."""
        if size is not None and size not in self.sizes:
            text = _("Expected a size among {known}. Received: {received!r}.")
            known = ", ".join(map(str, self.sizes))
            raise ArgumentError(text.format(known=known, received=size))
        claimed = [  # all are made before the first is judged, so a wrong one shows no line
            (Claim(label, sense, at_least, against, metric, each), comparison)
            for each, comparison in zip(self.sizes, self.comparisons, strict=True)
            if size is None or each == size
        ]
        return Judgements(
            Judgement(claim, *judge(comparison, claim, None)) for claim, comparison in claimed
        )

    def plot(self, *, xlabel: str = "") -> Any:
        """Draw the time per call against the size, and return the axes.

        Args:
            xlabel: what the sizes are; their name if empty.
        """
        from d2lhybrid.showing import pictures

        return pictures.sweep(self.sizes, self.rows, xlabel or self.name)


def _misused(given: Mapping[str, Any]) -> str:
    make = given["make"]
    if not callable(make) or is_model(make):
        text = _("{kind} takes no size: first comes a function of the size, then the sizes.")
        return text.format(kind=kind_of(make))
    if isinstance(given.get("only"), str):
        return _("{option} is a list of names.").format(option="only")
    return ""


@written_as("sweep(lambda size: (net, inputs(size)), [1, 8, 64])", check=_misused)
def sweep(
    make: Callable[[Any], tuple[Any, ...] | Call | Variants],
    /,
    sizes: Iterable[float],
    *,
    only: Sequence[str] | None = None,
    baseline: str | None = None,
    check: bool | float = True,
    time_limit: float = 10.0,
    build_timeout: float | None = None,
    seed: int | None = None,
    processes: int | None = None,
    threads: int | None = None,
    why: bool = False,
    progress: bool | None = None,
    timer: TimerFunction = perf_counter,
) -> Sweep:
    """Compare at each of `sizes`.

    Args:
        make: takes a size and returns what ``compare`` gets: ``(net, x, ...)``, ``({"eager": f,
            "compiled": g}, x, ...)``, ``call(net, x, key=y)`` if there are keyword arguments, or
            what ``variants`` or ``training`` returns. The name of its parameter heads the sizes.
        only: the names of the variants, or functions, to compare; all if None.
        time_limit: seconds for each size, as for ``compare``.
        why: find the reasons at each size, as ``compare`` does by default.
        baseline, check, build_timeout, seed, processes, threads, progress, timer: as for
            ``compare``.

    Returns:
        A Sweep, which holds only numbers: its claims measure nothing more. An interrupt ends it
        with the sizes measured so far, the last one cut short.

    Raises:
        ArgumentError: `make` isn't a function but a model or variants, or returns something else;
            `sizes` is empty or contains something that isn't a number; there is no such option.
        UnknownLabelError: `only` names no variant.
        CallFailedError: `make` raised.
        Otherwise what ``compare`` and ``variants`` raise.

    >>> import numpy as np
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], progress=False)
    >>> points.sizes, points.comparisons[0].baseline
    ((1000, 100000), 'Python')
    """
    numbers = _numbers(sizes)
    seed = secrets.randbits(32) if seed is None else seed  # one for all sizes, which the page names
    done: list[Comparison] = []
    try:
        for size in show_progress(numbers, N_("sizes"), progress):
            with wrap_call_errors(name_of(make), (size,)):
                returned = make(size)
            compared = compare(
                _what(returned, only),
                baseline=baseline,
                check=check,
                time_limit=time_limit,
                build_timeout=build_timeout,
                seed=seed,
                processes=processes,
                threads=threads,
                why=why,
                progress=progress,
                timer=timer,
            )
            done.append(compared.release())  # lets go of the models and inputs of this size
            if done[-1].stopped == "interrupted":
                break
    except KeyboardInterrupt:
        if not done:
            raise
    return Sweep(tuple(numbers[: len(done)]), tuple(done), _size_name(make))


def _size_name(make: Callable[..., Any]) -> str:
    """What `make` calls a size, such as "batch"; "" if that is ``_``, or one of ``*args``."""
    first = next(iter(parameters_of(make)), None)
    if first is None or first.kind is first.VAR_POSITIONAL:
        return ""
    return first.name.strip("_")


def _numbers(sizes: Any) -> list[int | float]:
    """The sizes as Python's numbers, because JSON doesn't know NumPy's.

    Raises:
        ArgumentError: there is none, or one that is no number.
    """
    numbers = [*sizes] if isinstance(sizes, Iterable) else []
    numbers = [
        size.item() if hasattr(size, "item") and getattr(size, "ndim", 0) == 0 else size
        for size in numbers
    ]
    if not numbers or not all(isinstance(size, int | float) and isfinite(size) for size in numbers):
        text = _("Expected sizes, at least one, such as {example}. Received: {received}.")
        raise ArgumentError(text.format(example=[1, 8, 64], received=kind_of(numbers or sizes)))
    return numbers


def _what(returned: Any, only: Sequence[str] | None) -> Call:
    """What ``compare`` gets at one size.

    Args:
        returned: what `make` returned.
        only: as for ``sweep``.
    """
    called = call_of(returned)
    if called is None:
        text = _("Expected {example} from make. Received: {kind}. Let it return a tuple.")
        raise ArgumentError(text.format(example="(net, x)", kind=kind_of(returned)))
    if only is None:
        return called
    ways = called.function
    if isinstance(ways, Variants):
        return replace(called, function=ways.only(*only))
    if isinstance(ways, Mapping):
        return Call.of(Variants(ways, called.args, called.kwargs).only(*only))
    return Call.of(variants(called).only(*only))
