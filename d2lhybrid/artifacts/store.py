"""Artifact folders: found, checked against their manifest, replaced whole, and trusted or not.

A new artifact is written into a hidden folder beside the old one. Two renames exchange them; who
comes between the two finds the old one under its spare name.

What this user saved or declared trusted is a list of manifests' hashes, one empty file each, in the
user's data folder (or in ``$D2LHYBRID_DATA``). The manifest holds the hash of every file.
"""

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.lib.format import open_memmap
from platformdirs import user_data_path

from d2lhybrid.artifacts.manifest import (
    MANIFEST,
    MAX_BYTES,
    MAX_PATH,
    FileEntry,
    Manifest,
    TensorSpec,
    parse,
)
from d2lhybrid.core import errors
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import count, gettext as _, listed, ngettext, sentences
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.formats import Format

# What desktops and Jupyter leave in any folder.
LEFT_BEHIND = {".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}
MOST = 20_000  # files and folders in an artifact
SHOWN = 20  # names of files that do not belong to one
# What a system says of a path at which nothing is, or can be: the rest are names that it refuses.
NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EILSEQ, errno.EINVAL)
# Bytes from which on files that are nearly all holes are not read. Fewer are hashed in minutes, and
# may be weights of zeros, which a file system that compresses keeps as holes.
HOLLOW = 1 << 36


@dataclass(frozen=True)
class Stored:
    """An artifact folder whose manifest was read: its path, and the manifest's hash and content."""

    root: Path
    digest: str
    manifest: Manifest

    @property
    def framework(self) -> Framework:
        """The framework that wrote it; raises UnknownFrameworkError if there is no such one."""
        return get(self.manifest.framework)

    @property
    def format(self) -> Format:
        """Its format; raises UnsupportedArtifactError if there is no such one here."""
        return format_of(self.manifest.framework, self.manifest.format)

    @property
    def trusted(self) -> bool:
        """Did this user save it as it is, or call ``trust``?"""
        return (_trusted() / self.digest).is_file()

    def recall(self, example: int, what: str) -> list[HostArray]:
        """Its recorded tensors, each "input" or "output".

        Raises:
            DamagedArtifactError: A file holds no array, or not one that the manifest describes.
        """
        specs = self.manifest.inputs if what == "input" else self.manifest.outputs
        names = (f"example/{example}-{what}-{number}.npy" for number in range(len(specs)))
        return [self._recalled(name, spec) for name, spec in zip(names, specs, strict=False)]

    def _recalled(self, name: str, spec: TensorSpec) -> HostArray:
        """The recorded tensor in a file."""
        try:
            # Mapped first, so that a false size in the header allocates nothing; no pickle is read.
            # The map is private ("c"): some network file systems refuse a shared one.
            array = np.array(open_memmap(self.root / name, mode="c"), order="C")
        except Exception as error:
            text = _(
                "Expected the array that was recorded in {file!r}, but it cannot be read: {reason}."
            )
            reason = errors.brief(error).rstrip(".")
            raise errors.DamagedArtifactError(text, file=name, reason=reason) from error
        found = {"uint16": "bfloat16"}.get(str(array.dtype)) if spec.dtype == "bfloat16" else None
        raw = HostArray("string" if array.dtype.kind == "S" else found or str(array.dtype), array)
        if not spec.fits(raw.dtype, array.shape):
            text = _("Expected {spec} in {file!r}, received {received}.")
            received = f"{raw.dtype} {array.shape}"
            raise errors.DamagedArtifactError(text, spec=spec, file=name, received=received)
        return raw


Recorded = tuple[list[HostArray], list[HostArray]]  # inputs and outputs of a call


def record(folder: Path, examples: Sequence[Recorded]) -> None:
    """Write inputs and outputs of calls as NumPy does; of bfloat16 the bits, and texts as bytes."""
    (folder / "example").mkdir()
    for example, call in enumerate(examples):
        for what, tensors in zip(("input", "output"), call, strict=True):
            for number, raw in enumerate(tensors):
                array = raw.array.astype("S") if raw.dtype == "string" else raw.array
                file = folder / "example" / f"{example}-{what}-{number}.npy"
                np.save(file, array, allow_pickle=False)


