"""The plain files of a folder: found, opened and hashed as if an enemy had put them there."""

import contextlib
import errno
import hashlib
import io
import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from d2lhybrid.artifacts.manifest import (
    MANIFEST,
    MAX_BYTES,
    SIGNATURE,
    FileEntry,
    check_clashes,
)
from d2lhybrid.errors import ArtifactAccessError, ArtifactError, DamagedArtifactError
from d2lhybrid.i18n import gettext as _

# Not listed in the manifest: our own two files, and what desktops and Jupyter leave in any folder.
OURS = {MANIFEST, SIGNATURE, f".{SIGNATURE}"}
LEFT_BEHIND = {".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}


@contextlib.contextmanager
def accessing(path: Path, text: str) -> Iterator[None]:
    """Say in `text`, with {path} and {reason}, what the operating system does not let us do."""
    try:
        yield
    except ArtifactError:
        raise
    except OSError as error:
        reason = error.strerror or error
        raise ArtifactAccessError(text, errno=error.errno, path=str(path), reason=reason) from error


def reading(path: Path) -> contextlib.AbstractContextManager[None]:
    """Turn what the operating system says while we read into an error of ours."""
    return accessing(path, _("Cannot read {path!r}: {reason}; check its permissions."))


def open_regular(path: Path) -> io.FileIO:
    """Open a regular file for reading; never follows a link, never waits for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
        if stat.S_ISREG(os.fstat(handle).st_mode):
            return io.FileIO(handle, "rb")
        os.close(handle)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    raise _strange(path.name)


def read_small(path: Path) -> bytes:
    """The bytes of a file; of one above 1 MiB, which no reader takes, a byte more than that."""
    with reading(path), open_regular(path) as file:
        return file.read(MAX_BYTES + 1)


def list_files(root: Path) -> dict[str, int]:
    """Path and size of every file below `root`, without those that no manifest lists.

    Raises:
        DamagedArtifactError: A link, pipe or device lies in the folder, or two names clash.
    """
    found: dict[str, int] = {}
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(root / prefix) as entries:
            for entry in entries:
                name = prefix + entry.name
                if name in OURS or entry.name in LEFT_BEHIND:
                    continue
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode):
                    folders.append(name + "/")
                elif stat.S_ISREG(info.st_mode):
                    found[name] = info.st_size
                else:
                    raise _strange(name)
    check_clashes(sorted(found))
    return found


def _strange(name: str) -> DamagedArtifactError:
    return DamagedArtifactError(
        _(
            "Expected a plain file, received {name!r}, which is a link, a pipe or a device; "
            "do not use this artifact."
        ),
        name=name,
    )


def entries(root: Path) -> tuple[FileEntry, ...]:
    """Name, size and hash of every file in a folder that is being written."""
    sizes = dict(sorted(list_files(root).items()))
    digests = hashes([root / name for name in sizes])
    return tuple(map(FileEntry, sizes, sizes.values(), digests))


def hashes(paths: Sequence[Path]) -> list[str]:
    """SHA-256 of each file, in hex; files are hashed side by side."""
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(_sha256, paths))


def _sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def flush(folder: Path) -> None:
    """Wait until the disk has a folder and all that is in it."""
    for where, _folders, names in os.walk(folder):
        for name in (*names, "."):
            flush_one(Path(where, name))


def flush_one(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    if os.name != "posix" and path.is_dir():  # Windows opens no folders
        return
    handle = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
