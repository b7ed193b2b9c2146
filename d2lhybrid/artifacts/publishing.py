"""Artifact folders as they are written: a new one replaces the old one whole.

It is written into a hidden folder beside the old one, flushed, and exchanged with it by a single
system call (``renameat2`` of Linux), so every moment has a whole artifact at the path. Where there
is no exchange, two renames do it; what comes between them finds the old one under its spare name.
"""

import contextlib
import ctypes
import errno
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.artifacts.files import accessing, flush, flush_one, list_files
from d2lhybrid.artifacts.store import absolute, read, spare
from d2lhybrid.errors import ArtifactAccessError, ArtifactError, ArtifactNotFoundError
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import sentences


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `path` when the block ends.

    Raises:
        ArtifactNotFoundError: What lies at `path` is not an artifact, or holds files of the user's.
        ArtifactAccessError: Full disk, no permission, missing parent folder.
    """
    root = absolute(path)
    if _holds_current(root):
        raise _refusal(root, _("it is the current folder, or holds it."))
    if not root.parent.is_dir():
        text = _("Expected the folder {folder!r} to write the artifact into. Make it first.")
        raise ArtifactAccessError(text, errno=errno.ENOENT, folder=str(root.parent))
    text = _(
        "Could not write the artifact {path!r}: {reason}. What was there before is still "
        "there; free space, or choose a folder that you may write to."
    )
    staging = root.with_name(f".{root.name}.saving-{uuid.uuid4().hex}")
    with accessing(root, text):
        _require_own(root)
        try:
            os.mkdir(staging)
            yield staging
            flush(staging)
            _publish(staging, root)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _holds_current(root: Path) -> bool:
    try:
        return Path.cwd().is_relative_to(os.path.realpath(root))
    except FileNotFoundError:  # there is none any more
        return False


def _refusal(root: Path, reason: str) -> ArtifactNotFoundError:
    return ArtifactNotFoundError(
        sentences(
            _("Will not overwrite {path!r}: {reason}").format(path=str(root), reason=reason),
            _("Choose another path, or move it away."),
        )
    )


def _require_own(root: Path) -> None:
    """Raise ArtifactNotFoundError if overwriting `root` could lose what `save` did not write."""
    if not os.path.lexists(root):
        if not os.path.lexists(spare(root)):
            return
        os.rename(spare(root), root)  # what a process left that was killed between two renames
    if root.is_dir() and not root.is_symlink() and not any(root.iterdir()):
        return
    try:
        known = {entry.path for entry in read(root).manifest.files}
        foreign = sorted(list_files(root).keys() - known)
    except ArtifactAccessError:
        raise
    except ArtifactError as error:
        raise _refusal(root, str(error)) from error
    if foreign:
        text = _("{name!r} does not belong to the artifact.")
        raise _refusal(root, text.format(name=foreign[0]))
    if not os.access(root, os.W_OK):
        raise PermissionError(errno.EACCES, _("the artifact there is read-only"))


def _publish(staging: Path, root: Path) -> None:
    _require_own(root)
    try:
        os.rename(staging, root)  # nothing there, or an empty folder
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM):
            raise
        if not _exchange(staging, root):
            _rename_twice(staging, root)
    flush_one(root.parent)


def _rename_twice(staging: Path, root: Path) -> None:
    """Exchange by way of the spare, which is a whole artifact whenever it is there."""
    if os.path.lexists(spare(root)):  # of a process that was killed before its last step
        _require_own(spare(root))
        os.rename(spare(root), f"{staging}-old")
        shutil.rmtree(f"{staging}-old", ignore_errors=True)
    os.rename(root, spare(root))
    os.rename(staging, root)
    os.rename(spare(root), staging)


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
