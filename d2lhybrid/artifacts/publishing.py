"""Artifact folders as they are written: a new one replaces the old one whole.

It is written into a hidden folder beside the old one, flushed, and exchanged with it by a single
system call (``renameat2`` of Linux), so every moment has a whole artifact at the path. Where there
is no exchange, two renames do it; what comes between them finds the old one under its spare name.
"""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import socket
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

from d2lhybrid.artifacts.files import flush, flush_one, list_files, reading
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
    current = ""
    with contextlib.suppress(FileNotFoundError):  # it may be gone already
        current = os.getcwd()
    if not root.name or (current and Path(current).is_relative_to(os.path.realpath(root))):
        raise _refusal(root, _("it is the current folder, or holds it."))
    if not root.parent.is_dir():
        raise ArtifactAccessError(
            errno.ENOENT,
            _("Expected the folder {folder!r} to write the artifact into. Make it first.").format(
                folder=str(root.parent)
            ),
        )
    staging = root.with_name(f".{root.name}.saving-{_host()}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    try:
        _recover(root)
        require_own(root)
        try:
            os.mkdir(staging)
            yield staging
            flush(staging)
            _publish(staging, root)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
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
    """Finish what killed processes of this machine left: give back the spare, remove the rest."""
    if os.path.lexists(spare(root)):
        require_own(spare(root))
        if os.path.lexists(root):
            shutil.rmtree(spare(root), ignore_errors=True)
        else:
            os.rename(spare(root), root)
    left = re.compile(rf"\.{re.escape(root.name)}\.saving-{_host()}-(\d+)-[0-9a-f]{{8}}")
    for other in root.parent.iterdir():
        named = left.fullmatch(other.name)
        if named and not _alive(int(named[1])):
            shutil.rmtree(other, ignore_errors=True)


def _host() -> str:
    return re.sub(r"\W", "", socket.gethostname())


def _alive(process: int) -> bool:
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True
