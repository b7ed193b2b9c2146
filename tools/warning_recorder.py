"""What runs inside a notebook's kernel for `make audit`: it writes down every deprecation.

Cells and libraries may silence warnings; for an audit they count all the same. So filters that
ignore are not installed while this runs, and what is caught is written down before it is handed on.
TensorFlow announces the end of a function in its log, so messages of loggers count, too.
"""

import json
import linecache
import logging
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

PACKAGE = str(Path(__file__).resolve().parent.parent / "d2lhybrid")
CATEGORIES = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


def announces_an_end(category: type[Warning], text: str) -> bool:
    """Is this about an API that goes or changes? PyTorch says so with plain UserWarnings, too."""
    return issubclass(category, CATEGORIES) or "deprecat" in text.lower()


def start(path: str, shell: Any) -> None:
    """Append each deprecation to a file, one JSON object a line, with the number of the cell.

    Takes IPython's shell; the next cell that it runs is number 1.
    """
    cell = 0

    def begin(info: object) -> None:
        nonlocal cell
        cell += 1

    def write(kind: str, text: str, frame: FrameType | None) -> None:
        where, line = origin(frame)
        api = line if kind.startswith("log") else function(frame) or line
        entry = {"cell": cell, "where": where, "api": api, "kind": kind, "text": text}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    shell.events.register("pre_run_cell", begin)
    _record_warnings(write)
    _record_logs(write)


def _record_warnings(write: Callable[[str, str, FrameType | None], None]) -> None:
    def unless_it_ignores(install: Callable[..., None]) -> Callable[..., None]:
        def filtered(action: str, *args: Any, **options: Any) -> None:
            if action != "ignore":
                install(action, *args, **options)

        return filtered

    for category in CATEGORIES:
        warnings.simplefilter("always", category)
    warnings.simplefilter = unless_it_ignores(warnings.simplefilter)
    warnings.filterwarnings = unless_it_ignores(warnings.filterwarnings)
    # Every warning that passes the filters goes through here, also one that catch_warnings keeps:
    # the public showwarning() is exchanged there. A Python that has it no longer stops the audit.
    show = warnings._showwarnmsg  # type: ignore[attr-defined]

    def record(message: warnings.WarningMessage) -> None:
        category, text = message.category, str(message.message)
        if announces_an_end(category, text):
            write(category.__name__, text, sys._getframe(1))
        show(message)

    warnings._showwarnmsg = record  # type: ignore[attr-defined]


def _record_logs(write: Callable[[str, str, FrameType | None], None]) -> None:
    warn = logging.Logger.warning

    def record(self: logging.Logger, message: object, *args: Any, **options: Any) -> None:
        text = str(message) % args if args else str(message)
        if "deprecat" in text.lower():
            write(f"log of {self.name}", text, sys._getframe(1))
        warn(self, message, *args, **options)

    logging.Logger.warning = record  # type: ignore[method-assign,assignment]


def origin(frame: FrameType | None) -> tuple[str, str]:
    """The place in this project that led here, ``cell`` or a module, and its line of code.

    Both are empty where nothing of this project is on the stack, as in a library's own thread.
    """
    while frame is not None:
        if place := _place(frame):
            return place, linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        frame = frame.f_back
    return "", ""


def function(frame: FrameType | None) -> str:
    """The function of a library that runs in a frame, with its module; nothing for our own."""
    if frame is None or _place(frame):
        return ""
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)
    return f"{frame.f_globals.get('__name__', '?')}.{name}"


def _place(frame: FrameType) -> str:
    file = frame.f_code.co_filename
    if file.startswith(PACKAGE):
        return "d2lhybrid" + Path(file).as_posix().removeprefix(Path(PACKAGE).as_posix())
    is_cell = frame.f_globals.get("__name__") == "__main__" and "ipykernel_" in file
    return "cell" if is_cell else ""
