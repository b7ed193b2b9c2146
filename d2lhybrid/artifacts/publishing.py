"""Artifact folders as they are written: a new one replaces the old one whole.

It is written into a hidden sibling folder, flushed, and exchanged with the old one by a single
system call (``renameat2`` of Linux), so every moment has a whole artifact at the path. Where there
is no exchange, two renames do it, and a reader who comes between them finds the old artifact under
its spare name.
"""

import contextlib
import ctypes
import errno
import glob
import os
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.artifacts.files import flush, flush_one, list_files, reading
from d2lhybrid.artifacts.store import absolute, read, spare
from d2lhybrid.errors import ArtifactAccessError, ArtifactError, ArtifactNotFoundError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences

try:
    import fcntl
except ImportError:  # Windows: leftovers of killed writers stay, everything else holds
    fcntl = None  # type: ignore[assignment]


_PATIENCE = 60.0  # seconds to wait for another program that holds a folder
_LEFT = re.compile(r".*\.saving-[0-9a-f]{12}", re.DOTALL)  # the names that `_hidden` makes


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `path` when the block ends.

    Raises:
        ArtifactNotFoundError: What lies at `path` is not an artifact, or holds files of the user's.
        ArtifactAccessError: Full disk, no permission, missing parent folder.
    """
    root = absolute(path)
    _require_elsewhere(root)
    staging = _hidden(root)
    try:
        with contextlib.ExitStack() as held:
            with locked(root.parent):
                _recover(root)
                require_own(root)
                held.callback(shutil.rmtree, staging, ignore_errors=True)
                os.mkdir(staging)
                held.enter_context(locked(staging))  # until this process ends, whatever ends it
            yield staging
            flush(staging)
            _publish(staging, root)
    except ArtifactError:
        raise
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _(
                "Could not write the artifact {path!r}: {reason}. What was there before is still "
                "there; free space, or choose a folder that you may write to."
            ).format(path=str(root), reason=error.strerror or error),
        ) from error


def _require_elsewhere(root: Path) -> None:
    """Raise ArtifactNotFoundError if replacing `root` would take away the current folder."""
    with contextlib.suppress(FileNotFoundError):  # the current folder is gone already
        if not root.name or Path.cwd().is_relative_to(os.path.realpath(root)):
            raise _refusal(root, _("it is the current folder, or holds it."))


def _refusal(root: Path, reason: str) -> ArtifactNotFoundError:
    return ArtifactNotFoundError(
        sentences(
            _("Will not overwrite {path!r}: {reason}").format(path=str(root), reason=reason),
            _("Choose another path, or move it away."),
        )
    )


def require_own(root: Path) -> None:
    """Raise ArtifactNotFoundError if overwriting `root` could lose what `save` did not write."""
    if not os.path.lexists(root) or (
        root.is_dir() and not root.is_symlink() and not any(root.iterdir())
    ):
        return
    try:
        known = {entry.path for entry in read(root).manifest.files}
        with reading(root):
            foreign = sorted(list_files(root).keys() - known)
        text = _("{name!r} does not belong to the artifact.")
        reason = text.format(name=foreign[0]) if foreign else ""
    except ArtifactAccessError:
        raise
    except ArtifactError as error:
        reason = str(error)
    if reason:
        raise _refusal(root, reason)
    if not os.access(root, os.W_OK):
        raise PermissionError(errno.EACCES, _("the artifact there is read-only"))


def _publish(staging: Path, root: Path) -> None:
    with locked(root.parent):
        require_own(root)
        try:
            os.rename(staging, root)  # nothing there, or an empty folder
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM):
                raise
            if not _exchange(staging, root):
                os.rename(root, spare(root))
                os.rename(staging, root)
                os.rename(spare(root), staging)  # half removed, it must not lie there as the spare
        flush_one(root.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Swap two folders in one step; False where the system or the file system cannot."""
    if sys.platform != "linux":
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE
    if call and not call(here, os.fsencode(one), here, os.fsencode(other), exchange):
        return True
    if call and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return False


def _recover(root: Path) -> None:
    """Finish what killed writers left behind: give back the spare, remove unowned staging."""
    if os.path.lexists(spare(root)):
        require_own(spare(root))
        if os.path.lexists(root):
            old = _hidden(root)
            os.rename(spare(root), old)
            shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(spare(root), root)
    for left in root.parent.glob(f".{glob.escape(root.name)}.saving-*") if fcntl else ():
        if _LEFT.fullmatch(left.name):
            with contextlib.suppress(OSError), locked(left, wait=False):
                shutil.rmtree(left, ignore_errors=True)


def _hidden(root: Path) -> Path:
    return root.with_name(f".{root.name}.saving-{uuid.uuid4().hex[:12]}")


@contextlib.contextmanager
def locked(folder: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold a folder: a parent while names in it change, a new artifact while it is written.

    Raises:
        ArtifactAccessError: Another program holds it, and still does after a minute of waiting.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _hold(handle, folder, _PATIENCE if wait else 0.0)
        yield
    finally:
        os.close(handle)


def _hold(handle: int, folder: Path, seconds: float) -> None:
    """Lock an open folder; asks again and again, as flock itself would wait for ever."""
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= end:
                raise ArtifactAccessError(
                    error.errno,
                    _(
                        "Another program holds the folder {path!r}; try again when it is done."
                    ).format(path=str(folder)),
                ) from error
        time.sleep(0.005)
