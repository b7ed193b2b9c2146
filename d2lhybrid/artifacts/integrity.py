"""Does an artifact have exactly the files that its manifest lists, by name, size and hash?

No link is followed, no pipe or device is opened, and a file is read only if it has the size that
the manifest gives. A stranger could list one file under many names, or one that takes no space on
the disk, so no file is read that has other names, and none if they are too large together.
"""

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from d2lhybrid.artifacts.manifest import MANIFEST, MAX_PATH, FileEntry, Manifest
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import count, gettext as _, listed, ngettext

# What desktops and Jupyter leave in any folder.
LEFT_BEHIND = {".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
MAX_ENTRIES = 20_000  # files and folders in an artifact
MAX_SHOWN = 20  # names of files that do not belong to one
BLOCK = 1 << 20  # bytes that are read at a time
MAX_TOTAL_BYTES = 1 << 34  # in the files of an artifact; hashing them takes up to a minute


def files_in(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files in a folder with their names in it, but the manifest and what desktops leave.

    Links, pipes and devices are files here, and none is followed or opened.

    Raises:
        DamagedArtifactError: There are more than `MAX_ENTRIES` files and folders, which are no
            artifact, and could keep a reader busy for hours.
    """
    folders, entry_count = [root], 0
    while folders:
        with os.scandir(folders.pop()) as folder_entries:
            for entry in folder_entries:
                entry_count += 1
                if entry_count > MAX_ENTRIES:
                    text = _("Expected at most {most} files and folders. Received: more.")
                    raise errors.DamagedArtifactError(text, most=MAX_ENTRIES)
                name = Path(entry).relative_to(root).as_posix()
                if entry.name in LEFT_BEHIND or name == MANIFEST:
                    continue
                # No file of an artifact lies deeper than the longest path that a manifest names.
                if entry.is_dir(follow_symlinks=False) and len(name) <= MAX_PATH:
                    folders.append(Path(entry))
                else:
                    yield name, os.lstat(entry)


def hash_file(path: Path, size: int) -> str:
    """The SHA-256 of the first `size` bytes of a file; if it grows meanwhile, no more is read."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(size, BLOCK))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


def file_entries(root: Path) -> tuple[FileEntry, ...]:
    """What a manifest says of the files in a folder. A link, a pipe or a device has no hash."""
    entries = []
    for name, status in sorted(files_in(root)):
        is_file = stat.S_ISREG(status.st_mode)
        digest = hash_file(root / name, status.st_size) if is_file else ""
        entries.append(FileEntry(name, status.st_size, digest))
    return tuple(entries)


def find_problems(root: Path, manifest: Manifest) -> tuple[str, ...]:
    """What differs between the files on disk and the manifest; empty if every byte is as saved.

    Names and sizes come first, and only files that have both are read. So what a stranger put into
    the folder, or made larger, costs no time.
    """
    try:
        on_disk = dict(sorted(files_in(root)))
    except errors.DamagedArtifactError as error:
        return (str(error),)
    changed, missing = _("{name!r} has changed since it was saved"), _("{name!r} is missing")
    linked = _("{name!r} is also a file elsewhere, as a hard link; copy the folder")
    expected = {entry.path: entry for entry in manifest.files}  # a file listed twice is read once
    problems, to_read = [], []
    for name, entry in expected.items():
        if name not in on_disk:
            problems.append(missing.format(name=name))
        elif not _has_size(on_disk[name], entry.size):
            problems.append(changed.format(name=name))
        elif on_disk[name].st_nlink > 1:
            problems.append(linked.format(name=name))
        else:
            to_read.append(entry)
    if (size := sum(entry.size for entry in to_read)) > MAX_TOTAL_BYTES:
        text = _("the files have {size} bytes, but may have {most} at most")
        problems.append(text.format(size=count(size), most=count(MAX_TOTAL_BYTES)))
    else:
        for entry in to_read:
            if hash_file(root / entry.path, entry.size) != entry.sha256:
                problems.append(changed.format(name=entry.path))
    strange = [name for name in on_disk if name not in expected]
    return (*problems, *_describe_strange(strange))


def require_intact(root: Path, manifest: Manifest) -> None:
    """Raise DamagedArtifactError unless every byte is as it was saved."""
    if problems := find_problems(root, manifest):
        text = _(
            "Expected the files in {path!r} as they were saved, but {problems}. Nothing was "
            "loaded; get the artifact again."
        )
        raise errors.DamagedArtifactError(text, path=str(root), problems=listed(problems[:3]))


def _has_size(status: os.stat_result, size: int) -> bool:
    """Is it a regular file of that size?"""
    return stat.S_ISREG(status.st_mode) and status.st_size == size


def _describe_strange(names: Sequence[str]) -> Iterator[str]:
    """A sentence for each file that the manifest does not list, and one for those not shown."""
    for name in names[:MAX_SHOWN]:
        yield _("{name!r} isn't part of the artifact").format(name=name)
    if (more := len(names) - MAX_SHOWN) > 0:
        text = ngettext(
            "{n} more file isn't part of the artifact",
            "{n} more files aren't part of the artifact",
            more,
        )
        yield text.format(n=count(more))
