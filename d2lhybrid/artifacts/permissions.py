"""What the system does not let us read or write, as errors of our own that say what to do."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _


@contextlib.contextmanager
def explain_unreadable(root: Path) -> Iterator[None]:
    """Raise UnreadableArtifactError for an OSError inside the block."""
    try:
        yield
    except errors.D2LHybridError:
        raise
    except OSError as error:
        text = _(
            "Expected files that can be read in {path!r}. Received: {reason}. Change their "
            "permissions, or copy the folder to where you can read it."
        )
        reason = error.strerror or str(error)
        raise errors.UnreadableArtifactError(text, path=str(root), reason=reason) from error


@contextlib.contextmanager
def explain_unwritable(folder: Path, variable: str) -> Iterator[None]:
    """Raise UnwritableFolderError for an OSError inside the block.

    So it does for a name that no folder can have, of which Python says so in a ValueError.

    Args:
        folder: What is written to.
        variable: The argument, or the variable of the environment, that can name another one.
    """
    try:
        yield
    except (OSError, ValueError) as error:
        text = _(
            "Cannot write to {folder!r}: {error}. Set {variable} to a folder that you can write to."
        )
        fields = {"folder": str(folder), "error": getattr(error, "strerror", None) or str(error)}
        raise errors.UnwritableFolderError(text, variable=variable, **fields) from error
