"""One line while a reader waits, if that takes long enough to wonder; it doesn't stay."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

from d2lhybrid.core.i18n import gettext as _

SHOWN_AFTER, SHOWN_EVERY = 2.0, 0.1  # seconds
METADATA = {"d2lhybrid": "progress"}  # of such a line in a notebook: who saves it leaves it out


def ipython() -> Any:
    """The shell of IPython that this code runs in, in a notebook or a terminal; None elsewhere."""
    module = sys.modules.get("IPython")
    return module.get_ipython() if module else None


@contextmanager
def show_status(message: str, shown: bool | None = None, **fields: str) -> Iterator[None]:
    """Say what is being done while the block of ``with`` lasts.

    Args:
        message: What is done, in English as the catalogs have it, with `fields` to fill in.
        shown: By default in a notebook, and where the standard error is a terminal; not into a
            file.

    >>> with show_status("compiling"):
    ...     pass
    """
    with status_line(shown) as say:
        say(_(message).format(**fields))
        yield


@contextmanager
def status_line(shown: bool | None = None) -> Iterator[Callable[[str], None]]:
    """A line while the block lasts, and a function that changes its text; `shown` as above.

    >>> with status_line() as say:
    ...     say("process 1 of 6")
    """
    in_notebook = hasattr(ipython(), "kernel")
    in_terminal = sys.stderr is not None and sys.stderr.isatty()
    if not (in_notebook or in_terminal if shown is None else shown):
        yield lambda _text: None
    elif in_notebook:
        with _notebook_line() as say:
            yield say
    else:
        from tqdm import tqdm

        with tqdm(bar_format="{desc}", leave=False) as line:
            yield line.set_description_str


def show_progress(items: Iterable[Any], message: str, shown: bool | None) -> Iterator[Any]:
    """The items; where that takes longer, a line with the message, and how many are done.

    >>> list(show_progress("ab", "letters", shown=None))
    ['a', 'b']
    """
    of_all = f"/{len(items)}" if isinstance(items, Sized) else ""
    due = time.monotonic() + SHOWN_AFTER
    with status_line(shown) as say:
        for done, item in enumerate(items):
            if time.monotonic() >= due:
                say(f"{_(message)} {done}{of_all}")
                due = time.monotonic() + SHOWN_EVERY
            yield item


@contextmanager
def _notebook_line() -> Iterator[Callable[[str], None]]:
    """A line below the cell that is empty at the end.

    JupyterLab draws an output without data at no height. What was written to the standard error
    would stay, as an empty box.
    """
    from IPython.display import display

    handle: Any = None

    def say(text: str) -> None:
        nonlocal handle
        data = {"text/plain": text}
        if handle is None:
            handle = display(data, raw=True, display_id=True, metadata=METADATA)
        else:
            handle.update(data, raw=True, metadata=METADATA)

    try:
        yield say
    finally:
        if handle is not None:
            handle.update({}, raw=True, metadata=METADATA)
