"""The callables that ``compare`` compares, by label, of whatever it was given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Args, Call
from d2lhybrid.core.errors import ArgumentError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import described
from d2lhybrid.experiments.experiment import Callables
from d2lhybrid.verbs.variants import variants
from d2lhybrid.verbs.ways import Variants


@dataclass(frozen=True)
class SourceFile:
    """What a file has to compare. A fresh process makes it for itself, because it gets only this.

    `file` is ``FILE.py:example``, whose ``example()`` returns what ``call_of`` takes, or a file
    whose `functions` are compared.
    """

    file: str
    functions: tuple[str, ...] = ()

    def compared(self) -> Mapping[str, Callable[..., Any]] | Call:
        """The functions by their names, or what the example returns."""
        from d2lhybrid.verbs.source_file import functions_in, nothing_to_compare, returned_in

        if self.functions:
            return functions_in(self.file, self.functions)
        returned = returned_in(self.file)
        called = call_of(returned)
        if called is None:
            raise nothing_to_compare(self.file, returned)
        return called


def call_of(returned: Any) -> Call | None:
    """What a reader's function returns to have it compared; None if that is something else.

    It is ``call(net, ...)``, ``(net, x, ...)``, variants, or callables by label, alone or before
    their arguments in a tuple.
    """
    match returned:
        case Call() | Mapping():
            return Call.of(returned)
        case (first, *args) if callable(first) or isinstance(first, Mapping):
            return Call.of(first, tuple(args))
    return None


def callables_of(what: Any, args: Args = ()) -> Callables:
    """The callables by label, and the arguments of each call.

    Raises:
        ArgumentError: steps of training get arguments, or the file or function that is named isn't
            as ``SourceFile`` describes it.
        Otherwise what ``variants`` raises.
    """
    called = Call.of(what.compared() if isinstance(what, SourceFile) else what, args)
    functions = called.function
    if not isinstance(functions, Mapping):
        functions = variants(called)
    elif not isinstance(functions, Variants) or called.args or called.kwargs:
        # Arguments beside variants take the place of those that they hold, because the notebooks
        # still write ``compare(variants(net, x), x)``. This goes when they do.
        _require_no_batch(functions, called)
        return functions, called.args, called.kwargs
    return functions, functions.args, functions.kwargs


def _require_no_batch(functions: Mapping[str, Any], called: Call) -> None:
    """Raise ArgumentError if steps of training, which hold their batch, are to get arguments."""
    of_training = [way for way in map(variant_of, functions.values()) if way and way.is_step]
    if of_training and (called.args or called.kwargs):
        text = _(
            "Expected steps alone, because they hold their batch: {example}. Received: {more}."
        )
        received = described(called.args, called.kwargs)
        raise ArgumentError(text.format(example="compare(training(...))", more=received))
