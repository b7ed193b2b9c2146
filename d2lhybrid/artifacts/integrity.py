"""Does an artifact have exactly the files that its manifest lists, by name, size and hash?

No link is followed, and no pipe or device is opened: a file is read only if the manifest lists it
and it has the size that the manifest gives.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.artifacts.manifest import MANIFEST, FileEntry, Manifest
from d2lhybrid.core.i18n import count, gettext as _

# What desktops and Jupyter leave in any folder.
LEFT_BEHIND = {".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
MAX_TOTAL_BYTES = 1 << 34  # in the files of an artifact; hashing them takes up to a minute


def files_in(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files in a folder with their names in it, but the manifest and what desktops leave.

    Links, pipes and devices are files here, and none is followed or opened.
    """
    folders = [root]
    while folders:
        for entry in [*os.scandir(folders.pop())]:  # which is closed then, whatever comes
            name = Path(entry).relative_to(root).as_posix()
            if entry.name in LEFT_BEHIND or name == MANIFEST:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(Path(entry))
            else:
                yield name, entry.stat(follow_symlinks=False)


def hash_file(path: Path) -> str:
    """The SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def file_entries(root: Path) -> tuple[FileEntry, ...]:
    """What a manifest says of the files in a folder."""
    return tuple(
        FileEntry(name, status.st_size, hash_file(root / name))
        for name, status in sorted(files_in(root))
    )


def find_problems(root: Path, manifest: Manifest) -> tuple[str, ...]:
    """What differs between the files on disk and the manifest; empty if every byte is as saved.

    What a stranger put into the folder, or made larger, is not read, so it costs no time.
    """
    total = sum(entry.size for entry in manifest.files)
    if total > MAX_TOTAL_BYTES:
        text = _("the files have {size} bytes, but may have {most} at most")
        return (text.format(size=count(total), most=count(MAX_TOTAL_BYTES)),)
    on_disk, problems = dict(files_in(root)), []
    for entry in manifest.files:
        status = on_disk.pop(entry.path, None)
        if status is None:
            problems.append(_("{name!r} is missing").format(name=entry.path))
        elif not _is_as_saved(root / entry.path, status, entry):
            problems.append(_("{name!r} has changed since it was saved").format(name=entry.path))
    strange = _("{name!r} isn't part of the artifact")
    return (*problems, *(strange.format(name=name) for name in sorted(on_disk)))


def _is_as_saved(path: Path, status: os.stat_result, entry: FileEntry) -> bool:
    """Is it a regular file with that size and, which is found out last, with that hash?"""
    has_size = stat.S_ISREG(status.st_mode) and status.st_size == entry.size
    return has_size and hash_file(path) == entry.sha256
