"""The same comparison over a range of sizes: where does compiling cease to matter?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from d2lhybrid.calls import Call, call, of_arguments
from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.measurement.comparing import compare
from d2lhybrid.measurement.variants import variants
from d2lhybrid.report.results import Comparison
from d2lhybrid.report.sweeps import Sweep


def sweep(
    make: Callable[[Any], tuple[Any, ...] | Call],
    sizes: Sequence[float],
    *,
    only: Sequence[str] | None = None,
    work: Callable[[Any], float] | None = None,
    time_limit: float = 10.0,
    progress: bool = True,
    **options: Any,
) -> Sweep:
    """Compare at each of `sizes`.

    Args:
        make: from a size to ``(net, x, ...)``, or to ``({"eager": f, "compiled": g}, x, ...)``, or
            to ``call(net, x, key=y)`` where there are keyword arguments.
        only: with a net, the names of its variants to take; all if None.
        work: from a size to what the plot shows it as, such as multiply-adds; the size if None.
        time_limit: seconds for each size, as for ``compare``, which takes `options` too.
        progress: show a bar for what takes longer than two seconds.

    Returns:
        A Sweep. An interrupt ends it with the sizes that are complete, or a first one cut short.

    Raises:
        ArgumentError: `sizes` is empty, or `only` names no variant.
        Otherwise what ``compare`` and ``variants`` raise.

    >>> import numpy as np
    >>> def make(size):
    ...     return {"Python": sum, "NumPy": np.sum}, np.ones(size)
    >>> points = sweep(make, [1_000, 100_000], progress=False)
    >>> [point.verdict("NumPy") for point in points.comparisons]
    ['faster', 'faster']
    """
    if not len(sizes):
        raise ArgumentError(_("Expected at least one size. Received: none."))
    done: list[Comparison] = []
    try:
        for size in tqdm(sizes, desc=_("sizes"), delay=2, leave=False, disable=not progress):
            made = make(size)
            first, *args = (made,) if isinstance(made, Call) else made
            model, given, kwargs = of_arguments(first, tuple(args), {})
            if not isinstance(model, Mapping):
                ways = variants(call(model, *given, **kwargs))  # type: ignore[arg-type]
                model = ways.only(*only) if only else ways
            limit = {"time_limit": time_limit, "progress": False, **options}
            done.append(compare(call(model, *given, **kwargs), **limit))
            if done[-1].stopped == "interrupted":
                done = done[:-1] or done  # a lone one is kept, though it was cut short
                break
    except KeyboardInterrupt:
        if not done:
            raise
    taken = list(sizes)[: len(done)]
    shown = [work(size) for size in taken] if work else taken
    return Sweep(_plain(taken), _plain(shown), tuple(done))


def _plain(values: Sequence[Any]) -> tuple[float, ...]:
    """Python's numbers for NumPy's, which JSON does not know."""
    return tuple(value.item() if hasattr(value, "item") else value for value in values)
