"""What this user saved or declared trusted: a list of manifests' hashes, one empty file each.

The list is in the user's data folder, or in ``$D2LHYBRID_DATA``. Because a manifest holds the hash
of every file, trust covers the whole artifact, and any change ends it.
"""

import os
from pathlib import Path

from platformdirs import user_data_path

from d2lhybrid.core.permissions import explain_unwritable


def is_trusted(digest: str) -> bool:
    """Is the hash of a manifest on this user's list?"""
    return (_trusted_folder() / digest).is_file()


def add_trusted(digest: str) -> None:
    """Put the hash of a manifest on this user's list, which is made if there is none.

    Raises:
        UnwritableFolderError: The system does not let us write to it.
    """
    folder = _trusted_folder()
    with explain_unwritable(folder, "D2LHYBRID_DATA"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / digest).touch(mode=0o600)


def _trusted_folder() -> Path:
    return Path(os.environ.get("D2LHYBRID_DATA") or user_data_path("d2lhybrid")) / "trusted"
