"""What is said beside results: nothing of what libraries say of themselves, and one line while one
waits, where that takes long enough to ask.
"""

import io
import logging
import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from typing import Any

from d2lhybrid.i18n import gettext as _

SHOWN_AFTER = 2.0  # seconds


@contextmanager
def quiet() -> Iterator[None]:
    """Hold back what native code logs inside the block; show it if the block raises.

    TensorFlow's C++ code, for one, logs while it is imported, before any setting of its own can
    stop it. In a notebook, what Python itself writes to ``sys.stderr``, such as its warnings, goes
    another way and still shows.

    >>> with quiet():
    ...     _ = os.write(2, b"a line from a native library\\n")
    """
    try:
        shown = os.dup(2)
    except OSError:  # a program without a standard error: there is nothing to hold back
        yield
        return
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            held.seek(0)
            os.write(shown, held.read())
            raise
        finally:
            os.dup2(shown, 2)
            os.close(shown)


@contextmanager
def silent(*, logs: int = logging.NOTSET, prints: bool = False) -> Iterator[None]:
    """Keep warnings back inside the block, logs up to a level, and prints.

    >>> with silent(logs=logging.WARNING, prints=True):
    ...     warnings.warn("deprecated inside the library")
    ...     logging.warning("and logged")
    ...     print("and printed")
    """
    before = logging.root.manager.disable
    out, err = (io.StringIO(), io.StringIO()) if prints else (sys.stdout, sys.stderr)
    with warnings.catch_warnings(action="ignore"), redirect_stdout(out), redirect_stderr(err):
        logging.disable(max(before, logs))
        try:
            yield
        finally:
            logging.disable(before)


def waiting(said: str, shown: bool | None = None, **fields: str) -> Any:
    """Say what is being done while the block of ``with`` lasts; nothing stays.

    Args:
        said: what is done, in English as the catalogs have it, with `fields` to fill in.
        shown: By default where the standard error is a terminal, so that nothing is written into
            the output of a notebook, or into a file.

    >>> with waiting("compiling"):
    ...     pass
    """
    if not _is_read(shown):
        return nullcontext()
    from tqdm import tqdm

    return tqdm(desc=_(said).format(**fields), bar_format="{desc}", leave=False)


def counted(things: Sequence[Any], said: str, shown: bool | None) -> Iterable[Any]:
    """The things; where that takes longer, how many are done is said, translated; nothing stays.

    >>> list(counted("ab", "letters", shown=None))
    ['a', 'b']
    """
    if not _is_read(shown):
        return things
    from tqdm import tqdm

    return tqdm(things, _(said), leave=False, delay=SHOWN_AFTER, bar_format="{desc} {n}/{total}")


def _is_read(shown: bool | None) -> bool:
    return shown if shown is not None else sys.stderr is not None and sys.stderr.isatty()
