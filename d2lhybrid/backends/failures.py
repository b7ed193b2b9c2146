"""Calls that fail: whose fault it is, and the line of the user's code from which it comes."""

import logging
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from d2lhybrid.backends import loaded
from d2lhybrid.core.arguments import Args, Function, Kwargs
from d2lhybrid.core.errors import CallFailedError, D2LHybridError, first_line
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.output import silent
from d2lhybrid.core.wording import described

# What libraries log of a call repeats what the explanation says.
without_logs = partial(silent, logs=logging.ERROR)
MAX_QUEUED_ERRORS = 10  # that a call which fails may leave in queues


def hint(error: Exception) -> str:
    """What a framework advises if this is raised; often nothing."""
    return next(filter(None, (framework.why.hint(error) for framework in loaded())), "")


def call_error(label: str, error: Exception, args: Args, kwargs: Kwargs) -> CallFailedError:
    """The error to raise where a callable fails by itself, called with these arguments."""
    kind, said = type(error).__name__, first_line(error)
    text = _("Could not run {label!r} on {arguments} ({error}: {said}).")
    if not args and not kwargs:
        text = _("Could not run {label!r} without arguments ({error}: {said}).")
    advice = hint(error) or _("Call it by itself to see where it fails.")
    if not args and not kwargs and isinstance(error, TypeError) and "missing" in said:
        advice = _("Pass its input, as in {code}.").format(code="compare(net, x)")
    given = (*args, *kwargs.values())
    if any(isinstance(value, np.ndarray) for value in given) and "ndarray" in said.lower():
        advice = _("Pass tensors instead of NumPy arrays.")
    arguments = f"({described(args, kwargs, detailed=True)})"
    message = text.format(label=label, arguments=arguments, error=kind, said=said.rstrip(":."))
    message = sentences(message, advice)
    return CallFailedError(message, label=label, reason=f"{kind}: {said}")


@dataclass
class wrap_call_errors(AbstractContextManager[Any]):
    """Let what the block raises say which callable it was; errors of our own stay as they are.

    A call that fails may have left work in a queue of its framework, whose error would come up in
    whatever runs next. So all frameworks are waited for until none raises.
    """

    label: str
    args: Args = ()
    kwargs: Kwargs = field(default_factory=dict)

    # A generator with ``contextmanager`` would let a StopIteration of the callable out as it is.
    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if not isinstance(error, Exception):
            return
        for _attempt in range(MAX_QUEUED_ERRORS):
            with suppress(Exception):
                for framework in loaded():
                    framework.device.synchronize()
                break
        if not isinstance(error, D2LHybridError):
            raise call_error(self.label, error, self.args, self.kwargs) from error


def require_runs(label: str, run: Function, args: Args, kwargs: Kwargs) -> None:
    """Make the call without a compiler: what raises then is no refusal of the compiler.

    Raises:
        CallFailedError: it raised, with the error as its cause.
    """
    with without_logs(), wrap_call_errors(label, args, kwargs):
        run(*args, **kwargs)
