"""The C and C++ compilers of this machine, found by their names; none is run."""

import os
import shlex
import shutil
import sys
from collections.abc import Sequence

from d2lhybrid.errors import CompilerMissingError
from d2lhybrid.i18n import gettext as _

# The variable that names one, what they are called, and the packages that have one.
_KNOWN = {
    "C": ("CC", ("cc", "gcc", "clang"), "gcc", "gcc"),
    "C++": ("CXX", ("c++", "g++", "clang++"), "g++", "gcc-c++"),
}
# The one that PyTorch's Inductor calls unless CXX names another.
INDUCTOR = ({"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++"),)


def find_compiler(language: str, names: Sequence[str] = ()) -> list[str]:
    """The command that compiles ``"C"`` or ``"C++"``: what CC or CXX says, or the first of `names`.

    Raises:
        CompilerMissingError: There is none, with the package that has one.
    """
    variable, known, apt, dnf = _KNOWN[language]
    said = _words(os.environ.get(variable, ""))
    for candidate in [said] if said else [[name] for name in names or known]:
        if shutil.which(candidate[0]):
            return candidate
    text = _(
        "Expected a {language} compiler ({names}), found none. Install one: {commands}; "
        "on a Mac: {mac_command}."
    )
    raise CompilerMissingError(
        text,
        language=language,
        names=" ".join(said) or ", ".join(names or known),
        commands=", ".join(
            (
                f"apt install {apt}",
                f"dnf install {dnf}",
                "conda install -c conda-forge cxx-compiler",
            )
        ),
        mac_command="xcode-select --install",
    )


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # a quote that does not end: no program has that name
        return [command]


def has_compiler() -> bool:
    """Is there the C++ compiler that ``torch.compile`` calls on this system?

    That is the one that the environment variable CXX names, or else g++, clang++ on a Mac, and cl
    on Windows.

    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", CXX="a-compiler-that-is-missing"):
    ...     has_compiler()
    False
    """
    try:
        find_compiler("C++", INDUCTOR)
    except CompilerMissingError:
        return False
    return True
