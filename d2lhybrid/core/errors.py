"""Every exception that d2lhybrid raises on purpose; this module imports nothing of ours.

A message says what was expected, what was received and what to do; its fields hold what a program
may want to know.
"""

import re
from typing import Any


def first_line(error: BaseException) -> str:
    """The message of an error in one line: its first, or the last if it contains a stack trace.

    A line that only announces the next, by a colon, comes with it. Colours, TensorFlow's names of
    nodes, the place where Keras raised it and addresses of functions and objects
    are left out.

    >>> first_line(TypeError(f"cannot call {first_line}"))
    'cannot call first_line'
    >>> first_line(ValueError("The mismatches are:\\n  * input c[0]: a float, and an integer"))
    'The mismatches are: input c[0]: a float, and an integer'
    >>> first_line(TypeError("no <a.Net object at 0x7f01> here"))
    'no a.Net here'
    >>> first_line(ValueError("assertion error:\\nat node a (most recent call last)\\nFile ..."))
    'assertion error'
    """
    text = re.sub(r"\x1b\[[\d;]*m|\{\{[^}]*\}\} *| \[Op:\w+\] name: *", "", str(error)).strip()
    text = re.sub(r"<(?:function )?(\S+)(?: object)? at 0x[0-9a-f]+>", r"\1", text)
    has_stack_trace = "in user code:" in text or "Traceback" in text
    if text.startswith("Exception encountered when calling"):
        text = text.partition("\n")[2].strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [""]
    line = lines[-1 if has_stack_trace else 0].rpartition(f"{type(error).__name__}: ")[2]
    announces = line.endswith(":") and len(lines) > 1 and not has_stack_trace
    if announces and "most recent call last" not in lines[1]:
        line += f" {lines[1].removeprefix('* ')}"
    return line.removesuffix(":")


def brief(error: BaseException) -> str:
    """An error of a library in one line: its type and the first line of its message."""
    kind, line = type(error).__name__, first_line(error)[:300]
    return f"{kind}: {line}" if line else kind


class D2LHybridError(Exception):
    """Base of all errors that d2lhybrid raises, so that one ``except`` catches them.

    Keyword arguments become fields of the error.

    >>> from d2lhybrid import compare
    >>> try:
    ...     compare({})
    ... except D2LHybridError as error:
    ...     print(type(error).__name__)
    ArgumentError
    """

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args)
        vars(self).update(fields)


class ArgumentError(D2LHybridError, ValueError):
    """An argument is not what was expected, or a method was called out of order."""


class UnknownLabelError(D2LHybridError, KeyError):
    """There is no variant of this name. Fields: `label`, `known`."""

    __str__ = Exception.__str__  # that of KeyError puts the sentence in quotes


class UnknownFrameworkError(D2LHybridError, TypeError):
    """An object belongs to none of the known frameworks."""


class MissingPackageError(D2LHybridError, ImportError):
    """A package that is needed is not installed or cannot be imported."""


class CompilerMissingError(D2LHybridError, RuntimeError):
    """A variant, a format or a native program needs a C or C++ compiler, and none was found."""


class TracingError(D2LHybridError, RuntimeError):
    """Something that needs real computation was called while a graph was being traced."""

    __init__ = RuntimeError.__init__  # TorchDynamo cannot trace another, and hides the message


# Measuring and comparing.


class CallFailedError(D2LHybridError, RuntimeError):
    """A callable raised when it was called with the given arguments.

    Fields: `label`, and what it raised as a text, `reason`.
    """

    label: str
    reason: str


class CannotBuildError(D2LHybridError, RuntimeError):
    """A variant of a model cannot be built on this machine."""


class DifferentAnswerError(D2LHybridError, ValueError):
    """Two calls that should compute the same don't, or their result isn't a number."""


class ClaimError(D2LHybridError, AssertionError):
    """The interval of a comparison contradicts a claim about it. Field: `claim`."""


class DamagedResultError(D2LHybridError, ValueError):
    """A text isn't the JSON of a result, or not one that this version reads."""


# Artifacts: saving, verifying, trusting, loading and running without Python.


class ArtifactError(D2LHybridError):
    """Base of the errors about saved models; its fields are the values in the message."""

    def __init__(self, message: str, /, **fields: Any) -> None:
        super().__init__(message.format(**fields) if fields else message, **fields)


class ArtifactNotFoundError(ArtifactError, FileNotFoundError):
    """There is nothing at the path, or no folder that ``save`` wrote."""


class DamagedArtifactError(ArtifactError, ValueError):
    """Bytes, files or manifest are not as they were saved, or reach outside the folder."""


class UnsupportedArtifactError(ArtifactError, ValueError):
    """The format or framework is unknown here, or cannot run here."""


class UntrustedArtifactError(ArtifactError, PermissionError):
    """The format can carry code, and this user neither made nor trusted the artifact."""


class SaveError(ArtifactError, RuntimeError):
    """The framework cannot save this model, or what it saved doesn't compute the same."""


class ArtifactLoadError(ArtifactError, RuntimeError):
    """The bytes are as saved, but the framework cannot load or run them."""


class UnwritableFolderError(ArtifactError, OSError):
    """A folder for an artifact, or for what is trusted or compiled, cannot be written to."""


class InputMismatchError(ArtifactError, TypeError, ValueError):
    """Number, shape or dtype of the inputs is not what the artifact was saved with."""


class NativeRunError(ArtifactError, RuntimeError):
    """The native program did not compile, crashed, or printed something unexpected."""


__all__ = [name for name in globals() if name.endswith("Error")]
