"""Artifact folders as they are read: found, described by their manifest, and checked against it."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from d2lhybrid.artifacts.files import hashes, list_files, read_small, reading
from d2lhybrid.artifacts.manifest import MANIFEST, Manifest, parse
from d2lhybrid.errors import ArtifactNotFoundError, DamagedArtifactError
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import listed, ngettext


@dataclass(frozen=True)
class Stored:
    """An artifact folder whose manifest was read: its path, the manifest's bytes and content."""

    root: Path
    raw: bytes
    manifest: Manifest

    @property
    def framework(self) -> Framework:
        """The framework that wrote it; raises UnknownFrameworkError if there is no such one."""
        return get(self.manifest.framework)

    @property
    def format(self) -> Format:
        """Its format; raises UnsupportedArtifactError if there is no such one here."""
        return format_of(self.manifest.framework, self.manifest.format)


def absolute(path: str | os.PathLike[str]) -> Path:
    """The path from the root on, of a file or folder that need not exist."""
    try:
        text = os.fsdecode(path)
        if "\0" in text:
            raise ValueError(_("a path holds no NUL"))
        os.fsencode(text)  # as the file system must be able to
        return Path(os.path.abspath(text))
    except (TypeError, ValueError, FileNotFoundError) as error:  # the last: no current folder
        text = _("Expected the path of a folder, received {received!r} ({reason}).")
        raise ArtifactNotFoundError(text, received=path, reason=error) from error


def spare(root: Path) -> Path:
    """Where the old artifact lies while a new one takes its place in two steps."""
    return root.with_name(f".{root.name}.replaced")


def read(path: str | os.PathLike[str]) -> Stored:
    """Read the manifest, and nothing else, of the artifact at `path`.

    Raises:
        ArtifactNotFoundError: Nothing is there, or a file or a link, or the folder has no manifest.
        DamagedArtifactError, UnsupportedArtifactError: The manifest cannot be read.
    """
    root = absolute(path)
    if not os.path.lexists(root) and os.path.lexists(spare(root)):
        root = spare(root)
    with reading(root):
        try:
            folder = stat.S_ISDIR(os.lstat(root).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            raise _not_found(
                root, _("Expected an artifact at {path!r}, and nothing is there; check the path.")
            ) from None
        if not folder:
            text = _(
                "Expected an artifact folder at {path!r}, received a file or a link; "
                "pass the folder that d2lhybrid.save made."
            )
            raise _not_found(root, text)
        if not os.path.lexists(root / MANIFEST):
            os.listdir(root)  # says so where nobody may look inside
            text = _(
                "The folder {path!r} has no {file}, so d2lhybrid.save did not make it; "
                "open it with the framework that wrote it."
            )
            raise _not_found(root, text)
        raw = read_small(root / MANIFEST)
    return Stored(root, raw, parse(raw))


def _not_found(root: Path, text: str) -> ArtifactNotFoundError:
    return ArtifactNotFoundError(text, path=str(root), file=MANIFEST)


def check_files(stored: Stored, *, content: bool = True) -> list[str]:
    """What differs between the files on disk and the manifest; hashes them if `content`.

    Raises:
        DamagedArtifactError: A link, pipe or device lies in the folder, or two names clash.
    """
    expected = {entry.path: entry for entry in stored.manifest.files}
    with reading(stored.root):
        found = list_files(stored.root)
        missing, foreign = _("{name!r} is missing"), _("{name!r} does not belong here")
        problems = [missing.format(name=name) for name in sorted(expected.keys() - found)]
        problems += [foreign.format(name=name) for name in sorted(found.keys() - expected)]
        size = _("{name!r} has {size} bytes, not {expected}")
        problems += [
            size.format(name=name, size=found[name], expected=entry.size)
            for name, entry in sorted(expected.items())
            if found.get(name, entry.size) != entry.size
        ]
        if content and not problems:
            bytes_ = _("{name!r} has other bytes than were saved")
            digests = hashes([stored.root / name for name in expected])
            problems = [
                bytes_.format(name=name)
                for (name, entry), digest in zip(expected.items(), digests, strict=True)
                if entry.sha256 != digest
            ]
    return problems


def require_intact(stored: Stored) -> None:
    """Raise DamagedArtifactError unless every byte is as it was saved."""
    problems = check_files(stored)
    if problems:
        shown, left = listed(problems[:3]), len(problems) - 3
        if left > 0:
            text = ngettext("{problems} and {n} more", "{problems} and {n} more", left)
            shown = text.format(problems=shown, n=left)
        text = _(
            "Expected the files as they were saved in {path!r}; {problems}. "
            "Nothing was loaded; get the artifact again."
        )
        raise DamagedArtifactError(text, path=str(stored.root), problems=shown)
