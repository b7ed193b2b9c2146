"""Every exception that d2lhybrid raises on purpose; this module imports nothing.

A message says what was expected, what was received and what to do.
"""


class D2LHybridError(Exception):
    """Base of all errors raised by d2lhybrid, so that one ``except`` catches them.

    >>> from d2lhybrid import compare
    >>> try:
    ...     compare({})
    ... except D2LHybridError as error:
    ...     print(type(error).__name__)
    NothingToCompareError
    """


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


# Measuring and comparing.


class MeasureError(D2LHybridError):
    """Base of the errors about measurements and comparisons."""


class NothingToCompareError(MeasureError, ValueError):
    """No callable was handed over, or only things that cannot be called."""


class UnknownLabelError(MeasureError, KeyError):
    """A baseline or variant was named that is not among those compared."""

    __str__ = Exception.__str__  # that of KeyError puts the sentence in quotes


class CallFailedError(MeasureError, RuntimeError):
    """A callable raised when it was called with the given arguments."""


class WrongDeviceError(CallFailedError):
    """The model and its arguments are on different devices."""


class NaNOutputError(MeasureError, ValueError):
    """A callable's output holds NaN, so that it cannot be compared."""


class DifferentAnswerError(MeasureError, ValueError):
    """Two callables do not compute the same on the given arguments."""


class NotDeterministicError(MeasureError, ValueError):
    """A callable computes something else at each call, as with dropout switched on."""


class LimitError(MeasureError, ValueError):
    """A limit on time or rounds, or a tolerance, is not a positive number."""


class DamagedResultError(MeasureError, ValueError):
    """A text is no JSON of a result, or not one that this version reads."""


class CannotBuildError(MeasureError, RuntimeError):
    """A variant of a model cannot be built on this machine."""


class LanguageError(D2LHybridError, ValueError):
    """A language was asked for that has no catalog."""


class PackageMissingError(D2LHybridError, ImportError):
    """A plot or a data frame was asked for, and the package that makes it is not installed."""


# Artifacts: saving, verifying, trusting, loading and running without Python.


class ArtifactError(D2LHybridError):
    """Base of the errors about saved models."""


class ArtifactNotFoundError(ArtifactError, FileNotFoundError):
    """There is nothing at the path."""


class NotAnArtifactError(ArtifactError, ValueError):
    """There is something at the path, but it is no folder that ``save`` wrote."""


class DamagedArtifactError(ArtifactError, ValueError):
    """Bytes, files or manifest are not as they were saved."""


class UnsafeArtifactError(DamagedArtifactError):
    """The artifact reaches outside its folder, or names could mean two different files."""


class UnsupportedArtifactError(ArtifactError, ValueError):
    """The manifest version, the format or the framework asked for does not fit."""


class UntrustedArtifactError(ArtifactError, PermissionError):
    """The format can carry code, and this user neither made nor trusted the artifact."""


class TrustStoreError(ArtifactError, OSError):
    """The key that signs artifacts can be neither read nor made."""


class ArtifactReadError(ArtifactError, OSError):
    """The operating system does not let us read the artifact."""


class ArtifactWriteError(ArtifactError, OSError):
    """The artifact was not written: full disk, no permission, or a foreign folder is in the way."""


class SaveError(ArtifactError, RuntimeError):
    """The framework cannot save this model so, or what it saved does not compute the same."""


class ArtifactLoadError(ArtifactError, RuntimeError):
    """The bytes are as saved, but the framework does not load them."""


class InputMismatchError(ArtifactError, TypeError, ValueError):
    """Number, shape or dtype of the inputs is not what the artifact was saved with."""


class CompilerMissingError(ArtifactError, RuntimeError):
    """No C or C++ compiler was found to build a native program with."""


class NativeRunError(ArtifactError, RuntimeError):
    """The native program did not compile, crashed, or printed what no program of ours prints."""
