"""What is installed and what is not: packages and compilers, and how to get them."""

import os
import shutil
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from d2lhybrid.core.errors import CompilerMissingError, MissingPackageError
from d2lhybrid.core.i18n import gettext as _

_ROOT = Path(__file__).resolve().parents[2]
_CONDA = "conda install -c conda-forge cxx-compiler"
# The variable that names one, what they are called, and what installs one.
_KNOWN = {
    "C": ("CC", ("cc", "gcc", "clang"), "apt install gcc, dnf install gcc, " + _CONDA),
    "C++": ("CXX", ("c++", "g++", "clang++"), "apt install g++, dnf install gcc-c++, " + _CONDA),
}
# The one of C++ that is usual on this system, unless CXX names another.
USUAL_CXX = ("clang++" if sys.platform == "darwin" else "g++",)


def install_command(extra: str) -> str:
    """What to type for an extra such as "torch": from the folder of a clone, if this is one.

    >>> install_command("torch").startswith("pip install")
    True
    """
    if (_ROOT / "pyproject.toml").is_file():
        return f'pip install --editable "{_ROOT}[{extra}]"'
    return f'pip install "d2lhybrid[{extra}]"'


def why_not_installed(packages: Sequence[str], extra: str) -> str:
    """Why another runtime can't be compared, with what installs it; empty if it can be."""
    if all(find_spec(package) for package in packages):
        return ""
    text = _("it is another runtime, often a faster one, and isn't installed: {command}")
    return text.format(command=install_command(extra))


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
    text = _("This needs {package}, which cannot be imported ({error}); install it with: {command}")
    command = install_command(extra)
    return MissingPackageError(text.format(package=package, error=error, command=command))


def find_compiler(language: str, names: Sequence[str] = ()) -> list[str]:
    """The command that compiles ``"C"`` or ``"C++"``: what CC or CXX says, or the first of `names`.

    Raises:
        CompilerMissingError: There is none, with the package that has one.
    """
    variable, known, commands = _KNOWN[language]
    said = os.environ.get(variable, "").split()
    for candidate in [said] if said else [[name] for name in names or known]:
        if shutil.which(candidate[0]):
            return candidate
    text = _(
        "Expected a {language} compiler ({names}), found none. Install one: {commands}; "
        "on a Mac: {mac_command}."
    )
    fields = {"language": language, "names": " ".join(said) or ", ".join(names or known)}
    fields |= {"commands": commands, "mac_command": "xcode-select --install"}
    raise CompilerMissingError(text.format(**fields), **fields)


def no_compiler(language: str, names: Sequence[str] = ()) -> str:
    """Why there is no such compiler, in a sentence; empty where there is one."""
    try:
        find_compiler(language, names)
    except CompilerMissingError as error:
        return str(error)
    return ""