def read(path: str | os.PathLike[str]) -> Stored:
    """Read the manifest, and nothing else, of the artifact at `path`.

    Raises:
        ArtifactNotFoundError: Nothing is there, or a file or a link, or a folder whose manifest is
            missing or a link.
        OSError: The system does not let us read it.
        DamagedArtifactError: The manifest cannot be read.
    """
    root = Path(os.path.abspath(path))
    if _mode(root) is None and _mode(_spare(root)) is not None:
        root = _spare(root)
    mode = _mode(root)
    if mode is None:
        text = _("Expected a folder of d2lhybrid.save, but nothing is at {path!r}.")
        raise errors.ArtifactNotFoundError(text, path=str(root))
    if stat.S_ISLNK(mode):
        text = _("Expected a folder of d2lhybrid.save, but {path!r} is a link; name the folder.")
        raise errors.ArtifactNotFoundError(text, path=str(root))
    mode = _mode(root / MANIFEST) or 0
    if stat.S_ISLNK(mode):
        text = _(
            "Expected a folder of d2lhybrid.save, but {file} in {path!r} is a link; copy the files "
            "themselves."
        )
        raise errors.ArtifactNotFoundError(text, path=str(root), file=MANIFEST)
    if not stat.S_ISREG(mode):
        text = _("Expected a folder of d2lhybrid.save, but {path!r} holds no file {file}.")
        raise errors.ArtifactNotFoundError(text, path=str(root), file=MANIFEST)
    with open(root / MANIFEST, "rb") as opened:
        raw = opened.read(MAX_BYTES + 1)
    return Stored(root, hashlib.sha256(raw).hexdigest(), parse(raw))


def _mode(path: Path) -> int | None:
    """The mode of what is at a path, of a link its own; None if nothing is, or can be, there."""
    try:
        return os.lstat(path).st_mode
    except ValueError:  # no system has such a name
        return None
    except OSError as error:
        if error.errno in NOTHING:
            return None
        raise


