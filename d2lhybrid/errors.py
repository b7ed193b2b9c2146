"""Every exception that d2lhybrid raises on purpose; this module imports nothing.

A message says what was expected, what was received and what to do.
"""


class D2LHybridError(Exception):
    """Base of all errors raised by d2lhybrid, so that one ``except`` catches them."""


class FrameworkMissingError(D2LHybridError, ImportError):
    """A framework was asked for that is not installed or does not import."""


class UnknownFrameworkError(D2LHybridError, TypeError):
    """An object was handed over that belongs to none of the known frameworks."""


class TracingError(D2LHybridError, RuntimeError):
    """Something that needs a running device was called while a graph is being traced."""


class TimerError(D2LHybridError, RuntimeError):
    """A timer was used out of order, such as ``stop()`` before ``start()``."""


class RemovedFromNumPyError(D2LHybridError, AttributeError):
    """MXNet was asked for a function of NumPy that the installed NumPy no longer has."""
