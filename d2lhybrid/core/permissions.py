"""What the system does not let us write, as an error of our own that says what to do."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.core.errors import UnwritableFolderError
from d2lhybrid.core.i18n import gettext as _


@contextlib.contextmanager
def explain_unwritable(folder: Path, variable: str) -> Iterator[None]:
    """Raise UnwritableFolderError for an OSError inside the block.

    Args:
        folder: What is written to.
        variable: The argument, or the variable of the environment, that can name another one.
    """
    try:
        yield
    except OSError as error:
        text = _(
            "Cannot write to {folder!r}: {error}. Set {variable} to a folder that you can write to."
        )
        fields = {"folder": str(folder), "error": error, "variable": variable}
        raise UnwritableFolderError(text, **fields) from error
