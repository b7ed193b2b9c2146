"""Artifact folders: found, allowed to load or not, and replaced as a whole.

A new artifact is written into a hidden folder beside the old one. Two renames exchange them; a
reader who comes between the two renames finds the old artifact under its spare name.
"""

import contextlib
import hashlib
import os
import shlex
import shutil
import sys
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from d2lhybrid.artifacts.examples import load_examples
from d2lhybrid.artifacts.formats import format_of
from d2lhybrid.artifacts.integrity import files_in, find_problems
from d2lhybrid.artifacts.manifest import MANIFEST, MAX_BYTES, Manifest, parse
from d2lhybrid.artifacts.permissions import explain_unreadable, explain_unwritable
from d2lhybrid.artifacts.trusted import is_trusted
from d2lhybrid.backends import get
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.formats import Format
from d2lhybrid.core import errors
from d2lhybrid.core.arguments import write_nearest
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.core.i18n import gettext as _, listed, sentences
from d2lhybrid.core.reader import is_in_shell


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
        if problems := self.find_problems():
            text = _(
                "Expected the files in {path!r} as they were saved, but {problems}. Nothing was "
                "loaded; get the artifact again."
            )
            fields = {"path": str(self.root), "problems": listed(problems[:3])}
            raise errors.DamagedArtifactError(text, **fields)

    def require_allowed(self, trust: bool) -> bool:
        """Raise UntrustedArtifactError if code could run that the user doesn't trust.

        Returns whether they trust it.
        """
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
    def off_import_path(self, trust: bool) -> Iterator[None]:
        """Import nothing of the artifact's folder and of the current one, unless it is trusted.

        Libraries try to import what they can do without, and would find it there.
        """
        closed = [self.root.resolve(), Path.cwd()]
        ours = Path(__file__).resolve().parents[2]  # from where a child imports this package
        if trust or self.trusted or ours in closed:
            closed = []
        removed = [(i, path) for i, path in enumerate(sys.path) if Path(path).resolve() in closed]
        for _i, path in removed:
            sys.path.remove(path)
        try:
            yield
        finally:
            for i, path in removed:
                sys.path.insert(i, path)

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
        ArtifactNotFoundError: Nothing is there, or a file, or a folder without a manifest.
        UnreadableArtifactError: The system does not let us read it.
        DamagedArtifactError: The manifest cannot be read.
    """
    root = Path(os.path.abspath(path))
    with explain_unreadable(root):
        return _read(root)


def _read(root: Path) -> Stored:
    if not _exists(root) and _exists(_spare(root)):
        root = _spare(root)
    if not _exists(root):
        text = _(
            "Expected a folder made by d2lhybrid.save, but there is nothing at {path!r}. Check the "
            "path, or save the model there first."
        )
        text += write_nearest(root.name, _neighbours(root))
        raise errors.ArtifactNotFoundError(text, path=str(root))
    if not root.is_dir():
        text = _("Expected a folder made by d2lhybrid.save, but {path!r} is a file.")
        if (root.parent / MANIFEST).is_file():
            text = sentences(text, _("Pass the folder {folder!r}."))
        raise errors.ArtifactNotFoundError(text, path=str(root), folder=str(root.parent))
    if not (root / MANIFEST).is_file():  # but a pipe, say, which would be waited for
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


def _neighbours(root: Path) -> list[str]:
    """What lies beside a path."""
    with contextlib.suppress(OSError, ValueError):
        return os.listdir(root.parent)
    return []


def _exists(path: Path) -> bool:
    """Is there something at a path? A name that no system has is nowhere."""
    try:
        path.stat()
    except PermissionError:
        raise
    except (OSError, ValueError):
        return False
    return True


def _spare(root: Path) -> Path:
    """Where the old artifact lies between the two renames."""
    return root.parent / f".{root.name}.replaced"


@contextlib.contextmanager
def replacing(root: Path) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `root` when the block ends.

    Raises:
        ArtifactNotFoundError: What lies at `root` is not an artifact, or holds files of the user's;
            or there is no folder to make it in.
        UnwritableFolderError: No permission, or a name that the system refuses.
    """
    staging = root.parent / f".{root.name}.saving-{uuid.uuid4().hex}"
    if not root.parent.is_dir():
        text = _(
            "Expected a folder {parent!r} to save into, but it doesn't exist; create it first."
        )
        raise errors.ArtifactNotFoundError(text, parent=str(root.parent))
    _require_replaceable(root)
    with explain_unwritable(root, "path"):
        staging.mkdir()
    try:
        yield staging
        _require_replaceable(root)
        _publish(staging, root)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


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
    if not os.path.lexists(root):
        return
    try:
        if root.is_symlink():
            text = _(
                "Expected a folder made by d2lhybrid.save, but {path!r} is a link; pass the folder "
                "itself."
            )
            raise errors.ArtifactNotFoundError(text, path=str(root))
        if root.is_dir() and not os.listdir(root):
            return
        saved = {entry.path for entry in read(root).manifest.files}
        for name in sorted({name for name, _status in files_in(root)} - saved):
            text = _("{name!r} isn't part of the artifact.")
            raise errors.ArtifactNotFoundError(text, name=name)
    except errors.ArtifactError as error:
        text = _("Will not overwrite {path!r}: {reason}").format(path=str(root), reason=error)
        advice = _("Choose another path, or move it away.")
        raise errors.ArtifactNotFoundError(sentences(text, advice)) from error
