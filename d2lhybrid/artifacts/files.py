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
    BLOCK,
    MANIFEST,
    MAX_BYTES,
    MAX_FILES,
    SIGNATURE,
    FileEntry,
    check_clashes,
)
from d2lhybrid.errors import ArtifactAccessError, ArtifactError, DamagedArtifactError
from d2lhybrid.i18n import gettext as _

# Not listed in the manifest: our own two files, and what desktops and Jupyter leave in folders.
UNLISTED = {MANIFEST, SIGNATURE, ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
MAX_DEPTH = 16
_CHUNK = 1 << 20

Piece = tuple[Path, int, int]  # a file, where to begin, and how many bytes


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the operating system says while we read into an error of ours."""
    try:
        yield
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _("Cannot read {path!r}: {reason}; check its permissions.").format(
                path=str(path), reason=error.strerror
            ),
        ) from error


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
    raise DamagedArtifactError(
        _(
            "Expected a plain file, received {name!r}, which is a link, a pipe or a device; "
            "do not use this artifact."
        ).format(name=path.name)
    )


def read_small(path: Path) -> bytes:
    """Bytes of a file of at most 1 MiB."""
    with reading(path), open_regular(path) as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise DamagedArtifactError(
            _(
                "Expected at most {limit} bytes in {file}, received more; get the artifact again."
            ).format(limit=MAX_BYTES, file=path.name)
        )
    return raw


def list_files(root: Path) -> dict[str, int]:
    """Path and size of every file below `root`, without the manifest and the signature.

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
                if name in UNLISTED or name.startswith(f".{SIGNATURE}."):  # of a killed trust
                    continue
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode) and name.count("/") < MAX_DEPTH:
                    folders.append(name + "/")
                elif stat.S_ISREG(info.st_mode):
                    found[name] = info.st_size
                else:
                    raise DamagedArtifactError(
                        _(
                            "Expected plain files and folders, received {name!r}, which is a link, "
                            "a pipe, a device or too deep a folder; do not use this artifact."
                        ).format(name=name)
                    )
                if len(found) + len(folders) > MAX_FILES:
                    raise DamagedArtifactError(
                        _("Expected at most {limit} files; do not use this artifact.").format(
                            limit=MAX_FILES
                        )
                    )
    check_clashes(sorted(found))
    return found


def entries(root: Path) -> tuple[FileEntry, ...]:
    """Name, size and hash of every file in a folder that is being written."""
    sizes = dict(sorted(list_files(root).items()))
    digests = hash_pieces([(root / name, 0, size) for name, size in sizes.items()])
    return tuple(map(FileEntry, sizes, sizes.values(), digests))


def block_digests(root: Path) -> dict[str, list[str]]:
    """The hashes of the blocks of each large file.

    A file's own hash is one chain, which one core must follow to its end; those of its blocks can
    be checked side by side.
    """
    large = {name: size for name, size in list_files(root).items() if size > BLOCK}
    return {name: hash_pieces(blocks(root / name, size)) for name, size in large.items()}


def blocks(path: Path, size: int) -> list[Piece]:
    """The pieces of a file that ``block_digests`` hashes."""
    return [(path, start, min(BLOCK, size - start)) for start in range(0, size, BLOCK)]


def hash_pieces(pieces: Sequence[Piece]) -> list[str]:
    """SHA-256 of each piece, in hex; every core takes part."""
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        return list(pool.map(_sha256, pieces))


def _sha256(piece: Piece) -> str:
    path, start, left = piece
    digest, buffer = hashlib.sha256(), memoryview(bytearray(min(_CHUNK, left)))
    with open_regular(path) as file:
        file.seek(start)
        while left and (size := file.readinto(buffer[:left])):
            digest.update(buffer[:size])
            left -= size
    return digest.hexdigest()


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
