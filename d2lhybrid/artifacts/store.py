"""Artifact folders as they are read: found, described by their manifest, and checked against it."""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from d2lhybrid.artifacts.files import (
    UNLISTED,
    blocks,
    hash_pieces,
    list_files,
    open_regular,
    read_small,
    reading,
)
from d2lhybrid.artifacts.manifest import MANIFEST, SIGNATURE, Manifest, parse
from d2lhybrid.errors import (
    ArtifactAccessError,
    ArtifactError,
    ArtifactNotFoundError,
    DamagedArtifactError,
)
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, ngettext

T = TypeVar("T")
_CHUNK = 16 << 20  # bytes read at once


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
        ArtifactNotFoundError: There is a file or a link, or the folder has no manifest.
    """
    root = absolute(path)
    if not os.path.lexists(root) and os.path.lexists(spare(root)):
        root = spare(root)
    with reading(root):
        try:
            folder = stat.S_ISDIR(os.lstat(root).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            raise ArtifactNotFoundError(
                _("Expected an artifact at {path!r}, and nothing is there; check the path.").format(
                    path=str(root)
                )
            ) from None
        if not folder:
            raise ArtifactNotFoundError(
                _(
                    "Expected an artifact folder at {path!r}, received a file or a link; "
                    "pass the folder that d2lhybrid.save made."
                ).format(path=str(root))
            )
        try:
            os.lstat(root / MANIFEST)
        except FileNotFoundError:
            raise ArtifactNotFoundError(
                _(
                    "The folder {path!r} has no {file}, so d2lhybrid.save did not make it; "
                    "open it with the framework that wrote it."
                ).format(path=str(root), file=MANIFEST)
            ) from None
    return root


def absolute(path: str | os.PathLike[str]) -> Path:
    """The path from the root on, of a file or folder that need not exist."""
    try:
        text = os.fsdecode(path)
        if "\0" in text:
            raise ValueError(_("a path holds no NUL"))
        os.fsencode(text)  # as the file system must be able to
        return Path(os.path.abspath(text))
    except (TypeError, ValueError, FileNotFoundError) as error:  # the last: no current folder
        raise ArtifactNotFoundError(
            _("Expected the path of a folder, received {received!r} ({reason}).").format(
                received=path, reason=error
            )
        ) from error


def spare(root: Path) -> Path:
    """Where the old artifact lies while a new one takes its place in two steps."""
    return root.with_name(f".{root.name}.replaced")


def read(path: str | os.PathLike[str]) -> Stored:
    """Read the manifest, and nothing else, of the artifact at `path`."""
    root = locate(path)
    raw = read_small(root / MANIFEST)
    return Stored(root, raw, parse(raw))


def steady(path: str | os.PathLike[str], action: Callable[[Stored], T]) -> T:
    """Do `action` on an artifact that nobody replaced meanwhile; begin again if somebody did."""
    path = absolute(path)  # whatever the current folder is meanwhile
    for attempt in range(20):
        before = _identity(path)
        try:
            result = action(read(path))
        except ArtifactError as error:
            # Between two renames there is nothing to read at the path for a moment.
            absent = isinstance(
                error, ArtifactAccessError | ArtifactNotFoundError | ArtifactNotFoundError
            )
            if _identity(path) == before and (not absent or attempt > 9):
                raise
            time.sleep(0.002)
        else:
            if _identity(path) == before:
                return result
    raise replaced(path)


def replaced(path: Path) -> ArtifactAccessError:
    """The error that says that somebody replaces an artifact all the time."""
    text = _("{path!r} was replaced again and again while it was read.")
    return ArtifactAccessError(text.format(path=str(path)))


def _identity(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    try:
        found = os.lstat(locate(path) / MANIFEST)
    except (ArtifactError, OSError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def check_files(stored: Stored, *, content: bool = True) -> list[str]:
    """What differs between the files on disk and the manifest; hashes them if `content`.

    Raises:
        DamagedArtifactError: A link, pipe or device lies in the folder, or two names clash.
    """
    with reading(stored.root):
        found = list_files(stored.root)
        expected = {entry.path: entry.size for entry in stored.manifest.files}
        missing, foreign = _("{name!r} is missing"), _("{name!r} does not belong here")
        problems = [missing.format(name=name) for name in sorted(expected.keys() - found)]
        problems += [foreign.format(name=name) for name in sorted(found.keys() - expected)]
        size = _("{name!r} has {size} bytes, not {expected}")
        problems += [
            size.format(name=name, size=found[name], expected=expected[name])
            for name in sorted(expected.keys() & found)
            if found[name] != expected[name]
        ]
        if content and not problems:
            bytes_ = _("{name!r} has other bytes than were saved")
            problems += [bytes_.format(name=name) for name in _changed(stored)]
    return problems


def _changed(stored: Stored) -> list[str]:
    """Files that have their size and not their bytes."""
    pieces, digests = [], []
    for entry in stored.manifest.files:
        path, parts = stored.root / entry.path, stored.manifest.blocks.get(entry.path)
        pieces += blocks(path, entry.size) if parts else [(path, 0, entry.size)]
        digests += parts or [entry.sha256]
    found = zip(pieces, digests, hash_pieces(pieces), strict=True)
    changed = {piece[0] for piece, wanted, received in found if wanted != received}
    return sorted(path.relative_to(stored.root).as_posix() for path in changed)


def require_intact(stored: Stored) -> None:
    """Raise DamagedArtifactError unless every byte is as it was saved."""
    problems = check_files(stored)
    if problems:
        raise DamagedArtifactError(
            _(
                "Expected the files as they were saved in {path!r}; {problems}. "
                "Nothing was loaded; get the artifact again."
            ).format(path=str(stored.root), problems=_few(problems))
        )


def require_hashed(stored: Stored) -> None:
    """Raise DamagedArtifactError if an ONNX file could take its weights from an unhashed file.

    ONNX Runtime takes them from any file below the folder, so from those that we leave out, too.
    """
    with reading(stored.root):
        # The signature's name also begins those that a killed trust leaves behind.
        left_out = [
            n for n in sorted(UNLISTED) if n == SIGNATURE or os.path.lexists(stored.root / n)
        ]
        for entry in stored.manifest.files:
            onnx = entry.path.endswith(".onnx")
            found = _mentioned(stored.root / entry.path, left_out) if onnx else ""
            if found:
                raise DamagedArtifactError(
                    _(
                        "Expected {file!r} to name files of the manifest alone, received "
                        "{received!r}; do not use this artifact."
                    ).format(file=entry.path, received=found)
                )


def _mentioned(path: Path, names: list[str]) -> str:
    """One of these names that a file contains, in whatever case; empty if it has none."""
    held, longest = b"", max(map(len, names))
    with open_regular(path) as file:
        while chunk := file.read(_CHUNK):
            held = held[-longest:] + chunk.lower()  # a name may lie across two chunks
            for name in names:
                if name.lower().encode() in held:
                    return name
    return ""


def _few(problems: list[str]) -> str:
    """The first three, and how many more there are."""
    shown, left = listed(problems[:3]), len(problems) - 3
    if left <= 0:
        return shown
    text = ngettext("{problems} and {n} more", "{problems} and {n} more", left)
    return text.format(problems=shown, n=left)
