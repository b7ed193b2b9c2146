"""Artifact folders: found, allowed to load or not, and replaced as a whole.

A new artifact is written into a hidden folder beside the old one. Two renames exchange them; a
reader who comes between the two renames finds the old artifact under its spare name.
"""

import contextlib
import errno
import hashlib
import os
import shlex
import shutil
import stat
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.integrity import files_in, find_problems, require_intact
from d2lhybrid.artifacts.manifest import MANIFEST, MAX_BYTES, Manifest, parse
from d2lhybrid.artifacts.trusted import is_trusted
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _, sentences
from d2lhybrid.core.reader import is_in_shell
from d2lhybrid.frameworks import format_of, get
from d2lhybrid.frameworks.base import Framework
from d2lhybrid.frameworks.formats import Format

# What a system says of a path where nothing is or can be; the last three are of names it refuses.
NOTHING = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EILSEQ, errno.EINVAL)


LONGEST_PATH = 200  # letters of one that a message repeats


@dataclass(frozen=True)
class Stored:
    """An artifact folder whose manifest was read, and nothing else.

    Attributes:
        root: The folder.
        digest: The hash of the manifest.
        manifest: What it says.
    """

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
        return is_trusted(self.digest)

    def find_problems(self) -> tuple[str, ...]:
        """What differs between the files and the manifest; empty if every byte is as saved."""
        with explain_unreadable(self.root):
            return find_problems(self.root, self.manifest)

    def require_intact(self) -> None:
        """Raise DamagedArtifactError unless every byte is as it was saved."""
        with explain_unreadable(self.root):
            require_intact(self.root, self.manifest)

    def require_allowed(self, trust: bool) -> bool:
        """Raise if code could run that the user does not trust; returns whether they do."""
        chosen = self.format
        trusted = trust or self.trusted
        if chosen.risk and not trusted:
            text = _(
                "You did not save {path!r} as it is, and its format {format!r} can carry code."
            )
            advice = _(
                "Look at it with {inspect}; if you know where it comes from, use {trust}, or "
                "{once} once."
            )
            path = str(self.root)
            written = {
                "inspect": "inspect(path)",
                "trust": "trust(path)",
                "once": "load(path, trust=True)",
            }
            if is_in_shell():
                advice = _("If you know where it comes from, use {trust}.")
                written = {"trust": f"verify {shlex.quote(path)} --trust"}
            text = sentences(text, _(chosen.risk), advice)
            fields = {"path": path, "format": chosen.name}
            raise errors.UntrustedArtifactError(text, **fields, **written)
        return trusted

    @contextlib.contextmanager
    def off_import_path(self, trust: bool = False) -> Iterator[None]:
        """Import nothing from the artifact's folder inside the block.

        Libraries try to import what they can do without, and would find it there. Nor is anything
        imported from the current folder, unless the user trusts the artifact, whose classes may
        come from there, or this package itself does.
        """
        root, ours = self.root.resolve(), Path(__file__).parents[2]
        keeps_current = trust or self.trusted or ours.samefile(".")

        def is_closed(entry: str) -> bool:
            try:
                folder = Path(entry).resolve()
                return folder.is_relative_to(root) or (not keeps_current and folder.samefile("."))
            except OSError:  # there is no such folder
                return False

        removed = [(i, entry) for i, entry in enumerate(sys.path) if is_closed(entry)]
        for _i, entry in removed:
            sys.path.remove(entry)
        try:
            yield
        finally:
            for i, entry in removed:
                sys.path.insert(i, entry)

    def load_inputs(self, number: int) -> list[HostArray]:
        """The inputs of a recorded call; raises DamagedArtifactError as ``load_examples`` does."""
        return load_examples(self.root, number, "input", self.manifest.inputs)

    def load_outputs(self, number: int) -> list[HostArray]:
        """The outputs of a recorded call; raises DamagedArtifactError as ``load_examples`` does."""
        return load_examples(self.root, number, "output", self.manifest.outputs)

    @contextlib.contextmanager
    def explain_refusals(self) -> Iterator[None]:
        """Turn what a framework raises into ArtifactLoadError; the bytes are as they were saved."""
        try:
            yield
        except errors.D2LHybridError:
            raise
        except Exception as error:
            text = _(
                "{framework} cannot load {path!r}, although its bytes are as saved: {error}. It "
                "was saved with {versions}; try those versions, or save the model again."
            )
            versions = ", ".join(f"{k} {number}" for k, number in self.manifest.versions.items())
            fields = {"framework": self.manifest.framework, "path": str(self.root)}
            fields |= {"error": errors.brief(error).rstrip("."), "versions": versions}
            text = sentences(text, _(self.format.lasts))
            raise errors.ArtifactLoadError(text, **fields) from error


def read(path: str | os.PathLike[str]) -> Stored:
    """Read the manifest, and nothing else, of the artifact at `path`.

    Raises:
        ArtifactNotFoundError: Nothing is there, or a file or a link, or a folder whose manifest is
            missing or a link.
        UnreadableArtifactError: The system does not let us read it.
        DamagedArtifactError: The manifest cannot be read.
    """
    root = Path(os.path.abspath(path))
    with explain_unreadable(root):
        return _read(root)


