"""Functions in files, for the command line: each file imports from its own folder.

Python keeps one module under a name, so that two folders with a ``helper.py`` each would share
the one that came first. Here each folder has its own: the modules of one folder are in
``sys.modules`` at a time, and a call of a function in another folder exchanges them first. So a
function finds its own modules also when it imports as late as in the call.
"""

import importlib.util
import pkgutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from d2lhybrid.errors import ArgumentError
from d2lhybrid.i18n import gettext as _


@contextmanager
def functions(places: Sequence[str]) -> Iterator[dict[str, Callable[..., Any]]]:
    """The functions at ``path/to/file.py:name``, by these places; each file is run once.

    After the block, ``sys.modules`` and ``sys.path`` are as they were, but for what the files
    imported from elsewhere.

    Raises:
        ArgumentError: there is no such file or function, the file does not run, or a place is named
            twice.
    """
    if len(set(places)) < len(places):
        text = _("Expected each function once. Received: {received}.")
        raise ArgumentError(text.format(received=", ".join(places)))
    folders = _Folders()
    try:
        found = {place: folders.function(place) for place in places}
        if len(folders.by_path) > 1:  # else nothing is ever exchanged, and calls go straight in
            found = {place: folders.at_home(place, found[place]) for place in places}
        yield found
    finally:
        folders.enter(None)


class _Folder:
    """A folder with files that import from it, of which one at a time has its modules in place."""

    def __init__(self, path: Path, ours: frozenset[str]) -> None:
        self.path = path
        self.names = _names(path) - ours
        self.files: dict[Path, ModuleType] = {}
        self.away: dict[str, ModuleType] = {}  # those that are not in place: its own, or others

    def exchange(self) -> None:
        """Put its modules in the place of those from elsewhere that have their names, or back."""
        there = {name: sys.modules.pop(name) for name in self._in_place()}
        sys.modules.update(self.away)
        self.away = there

    def _in_place(self) -> list[str]:
        first = [name for name in self.names if name in sys.modules]
        packages = {name for name in first if hasattr(sys.modules[name], "__path__")}
        if packages:
            first += [name for name in sys.modules if "." in name and _top(name) in packages]
        return first


class _Folders:
    """All folders with functions to call."""

    def __init__(self) -> None:
        self.by_path: dict[Path, _Folder] = {}
        self.inside: _Folder | None = None
        self.ours = frozenset(map(_top, sys.modules))  # those stay, whatever a file is called

    def function(self, place: str) -> Callable[..., Any]:
        file, _colon, name = place.rpartition(":")
        path = Path(file)
        if not file or not path.is_file():
            text = _("Expected FILE.py:FUNCTION. Received: {received!r}, not a file.")
            raise ArgumentError(text.format(received=place))
        function = getattr(self._module(path.resolve()), name, None)
        if not callable(function):
            text = _("Expected a function {name!r} in {file}. Received: none.")
            raise ArgumentError(text.format(name=name, file=file))
        return function

    def at_home(self, place: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, for whose calls its folder is entered; 0.1 µs more where it is already."""
        folder = self.by_path[Path(place.rpartition(":")[0]).resolve().parent]

        @wraps(function, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if self.inside is not folder:
                self.enter(folder)
            return function(*args, **kwargs)

        return call

    def enter(self, folder: _Folder | None) -> None:
        """Put the modules of this folder in the place of those of the one before."""
        if self.inside is not None:
            self.inside.exchange()
            sys.path.remove(str(self.inside.path))
        if folder is not None:
            folder.exchange()
            sys.path.insert(0, str(folder.path))
        self.inside = folder

    def _module(self, path: Path) -> ModuleType:
        if path.parent not in self.by_path:
            self.by_path[path.parent] = _Folder(path.parent, self.ours)
        folder = self.by_path[path.parent]
        if self.inside is not folder:
            self.enter(folder)
        if path not in folder.files:
            known = sys.modules.get(path.stem)  # if another file imported it
            imported = getattr(known, "__file__", None) == str(path)
            folder.files[path] = known if known and imported else self._run(path)
        return folder.files[path]

    def _run(self, path: Path) -> ModuleType:
        name = f"_compared_{path.stem}" if path.stem in self.ours else path.stem
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            text = _("Expected a Python file. Received: {received!r}.")
            raise ArgumentError(text.format(received=str(path)))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses and pickle look there
        self.by_path[path.parent].names.add(name)
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            text = _("Expected {file} to run. Received: {error}: {said}.")
            said = str(error).rstrip(".")
            raise ArgumentError(
                text.format(file=path, error=type(error).__name__, said=said)
            ) from error
        return module


def _top(name: str) -> str:
    return name.partition(".")[0]


def _names(folder: Path) -> set[str]:
    """What can be imported from a folder; a folder in it without __init__.py only if need be."""
    plain = {file.parent.name for file in folder.glob("*/*.py")}
    found = {module.name for module in pkgutil.iter_modules([str(folder)])}
    return found | {name for name in plain if importlib.util.find_spec(name) is None}