def _files(root: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files in a folder with their names in it, but the manifest and what desktops leave.

    Links, pipes and devices are files here, and none is followed or opened. At most `MOST` files
    and folders are looked at: more than that are no artifact, and could keep a reader busy for
    hours.
    """
    left, looked_at = [root], 0
    while left:
        folder = left.pop()
        with os.scandir(folder) as inside:
            for entry in inside:
                looked_at += 1
                if looked_at > MOST:
                    text = _("Expected at most {most} files and folders, received more.")
                    raise errors.DamagedArtifactError(text, most=MOST)
                name = Path(entry).relative_to(root).as_posix()
                if entry.name in LEFT_BEHIND or name == MANIFEST:
                    continue
                # No file of an artifact lies deeper than the longest path that a manifest names.
                if entry.is_dir(follow_symlinks=False) and len(name) <= MAX_PATH:
                    left.append(Path(entry))
                else:
                    yield name, os.lstat(entry)


def _hash(path: Path, size: int) -> str:
    """The hash of so many bytes of a file, and of no more, should it grow."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(size, 1 << 20))):
            digest.update(block)
            size -= len(block)
    return digest.hexdigest()


def entries(root: Path) -> dict[str, FileEntry]:
    """The files of a folder with their sizes and hashes; of a link, a pipe or a device, none."""
    found = {}
    for name, status in sorted(_files(root)):
        digest = _hash(root / name, status.st_size) if stat.S_ISREG(status.st_mode) else ""
        found[name] = FileEntry(name, status.st_size, digest)
    return found


def problems_of(stored: Stored) -> tuple[str, ...]:
    """What differs between the files on disk and the manifest; empty if every byte is as saved.

    Names and sizes come first, and bytes are read only of a file that has both: what a stranger put
    into the folder, or made larger, costs no time.
    """
    try:
        found = dict(sorted(_files(stored.root)))
    except errors.DamagedArtifactError as error:
        return (str(error),)
    changed, gone = _("{name!r} has other bytes than were saved"), _("{name!r} is missing")
    expected = {entry.path: entry for entry in stored.manifest.files}
    problems, to_read = [], []
    for name, entry in expected.items():
        if name not in found:
            problems.append(gone.format(name=name))
        elif not stat.S_ISREG(found[name].st_mode) or found[name].st_size != entry.size:
            problems.append(changed.format(name=name))
        else:
            to_read.append(entry)
    if hollow := _hollow(stored.root, to_read):
        problems.append(hollow)
    else:
        differs = (e.path for e in to_read if _hash(stored.root / e.path, e.size) != e.sha256)
        problems += [changed.format(name=name) for name in differs]
    strange = [name for name in found if name not in expected]
    text = _("{name!r} does not belong here")
    problems += [text.format(name=name) for name in strange[:SHOWN]]
    if (more := len(strange) - SHOWN) > 0:
        text = ngettext(
            "{n} more file does not belong here", "{n} more files do not belong here", more
        )
        problems.append(text.format(n=count(more)))
    return tuple(problems)


def _hollow(root: Path, files: Sequence[FileEntry]) -> str:
    """What is wrong where files are nearly all holes, for which the disk holds no data.

    A file of many terabytes can be made in no time, and would be read for hours.
    """
    size, held = sum(entry.size for entry in files), 0
    if size < HOLLOW or not hasattr(os, "SEEK_DATA"):
        return ""
    for entry in files:
        with open(root / entry.path, "rb") as file:
            end = 0
            while held * 1000 < size:
                try:
                    start = os.lseek(file.fileno(), end, os.SEEK_DATA)
                except OSError as error:
                    if error.errno != errno.ENXIO:  # the file system does not tell
                        return ""
                    break  # nothing but a hole from here on
                end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
                held += end - start
    if held * 1000 >= size:
        return ""
    text = _("the files have {size} bytes, of which the disk holds {held}: the rest are holes")
    return text.format(size=count(size), held=count(held))


def require_intact(stored: Stored) -> None:
    """Raise DamagedArtifactError unless every byte is as it was saved."""
    if problems := problems_of(stored):
        text = _(
            "Expected the files as they were saved in {path!r}; {problems}. "
            "Nothing was loaded; get the artifact again."
        )
        said = listed(problems[:3])
        raise errors.DamagedArtifactError(text, path=str(stored.root), problems=said)


def require_allowed(stored: Stored, trust: bool) -> bool:
    """Raise if code could run that the user does not trust; returns whether they do."""
    chosen = stored.format
    trusted = trust or stored.trusted
    if chosen.risk and not trusted:
        text = _("You did not save {path!r} as it is, and its format {format!r} can carry code.")
        advice = _(
            "Look at it with inspect(path); if you know where it comes from, use trust(path), or "
            "load(path, trust=True) once."
        )
        said = sentences(text, _(chosen.risk), advice)
        raise errors.UntrustedArtifactError(said, path=str(stored.root), format=chosen.name)
    return trusted


@contextlib.contextmanager
def refusals(stored: Stored) -> Iterator[None]:
    """Turn what a framework raises into ArtifactLoadError; the bytes are as they were saved."""
    try:
        yield
    except errors.D2LHybridError:
        raise
    except Exception as error:
        text = _(
            "{framework} does not load {path!r}, whose bytes are as saved: {error}. "
            "It was saved with {versions}; try those versions, or save the model again."
        )
        versions = ", ".join(f"{k} {number}" for k, number in stored.manifest.versions.items())
        fields = {"framework": stored.manifest.framework, "path": str(stored.root)}
        fields |= {"error": errors.brief(error), "versions": versions}
        raise errors.ArtifactLoadError(text, **fields) from error


def _spare(root: Path) -> Path:
    """Where the old artifact lies between the two renames."""
    return root.parent / f".{root.name}.replaced"


@contextlib.contextmanager
def replacing(root: Path) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `root` when the block ends.

    Raises:
        ArtifactNotFoundError: What lies at `root` is not an artifact, or holds files of the user's;
            or there is no folder to make it in.
        ArgumentError: No folder can have such a name.
        OSError: Full disk, no permission.
    """
    staging = root.parent / f".{root.name}.saving-{uuid.uuid4().hex}"
    if not root.parent.is_dir():
        text = _("Expected a folder {parent!r} to save into, but there is none; make it first.")
        raise errors.ArtifactNotFoundError(text, parent=str(root.parent))
    _require_own(root)
    try:
        try:
            staging.mkdir()
        except ValueError as error:  # a NUL, or what no encoding of names has
            text = _("Expected a name that a folder can have. Received: {name!r}.")
            raise errors.ArgumentError(text.format(name=root.name)) from error
        yield staging
        _require_own(root)
        _publish(staging, root)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, root: Path) -> None:
    spare = _spare(root)
    if os.path.lexists(root):
        shutil.rmtree(spare, ignore_errors=True)  # of a process killed before its last step
        os.rename(root, spare)
    try:
        os.rename(staging, root)
    except OSError:
        with contextlib.suppress(OSError):  # another process has put its own artifact there
            os.rename(spare, root)
        raise
    if os.path.lexists(spare):
        os.rename(spare, staging)  # which is removed, so that a spare is always whole


def _require_own(root: Path) -> None:
    """Raise ArtifactNotFoundError if replacing `root` could lose what `save` did not write."""
    empty = root.is_dir() and not root.is_symlink() and not os.listdir(root)
    if empty or not os.path.lexists(root):
        return
    try:
        known = {entry.path for entry in read(root).manifest.files}
        for name in sorted({name for name, _status in _files(root)} - known):
            text = _("{name!r} does not belong to the artifact.")
            raise errors.ArtifactNotFoundError(text, name=name)
    except errors.ArtifactError as error:
        text = _("Will not overwrite {path!r}: {reason}").format(path=str(root), reason=error)
        advice = _("Choose another path, or move it away.")
        raise errors.ArtifactNotFoundError(sentences(text, advice)) from error


def add_trusted(*digests: str) -> None:
    """Put hashes of manifests on this user's list, which is made where it is not there."""
    folder = _trusted()
    with own_folder(folder, "D2LHYBRID_DATA"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for digest in digests:
            (folder / digest).touch(mode=0o600)


@contextlib.contextmanager
def own_folder(folder: Path, variable: str) -> Iterator[None]:
    """What the system says of writing to a folder of this user's, with the way to another one."""
    try:
        yield
    except OSError as error:
        text = _("Cannot write to {folder!r}: {error}. Set {variable} to a folder where you can.")
        fields = {"folder": str(folder), "error": error.strerror or str(error)}
        raise errors.UnwritableFolderError(text, variable=variable, **fields) from error


def _trusted() -> Path:
    return Path(os.environ.get("D2LHYBRID_DATA") or user_data_path("d2lhybrid")) / "trusted"
