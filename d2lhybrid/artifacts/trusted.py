"""What this user saved or declared trusted: a list of manifests' hashes, one empty file each.

The list is in the user's data folder, or in ``$D2LHYBRID_DATA``. Because a manifest holds the hash
of every file, trust covers the whole artifact, and any change ends it.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from platformdirs import user_data_path

from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _


def is_trusted(digest: str) -> bool:
    """Is the hash of a manifest on this user's list?"""
    return (_trusted_folder() / digest).is_file()


def add_trusted(*digests: str) -> None:
    """Put hashes of manifests on this user's list, which is made if there is none.

    Raises:
        UnwritableFolderError: The system does not let us write to it.
    """
    folder = _trusted_folder()
    with explain_unwritable(folder, "D2LHYBRID_DATA"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for digest in digests:
            (folder / digest).touch(mode=0o600)


@contextlib.contextmanager
def explain_unwritable(folder: Path, variable: str) -> Iterator[None]:
    """Raise UnwritableFolderError for an OSError: `variable` can name another folder."""
    try:
        yield
    except OSError as error:
        text = _(
            "Cannot write to {folder!r}: {error}. Set {variable} to a folder that you can write to."
        )
        fields = {"folder": str(folder), "error": error.strerror or str(error)}
        raise errors.UnwritableFolderError(text, variable=variable, **fields) from error


def _trusted_folder() -> Path:
    return Path(os.environ.get("D2LHYBRID_DATA") or user_data_path("d2lhybrid")) / "trusted"
