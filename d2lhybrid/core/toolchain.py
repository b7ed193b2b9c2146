"""What is installed and what is not: packages and compilers, and how to get them."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from d2lhybrid.core.errors import CompilerMissingError, MissingPackageError
from d2lhybrid.core.i18n import gettext as _

PATIENCE = 3  # interrupts: after the first, the user sees that nothing happens
_ROOT = Path(__file__).resolve().parents[2]
_CONDA = "conda install -c conda-forge cxx-compiler"
# The variable that names one, what they are called, and what installs one.
_KNOWN = {
    "C": ("CC", ("cc", "gcc", "clang"), "apt install gcc, dnf install gcc, " + _CONDA),
    "C++": ("CXX", ("c++", "g++", "clang++"), "apt install g++, dnf install gcc-c++, " + _CONDA),
}
# The one that PyTorch's Inductor calls unless CXX names another.
INDUCTOR = ({"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++"),)


def install_command(extra: str) -> str:
    """What to type for an extra such as "torch": from the folder of a clone, if this is one.

    >>> install_command("torch").startswith("pip install")
    True
    """
    if (_ROOT / "pyproject.toml").is_file():
        return f'pip install --editable "{_ROOT}[{extra}]"'
    return f'pip install "d2lhybrid[{extra}]"'


class _PostponedInterrupt:
    """A handler of Ctrl-C that calls another handler later.

    The third interrupt in a row calls it at once, because an import may hang.
    """

    def __init__(self, handler: Callable[..., Any]) -> None:
        self.handler = handler
        self.received: list[Any] = []

    def __call__(self, *interrupt: Any) -> None:
        self.received.append(interrupt)
        if len(self.received) == PATIENCE:
            self.deliver()

    def deliver(self) -> None:
        """Call the other handler if an interrupt came."""
        received, self.received = self.received, []
        if received:
            self.handler(*received[0])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """An interrupt that comes inside the block is raised when the block is done.

    An import that is cut short leaves some modules of a large library behind, which make the next
    import fail for good: NumPy loads only once, and Flax finds itself "partially initialized".
    An import that hangs ends at the third interrupt.
    """
    # Only the main thread is interrupted. A handler that isn't Python's is left alone.
    in_main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT) if in_main_thread else None
    if not callable(handler) or isinstance(handler, _PostponedInterrupt):
        yield
        return
    postponed = _PostponedInterrupt(handler)
    try:
        signal.signal(signal.SIGINT, postponed)
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is postponed:  # the import may have set another one
            signal.signal(signal.SIGINT, handler)
        postponed.deliver()


def import_uninterrupted(name: str) -> Any:
    """Import a module; an interrupt waits until that is done, see ``uninterrupted``."""
    if name in sys.modules:
        return import_module(name)
    with uninterrupted():
        return import_module(name)


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
        return import_uninterrupted(package)
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


def has_compiler() -> bool:
    """Is there the C++ compiler that ``torch.compile`` calls on this system?

    That is the one that the environment variable CXX names, or else g++, clang++ on a Mac, and cl
    on Windows.

    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", CXX="a-compiler-that-is-missing"):
    ...     has_compiler()
    False
    """
    return not no_compiler("C++", INDUCTOR)