def _read(root: Path) -> Stored:
    if _mode(root) is None and _mode(_spare(root)) is not None:
        root = _spare(root)
    mode = _mode(root)
    if mode is None:
        text = _(
            "Expected a folder made by d2lhybrid.save, but there is nothing at {path!r}. Check the "
            "path, or save the model there first."
        )
        text += write_nearest(root.name, _neighbours(root))
        raise errors.ArtifactNotFoundError(text, path=str(root))
    if stat.S_ISLNK(mode):
        text = _(
            "Expected a folder made by d2lhybrid.save, but {path!r} is a link; pass the folder "
            "itself."
        )
        raise errors.ArtifactNotFoundError(text, path=str(root))
    if not stat.S_ISDIR(mode):
        text = _("Expected a folder made by d2lhybrid.save, but {path!r} is a file.")
        if _mode(root.parent / MANIFEST) is not None:
            text = sentences(text, _("Pass the folder {folder!r}."))
        raise errors.ArtifactNotFoundError(text, path=str(root), folder=str(root.parent))
    mode = _mode(root / MANIFEST) or 0
    if stat.S_ISLNK(mode):
        text = _(
            "Expected a folder made by d2lhybrid.save, but {file} in {path!r} is a link; copy the "
            "files themselves."
        )
        raise errors.ArtifactNotFoundError(text, path=str(root), file=MANIFEST)
    if not stat.S_ISREG(mode):
        text = _("Expected a folder made by d2lhybrid.save, but {path!r} has no file {file}.")
        raise errors.ArtifactNotFoundError(text, path=str(root), file=MANIFEST)
    with open(root / MANIFEST, "rb") as file:
        raw = file.read(MAX_BYTES + 1)
    return Stored(root, hashlib.sha256(raw).hexdigest(), parse(raw))


def not_a_path(given: Mapping[str, Any]) -> str:
    """What is wrong with the path of an artifact as an argument; "" if nothing is."""
    path = given["path"]
    if isinstance(path, (str, os.PathLike)):
        return ""
    if hasattr(path, "manifest") and hasattr(path, "path"):
        return _("Pass the path of what was saved: {code}.").format(code="artifact.path")
    return _("Pass the path of the folder that {save} made.").format(save="save")


@contextlib.contextmanager
def explain_unreadable(root: Path) -> Iterator[None]:
    """Raise UnreadableArtifactError for an OSError inside the block."""
    try:
        yield
    except errors.D2LHybridError:
        raise
    except OSError as error:
        text = _(
            "Expected files that can be read in {path!r}. Received: {reason}. Change their "
            "permissions, or copy the folder to where you can read it."
        )
        reason = error.strerror or str(error)
        raise errors.UnreadableArtifactError(text, path=str(root), reason=reason) from error


def _neighbours(root: Path) -> list[str]:
    """What lies beside a path."""
    try:
        return os.listdir(root.parent)
    except (OSError, ValueError):
        return []


def _mode(path: Path) -> int | None:
    """The mode of what is at a path, where a link is not followed; None if nothing can be there."""
    try:
        return os.lstat(path).st_mode
    except ValueError:  # no system has such a name
        return None
    except OSError as error:
        if error.errno in NOTHING:
            return None
        raise


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
        UnwritableFolderError: No permission, or a name that the system refuses.
        OSError: Full disk.
    """
    staging = root.parent / f".{root.name}.saving-{uuid.uuid4().hex}"
    if not root.parent.is_dir():
        text = _(
            "Expected a folder {parent!r} to save into, but it doesn't exist; create it first."
        )
        if root.parent.exists():
            text = _("Expected a folder {parent!r} to save into, but it is a file.")
        raise errors.ArtifactNotFoundError(text, parent=str(root.parent))
    _require_replaceable(root)
    try:
        try:
            staging.mkdir()
        except ValueError as error:  # a NUL, or what no encoding of names has
            text = _("Expected a valid name for a folder. Received: {name!r}.")
            raise errors.ArgumentError(text.format(name=root.name)) from error
        except OSError as error:
            text = _(
                "Expected a path that can be written to. Received: {path!r} ({reason}). Choose "
                "another one."
            )
            fields = {"path": _shortened(str(root)), "reason": error.strerror or str(error)}
            raise errors.UnwritableFolderError(text, **fields) from error
        yield staging
        _require_replaceable(root)
        _publish(staging, root)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _shortened(path: str) -> str:
    return path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}…"


def _publish(staging: Path, root: Path) -> None:
    """Exchange the artifact at `root` for the new one, by two renames."""
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


def _require_replaceable(root: Path) -> None:
    """Raise ArtifactNotFoundError if replacing `root` could lose what `save` did not write."""
    is_empty = root.is_dir() and not root.is_symlink() and not os.listdir(root)
    if is_empty or not os.path.lexists(root):
        return
    try:
        listed = {entry.path for entry in read(root).manifest.files}
        for name in sorted({name for name, _status in files_in(root)} - listed):
            text = _("{name!r} isn't part of the artifact.")
            raise errors.ArtifactNotFoundError(text, name=name)
    except errors.ArtifactError as error:
        text = _("Will not overwrite {path!r}: {reason}").format(path=str(root), reason=error)
        advice = _("Choose another path, or move it away.")
        raise errors.ArtifactNotFoundError(sentences(text, advice)) from error
