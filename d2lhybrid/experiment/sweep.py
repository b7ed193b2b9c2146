"""The same comparison over a range of sizes: when does compiling stop mattering?"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

from d2lhybrid.core.arguments import Call, call, name_of, options_of
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _, noop as N_
from d2lhybrid.core.usage import kind_of, usage
from d2lhybrid.display.progress import show_progress
from d2lhybrid.experiment.compare import compare
from d2lhybrid.experiment.comparison import Comparison, Sweep
from d2lhybrid.experiment.variants import variants
from d2lhybrid.frameworks import is_model
from d2lhybrid.frameworks.checks import require_options
from d2lhybrid.frameworks.failures import wrap_call_errors


def _misused(make: Any, sizes: Any, *, only: Any = None, **_options: Any) -> str:
    if not callable(make) or is_model(make):
        text = _("{kind} takes no size: first comes a function of the size, then the sizes.")
        return text.format(kind=kind_of(make))
    if isinstance(only, str):
        return _("{option} is a list of names.").format(option="only")
    return ""


@usage("sweep(lambda size: (net, inputs(size)), [1, 8, 64])", check=_misused)
def sweep(
    make: Callable[[Any], tuple[Any, ...] | Call],
    /,
    sizes: Iterable[float],
    *,
    only: Sequence[str] | None = None,
    time_limit: float = 10.0,
    progress: bool | None = None,
    **options: Any,
) -> Sweep:
    """Compare at each of `sizes`.

    Args:
        make: takes a size and returns ``(net, x, ...)``, or
            ``({"eager": f, "compiled": g}, x, ...)``, or ``call(net, x, key=y)`` if there are
            keyword arguments.
        only: with a net, the names of its variants to compare; all if None.
        time_limit: seconds for each size, as for ``compare``.
        progress: say what is being built, and count what takes longer than two seconds; None does
            so if the standard error is a terminal.
        options: other options of ``compare``, and, with a net, of ``variants``, such as
            ``all=True``. With ``why=True``, it finds the reasons at each size, as ``compare`` does
            by default.

    Returns:
        A Sweep, which holds only numbers: its claims measure nothing more. An interrupt ends it
        with the sizes measured so far, the last one cut short.

    Raises:
        ArgumentError: `make` isn't a function but a model or variants, or returns something else;
            `sizes` is empty or contains something that isn't a number; `options` has one that
            neither ``compare`` nor ``variants`` has, or there is one of ``variants``, or `only`,
            although `make` gives functions.
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
    done: list[Comparison] = []
    try:
        for size in show_progress(numbers, N_("sizes"), progress):
            with wrap_call_errors(name_of(make), (size,)):
                returned = make(size)
            functions, others = _functions(returned, only, {"why": False} | options)
            compared = compare(functions, time_limit=time_limit, progress=progress, **others)
            done.append(compared.release())  # lets go of the models and inputs of this size
            if done[-1].stopped == "interrupted":
                break
    except KeyboardInterrupt:
        if not done:
            raise
    return Sweep(tuple(numbers[: len(done)]), tuple(done))


def _numbers(sizes: Any) -> list[int | float]:
    """The sizes as Python's numbers, because JSON doesn't know NumPy's.

    Raises:
        ArgumentError: there is none, or one that is no number.
    """
    numbers = [*sizes] if isinstance(sizes, Iterable) else []
    numbers = [size.item() if hasattr(size, "item") else size for size in numbers]
    if not numbers or not all(isinstance(size, int | float) and isfinite(size) for size in numbers):
        text = _("Expected sizes, at least one, such as {example}. Received: {received}.")
        raise ArgumentError(text.format(example=[1, 8, 64], received=kind_of(numbers or sizes)))
    return numbers


def _functions(
    returned: Any, only: Sequence[str] | None, options: dict[str, Any]
) -> tuple[Call, dict[str, Any]]:
    """The functions at one size, or the variants of the net, and the options that are left.

    Args:
        returned: what `make` returned.
        only, options: those of ``sweep``.
    """
    if not isinstance(returned, (tuple, list, Call)) or returned in ((), []):
        text = _("Expected {example} from make. Received: {kind}. Let it return a tuple.")
        raise ArgumentError(text.format(example="(net, x)", kind=kind_of(returned)))
    called = returned if isinstance(returned, Call) else call(*returned)
    is_net = not isinstance(called.function, Mapping)
    of_variants = options_of(variants) if is_net else ()
    require_options("sweep", options, (*options_of(compare), *of_variants))
    others = {name: value for name, value in options.items() if name not in of_variants}
    if is_net:
        chosen = {name: value for name, value in options.items() if name in of_variants}
        functions = variants(called, **chosen)
        called = replace(called, function=functions.only(*only) if only else functions)
    elif only is not None:
        text = _(
            "Expected a net from make, because {option} names its variants. Received: {kind}. Let "
            "make return just the functions to compare."
        )
        raise ArgumentError(text.format(option="only", kind=kind_of(called.function)))
    return called, others
