"""What a format has to offer, and where the formats are found.

Each framework's formats stand in ``d2lhybrid.frameworks.<framework>.formats`` as a dictionary
``FORMATS``. Those modules import their framework inside the functions that need it, so a table of
formats, and with it ``inspect``, costs no framework.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.errors import (
    MissingPackageError,
    UnknownFrameworkError,
    UnsupportedArtifactError,
)
from d2lhybrid.frameworks import get, names
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command
from d2lhybrid.structure import leaves


@dataclass(frozen=True)
class Written:
    """What a writer knows once it has written: names in call order, and what its reader needs."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Format:
    """One way to keep a model.

    `write` gets the model, example inputs and an empty folder; `read` gets the folder, the options
    that `write` returned and what the caller gave as ``into``, and returns a callable. `require`
    gets the options too, and raises if this machine cannot run the model. `risk` says what a
    hostile file of this format could do when loaded, and is empty if it holds no code. `native`
    names the program in ``d2lhybrid/native`` that runs it. `note` is for readers of ``inspect``.
    """

    write: Callable[[Any, tuple[Any, ...], Path], Written]
    read: Callable[[Path, dict[str, Any], Any], Any]
    packages: tuple[str, ...]
    require: Callable[[dict[str, Any]], None] = lambda options: None
    risk: str = ""
    native: str = ""
    note: str = ""
    weights_only: bool = False
    differing: Callable[[Any, Path], str] = lambda model, folder: ""


def find(framework: str, name: str) -> Format:
    """The format called `name`.

    Raises:
        UnsupportedArtifactError: There is no such framework, or it has no such format.
    """
    try:
        formats = get(framework).formats
    except UnknownFrameworkError as error:
        raise UnsupportedArtifactError(
            _(
                "Expected an artifact of {frameworks}, received {received!r}; "
                "upgrade d2lhybrid if a newer release wrote it."
            ).format(frameworks=names(), received=framework)
        ) from error
    if name not in formats:
        raise UnsupportedArtifactError(
            _("Expected one of the {framework} formats {formats}, received {received!r}.").format(
                framework=framework, formats=", ".join(formats), received=name
            )
        )
    return formats[name]


def require(package: str, extra: str) -> Any:
    """Import a package that the user asked for by what they load or save.

    Raises:
        MissingPackageError: It is not installed, with the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingPackageError(
            _(
                "This needs {package}, which does not import ({error}); install it with: {command}"
            ).format(package=package, error=error, command=install_command(extra))
        ) from error


class Deferred:
    """A package that is imported when it is used for the first time."""

    def __init__(self, load: Callable[[], Any]):
        self._load = load

    def __getattr__(self, name: str) -> Any:
        return getattr(self._load(), name)


def flatten(outputs: Any) -> Iterator[Any]:
    """The tensors in a structure, in its own order; None is left out."""
    for _path, leaf in leaves(outputs):
        if leaf is not None:
            yield leaf
