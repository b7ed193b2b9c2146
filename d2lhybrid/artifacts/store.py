"""Artifact folders on disk: checked reading, and writing that replaces a folder whole.

A new artifact is written into a hidden sibling folder, flushed, and exchanged with the old one by
a single system call (``renameat2`` on Linux, ``renamex_np`` on macOS), so every moment has a whole
artifact at the path. Where the file system has no exchange, two renames do it, and a reader who
comes between them finds the old artifact under its spare name.
"""

import contextlib
import ctypes
import errno
import glob
import hashlib
import io
import os
import shutil
import stat
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from d2lhybrid.artifacts.manifest import (
    MANIFEST,
    MAX_BYTES,
    MAX_FILES,
    SIGNATURE,
    FileEntry,
    Manifest,
    check_clashes,
    parse,
)
from d2lhybrid.errors import (
    ArtifactError,
    ArtifactNotFoundError,
    ArtifactReadError,
    ArtifactWriteError,
    DamagedArtifactError,
    NotAnArtifactError,
    UnsafeArtifactError,
)

try:
    import fcntl
except ImportError:  # Windows: leftovers of killed writers stay, everything else holds
    fcntl = None  # type: ignore[assignment]

# Not listed in the manifest: our own two files, and what desktops and Jupyter leave in folders.
UNLISTED = {MANIFEST, SIGNATURE, ".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
MAX_DEPTH = 16
_CHUNK = 1 << 20

T = TypeVar("T")


@dataclass(frozen=True)
class Stored:
    """An artifact folder whose manifest was read: its path, the manifest's bytes and content."""

    root: Path
    raw: bytes
    manifest: Manifest


def locate(path: str | os.PathLike[str]) -> Path:
    """The absolute folder of an artifact.

    Raises:
        ArtifactNotFoundError: Nothing is there.
        NotAnArtifactError: There is a file or a link, or the folder has no manifest.
    """
    root = _absolute(path)
    if not os.path.lexists(root) and os.path.lexists(_spare(root)):
        root = _spare(root)
    with reading(root):
        try:
            folder = stat.S_ISDIR(os.lstat(root).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            raise ArtifactNotFoundError(
                f"Expected an artifact at {str(root)!r}, and nothing is there; check the path."
            ) from None
        if not folder:
            raise NotAnArtifactError(
                f"Expected an artifact folder at {str(root)!r}, received a file or a link; "
                "pass the folder that d2lhybrid.save made."
            )
        try:
            os.lstat(root / MANIFEST)
        except FileNotFoundError:
            raise NotAnArtifactError(
                f"The folder {str(root)!r} has no {MANIFEST}, so d2lhybrid.save did not make it; "
                "open it with the framework that wrote it."
            ) from None
    return root


def read(path: str | os.PathLike[str]) -> Stored:
    """Read the manifest, and nothing else, of the artifact at `path`."""
    root = locate(path)
    raw = read_small(root / MANIFEST)
    return Stored(root, raw, parse(raw))


def steady(path: str | os.PathLike[str], action: Callable[[Stored], T]) -> T:
    """Do `action` on an artifact that nobody replaced meanwhile; begin again if somebody did."""
    for attempt in range(20):
        before = _identity(path)
        try:
            result = action(read(path))
        except ArtifactError as error:
            after = _identity(path)
            # Between two renames there is nothing to read at the path for a moment.
            absent = isinstance(
                error, ArtifactReadError | ArtifactNotFoundError | NotAnArtifactError
            )
            if attempt == 19 or (after == before and (not absent or attempt > 9)):
                raise
            time.sleep(0.002)
        else:
            if _identity(path) == before:
                return result
    raise ArtifactReadError(f"{str(path)!r} was replaced again and again while it was read.")


def _identity(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    try:
        root = locate(path)
        folder, file = os.lstat(root), os.lstat(root / MANIFEST)
    except (ArtifactError, OSError):
        return None
    return folder.st_dev, folder.st_ino, file.st_ino, file.st_mtime_ns


def read_small(path: Path) -> bytes:
    """Bytes of a file of at most 1 MiB."""
    with reading(path), open_regular(path) as file:
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise DamagedArtifactError(
            f"Expected at most {MAX_BYTES} bytes in {path.name}, received more; "
            "get the artifact again."
        )
    return raw


def check_files(stored: Stored, *, content: bool = True) -> list[str]:
    """What differs between the files on disk and the manifest; hashes them if `content`.

    Raises:
        UnsafeArtifactError: A link, pipe or device lies in the folder, or two names clash.
    """
    with reading(stored.root):
        found = list_files(stored.root)
        expected = {entry.path: entry for entry in stored.manifest.files}
        problems = [f"{name!r} is missing" for name in sorted(expected.keys() - found)]
        problems += [f"{name!r} does not belong here" for name in sorted(found.keys() - expected)]
        for name in sorted(expected.keys() & found):
            entry = expected[name]
            if found[name] != entry.size:
                problems.append(f"{name!r} has {found[name]} bytes, not {entry.size}")
            elif content and sha256(stored.root / name) != entry.sha256:
                problems.append(f"{name!r} has other bytes than were saved")
    return problems


def require_intact(stored: Stored) -> None:
    """Raise DamagedArtifactError unless every byte is as it was saved."""
    problems = check_files(stored)
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise DamagedArtifactError(
            f"Expected the files as they were saved in {str(stored.root)!r}; "
            f"{'; '.join(problems[:3])}{more}. Nothing was loaded; get the artifact again."
        )


def list_files(root: Path) -> dict[str, int]:
    """Path and size of every file below `root`, without the manifest and the signature."""
    found: dict[str, int] = {}
    folders = [""]
    while folders:
        prefix = folders.pop()
        with os.scandir(root / prefix) as entries:
            for entry in entries:
                name = prefix + entry.name
                if name in UNLISTED or name.startswith(
                    f".{SIGNATURE}."
                ):  # the latter: a killed trust
                    continue
                info = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(info.st_mode) and name.count("/") < MAX_DEPTH:
                    folders.append(name + "/")
                elif stat.S_ISREG(info.st_mode):
                    found[name] = info.st_size
                else:
                    raise UnsafeArtifactError(
                        f"Expected plain files and folders, received {name!r}, which is a link, "
                        "a pipe, a device or too deep a folder; do not use this artifact."
                    )
                if len(found) + len(folders) > MAX_FILES:
                    raise UnsafeArtifactError(
                        f"Expected at most {MAX_FILES} files; do not use this artifact."
                    )
    check_clashes(sorted(found))
    return found


def entries(root: Path, known: Sequence[FileEntry] = ()) -> tuple[FileEntry, ...]:
    """Name, size and hash of every file in a folder that is being written; `known` ones as told."""
    told = {entry.path: entry for entry in known}
    return tuple(
        told.get(name) or FileEntry(name, size, sha256(root / name))
        for name, size in sorted(list_files(root).items())
    )


def sha256(path: Path) -> str:
    """SHA-256 of a file in hex, in constant memory."""
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_CHUNK))
    with open_regular(path) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


def open_regular(path: Path) -> io.FileIO:
    """Open a regular file for reading; never follows a link, never waits for a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_regular(path) from None
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_regular(path)
    return io.FileIO(handle, "rb")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn what the operating system says while we read into an error of ours."""
    try:
        yield
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactReadError(
            error.errno, f"Cannot read {str(path)!r}: {error.strerror}; check its permissions."
        ) from error


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `path` when the block ends.

    Raises:
        NotAnArtifactError: What lies at `path` is not an artifact, or holds files of the user's.
        ArtifactWriteError: Full disk, no permission, missing parent folder.
    """
    root = _absolute(path)
    staging = root.with_name(f".{root.name}.saving-{uuid.uuid4().hex[:12]}")
    lock = None
    try:
        with _parent_lock(root):
            _recover(root)
            require_own(root)
            os.mkdir(staging)
            lock = _lock(staging)
        yield staging
        _flush(staging)
        _publish(staging, root)
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactWriteError(
            error.errno,
            f"Could not write the artifact {str(root)!r}: {error.strerror or error}. What was "
            "there before is still there; free space, or choose a folder that you may write to.",
        ) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def require_own(root: Path) -> None:
    """Raise NotAnArtifactError if overwriting `root` could lose what `save` did not write."""
    if not os.path.lexists(root) or (
        root.is_dir() and not root.is_symlink() and not any(root.iterdir())
    ):
        return
    try:
        stored = read(root)
        extra = [p for p in check_files(stored, content=False) if "belong" in p]
        reason = extra[0] if extra else ""
    except ArtifactReadError:
        raise
    except ArtifactError as error:
        reason = str(error)
    if reason:
        raise NotAnArtifactError(
            f"Will not overwrite {str(root)!r}: {reason} Choose another path, or move it away."
        )
    if not os.access(root, os.W_OK):
        raise PermissionError(errno.EACCES, "the artifact there is read-only")


def _publish(staging: Path, root: Path) -> None:
    with _parent_lock(root):
        require_own(root)
        try:
            os.rename(staging, root)  # nothing there, or an empty folder
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM):
                raise
            if not _exchange(staging, root):
                os.rename(root, _spare(root))
                os.rename(staging, root)
                shutil.rmtree(_spare(root), ignore_errors=True)
        _flush_folder(root.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system or the file system cannot."""
    name = {"linux": "renameat2", "darwin": "renamex_np"}.get(sys.platform, "")
    call = getattr(ctypes.CDLL(None, use_errno=True), name, None) if name else None
    if call is None:
        return False
    a, b = os.fsencode(one), os.fsencode(other)
    here, swap = -100, 2  # AT_FDCWD; RENAME_EXCHANGE and RENAME_SWAP
    failed = call(here, a, here, b, swap) if name == "renameat2" else call(a, b, swap)
    if failed and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return not failed


def _recover(root: Path) -> None:
    """Finish what killed writers left behind: give back the spare, remove unowned staging."""
    if os.path.lexists(_spare(root)):
        require_own(_spare(root))
        if os.path.lexists(root):
            shutil.rmtree(_spare(root), ignore_errors=True)
        else:
            os.rename(_spare(root), root)
    if fcntl is None:
        return
    for left in root.parent.glob(f".{glob.escape(root.name)}.saving-*"):
        with contextlib.suppress(OSError):
            handle = _lock(left)
            if handle is not None:
                os.close(handle)
            shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _parent_lock(root: Path) -> Iterator[None]:
    """One writer at a time, for the short moments in which names change."""
    if fcntl is None:
        yield
        return
    handle = os.open(root.parent, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _lock(folder: Path) -> int | None:
    """Mark a folder as being written to for as long as this process lives."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _flush(folder: Path) -> None:
    for where, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(where, name), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        _flush_folder(Path(where))


def _flush_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _absolute(path: str | os.PathLike[str]) -> Path:
    try:
        if "\0" in os.fsencode(path).decode("latin-1"):
            raise ValueError("a path holds no NUL")
        return Path(os.path.abspath(os.fspath(path)))
    except (TypeError, ValueError) as error:
        raise ArtifactNotFoundError(
            f"Expected the path of a folder, received {path!r} ({error})."
        ) from error


def _spare(root: Path) -> Path:
    return root.with_name(f".{root.name}.replaced")


def _not_regular(path: Path) -> UnsafeArtifactError:
    return UnsafeArtifactError(
        f"Expected a plain file, received {path.name!r}, which is a link, a pipe or a device; "
        "do not use this artifact."
    )
