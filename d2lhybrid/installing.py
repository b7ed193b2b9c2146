"""The command that installs more of d2lhybrid: every hint takes it from here."""

import json
from importlib import import_module
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from d2lhybrid.errors import MissingPackageError
from d2lhybrid.i18n import gettext as _

_ROOT = Path(__file__).resolve().parents[1]


def install_command(extra: str) -> str:
    """What to type for an extra such as "torch", from where this d2lhybrid came.

    >>> install_command("torch").startswith("pip install")
    True
    """
    if (_ROOT / "pyproject.toml").is_file():
        return f'pip install --editable "{_ROOT}[{extra}]"'
    source = _source()
    place = f" @ {source}" if source else ""
    return f'pip install "d2lhybrid[{extra}]{place}"'


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
    return MissingPackageError(
        _(
            "This needs {package}, which does not import ({error}); install it with: {command}"
        ).format(package=package, error=error, command=install_command(extra))
    )


def _source() -> str:
    """Where pip found this package, as it noted (PEP 610); empty where it came from an index."""
    try:
        noted = json.loads(distribution("d2lhybrid").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return ""
    url = str(noted.get("url", ""))
    version = noted.get("vcs_info")
    return f"{version['vcs']}+{url}@{version['commit_id']}" if version else url
