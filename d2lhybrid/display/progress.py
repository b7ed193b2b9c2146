"""One line while a reader waits, if that takes long enough to wonder; it doesn't stay."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from d2lhybrid.core.i18n import gettext as _

SHOWN_AFTER = 2.0  # seconds


def show_status(message: str, shown: bool | None = None, **fields: str) -> Any:
    """Say what is being done while the block of ``with`` lasts.

    Args:
        message: What is done, in English as the catalogs have it, with `fields` to fill in.
        shown: By default where the standard error is a terminal, so that nothing is written into
            the output of a notebook, or into a file.

    >>> with show_status("compiling"):
    ...     pass
    """
    if not _is_shown(shown):
        return nullcontext()
    from tqdm import tqdm

    return tqdm(desc=_(message).format(**fields), bar_format="{desc}", leave=False)


@contextmanager
def status_line(shown: bool | None = None) -> Iterator[Callable[[str], None]]:
    """A line while the block lasts, and a function that changes its text; `shown` as above.

    >>> with status_line() as say:
    ...     say("process 1 of 6")
    """
    if not _is_shown(shown):
        yield lambda _text: None
        return
    from tqdm import tqdm

    with tqdm(bar_format="{desc}", leave=False) as line:
        yield line.set_description_str


def show_progress(items: Sequence[Any], message: str, shown: bool | None) -> Iterable[Any]:
    """The items; where that takes longer, a line with the message, and how many are done.

    >>> list(show_progress("ab", "letters", shown=None))
    ['a', 'b']
    """
    if not _is_shown(shown):
        return items
    from tqdm import tqdm

    style: Any = {"leave": False, "delay": SHOWN_AFTER, "bar_format": "{desc} {n}/{total}"}
    bar: Iterable[Any] = tqdm(items, _(message), **style)
    return bar


def _is_shown(shown: bool | None) -> bool:
    return shown if shown is not None else sys.stderr is not None and sys.stderr.isatty()
