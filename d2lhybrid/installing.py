"""The command that installs more of d2lhybrid: every hint takes it from here."""

from importlib import import_module
from pathlib import Path
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _

_ROOT = Path(__file__).resolve().parents[1]


def install_command(extra: str) -> str:
    """What to type for an extra such as "torch": from the folder of a clone, if this is one.

    >>> install_command("torch").startswith("pip install")
    True
    """
    if (_ROOT / "pyproject.toml").is_file():
        return f'pip install --editable "{_ROOT}[{extra}]"'
    return f'pip install "d2lhybrid[{extra}]"'


def require(package: str, extra: str) -> Any:
    """Import a package that the user asked for by what they load or save.

    Raises:
        MissingPackageError: It is not installed, with the command that installs it.
    """
    try:
        return import_module(package)
    except ImportError as error:
        raise missing(package, extra, error) from error


def missing(package: str, extra: str, error: ImportError) -> MissingPackageError:
    """The error that says how to install a package."""
    text = _("This needs {package}, which does not import ({error}); install it with: {command}")
    return MissingPackageError(
        text.format(package=package, error=error, command=install_command(extra))
    )
