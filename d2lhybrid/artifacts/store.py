"""Artifact folders: found, checked against their manifest, replaced whole, and trusted or not.

A new artifact is written into a hidden folder beside the old one. Two renames exchange them; who
comes between the two finds the old one under its spare name.

What this user saved or declared trusted is a list of manifests' hashes, one empty file each, in the
user's data folder (or in ``$D2LHYBRID_DATA``). The manifest holds the hash of every file.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from platformdirs import user_data_path

from d2lhybrid import errors
from d2lhybrid.artifacts.manifest import MANIFEST, MAX_BYTES, FileEntry, Manifest, parse
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.frameworks.formats import Format
from d2lhybrid.frameworks.protocol import Framework
from d2lhybrid.i18n import gettext as _, listed, sentences
from d2lhybrid.tensor import Raw

# What desktops and Jupyter leave in any folder.
LEFT_BEHIND = {".DS_Store", "Thumbs.db", "desktop.ini", ".ipynb_checkpoints"}


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

    def recall(self, example: int, what: str) -> list[Raw]:
        """Its recorded tensors, each "input" or "output"; ValueError where a file holds none."""
        folder = self.root / "example"
        specs = self.manifest.inputs if what == "input" else self.manifest.outputs
        files = [folder / f"{example}-{what}-{number}.npy" for number in range(len(specs))]
        arrays = [np.load(file, allow_pickle=False) for file in files]
        return [Raw(spec.dtype, array) for spec, array in zip(specs, arrays, strict=True)]


Recorded = tuple[list[Raw], list[Raw]]  # inputs and outputs of a call


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
        ArtifactNotFoundError: Nothing is there, or a file or a link, or the folder has no manifest.
        OSError: The system does not let us read it.
        DamagedArtifactError: The manifest cannot be read.
    """
    root = Path(os.path.abspath(path))
    if not os.path.lexists(root) and os.path.lexists(_spare(root)):
        root = _spare(root)
    file = root / MANIFEST
    if root.is_symlink() or file.is_symlink() or not file.is_file():
        text = _("Expected a folder of d2lhybrid.save with {file}, not a link. Received: {path!r}.")
        raise errors.ArtifactNotFoundError(text, path=str(root), file=MANIFEST)
    with open(file, "rb") as opened:
        raw = opened.read(MAX_BYTES + 1)
    return Stored(root, hashlib.sha256(raw).hexdigest(), parse(raw))


def _files(root: Path) -> list[str]:
    """What a folder holds, by name, but for folders, the manifest and what desktops leave."""
    names = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*"))]
    ours = [name for name in names if LEFT_BEHIND.isdisjoint(name.split("/")) and name != MANIFEST]
    return [name for name in ours if not stat.S_ISDIR((root / name).lstat().st_mode)]


def entries(root: Path) -> dict[str, FileEntry]:
    """The files of a folder with their sizes and hashes; of a link, a pipe or a device, none."""
    found = {}
    for name in _files(root):
        path = root / name
        size, digest = path.lstat().st_size, ""
        if stat.S_ISREG(path.lstat().st_mode):
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        found[name] = FileEntry(name, size, digest)
    return found


def problems_of(stored: Stored) -> tuple[str, ...]:
    """What differs between the files on disk and the manifest; empty if every byte is as saved."""
    expected = {entry.path: entry for entry in stored.manifest.files}
    found = entries(stored.root)
    changed, gone = _("{name!r} has other bytes than were saved"), _("{name!r} is missing")
    strange = _("{name!r} does not belong here")
    wrong = [name for name, entry in expected.items() if found.get(name) != entry]
    problems = [(changed if name in found else gone).format(name=name) for name in wrong]
    return (*problems, *(strange.format(name=name) for name in found if name not in expected))


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


def _spare(root: Path) -> Path:
    """Where the old artifact lies between the two renames."""
    return root.parent / f".{root.name}.replaced"


@contextlib.contextmanager
def replacing(root: Path) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `root` when the block ends.

    Raises:
        ArtifactNotFoundError: What lies at `root` is not an artifact, or holds files of the user's.
        OSError: Full disk, no permission, missing parent folder.
    """
    staging = root.parent / f".{root.name}.saving-{uuid.uuid4().hex}"
    _require_own(root)
    try:
        staging.mkdir()
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
        for name in sorted(set(_files(root)) - known):
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
