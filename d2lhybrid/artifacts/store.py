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

from d2lhybrid.artifacts.formats import format_of
from d2lhybrid.artifacts.integrity import files_in, find_problems
from d2lhybrid.artifacts.manifest import MANIFEST, MAX_BYTES, Manifest, parse
from d2lhybrid.artifacts.trusted import is_trusted
from d2lhybrid.backends import get
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.formats import Format
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _, listed, sentences
from d2lhybrid.core.permissions import explain_unwritable
from d2lhybrid.core.wording import typed


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
        return format_of(self.framework, self.manifest.format)

    @property
    def trusted(self) -> bool:
        """Did this user save it as it is, or call ``trust``?"""
        return is_trusted(self.digest)

    def find_problems(self) -> tuple[str, ...]:
        """What differs between the files and the manifest; empty if every byte is as saved."""
        return find_problems(self.root, self.manifest)

    def require_intact(self) -> None:
        """Raise DamagedArtifactError unless every byte is as it was saved."""
        if problems := self.find_problems():
            text = _(
                "The files in {path!r} are no longer what was saved: {problems}. Nothing was "
                "loaded; get the artifact again."
            )
            fields = {"path": str(self.root), "problems": listed(problems[:3])}
            raise errors.DamagedArtifactError(text, **fields)

    def require_allowed(self, trust: bool) -> bool:
        """Raise UntrustedArtifactError if code could run that the user doesn't trust.

        Returns whether they trust it.
        """
        trusted = trust or self.trusted
        if self.format.risk and not trusted:
            path = str(self.root)
            text = _(
                "You did not save {path!r} as it is, and its format {format!r} can carry code."
            )
            in_python = _(
                "Look at it with {inspect}; if you know where it comes from, use {trust}, or "
                "{once} once."
            )
            in_shell = _("If you know where it comes from, use {trust}.")
            raise errors.UntrustedArtifactError(
                sentences(text, _(self.format.risk), typed(in_python, in_shell)),
                path=path,
                format=self.format.name,
                inspect="inspect(path)",
                trust=typed("trust(path)", f"verify {shlex.quote(path)} --trust"),
                once="load(path, trust=True)",
            )
        return trusted

    @contextlib.contextmanager
    def off_import_path(self, trusted: bool) -> Iterator[None]:
        """Import nothing of the artifact's folder and of the current one, unless it is trusted.

        Libraries try to import what they can do without, and would find it there.
        """
        closed, before = [self.root.resolve(), Path.cwd()], [*sys.path]
        ours = Path(__file__).resolve().parents[2]  # from where a child imports this package
        if not trusted and ours not in closed:
            sys.path[:] = [path for path in before if Path(path).resolve() not in closed]
        try:
            yield
        finally:
            sys.path[:] = before

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
        DamagedArtifactError: The manifest cannot be read.
        OSError: The system does not let us read it.
    """
    root = Path(os.path.abspath(path))
    if not root.exists() and _spare(root).exists():
        root = _spare(root)
    if not root.exists():
        text = _(
            "Expected a folder made by d2lhybrid.save, but there is nothing at {path!r}. Check the "
            "path, or save the model there first."
        )
        raise errors.ArtifactNotFoundError(text, path=str(root))
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


def _spare(root: Path) -> Path:
    """Where the old artifact lies between the two renames."""
    return root.parent / f".{root.name}.replaced"


@contextlib.contextmanager
def replacing(root: Path) -> Iterator[Path]:
    """An empty folder to write into, which becomes the artifact at `root` when the block ends.

    If `root` is a link, so does what it points to.

    Raises:
        ArtifactNotFoundError: What lies at `root` is not an artifact, or holds files of the user's;
            or there is no folder to make it in.
        UnwritableFolderError: The system does not let us write there.
    """
    root = root.resolve()
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
    if root.exists():
        shutil.rmtree(spare, ignore_errors=True)  # of a process killed before its last step
        os.rename(root, spare)
    try:
        os.rename(staging, root)
    except OSError:
        with contextlib.suppress(OSError):  # another process has put its own artifact there
            os.rename(spare, root)
        raise
    if spare.exists():
        os.rename(spare, staging)  # which is removed, so that a spare is always whole


def _require_replaceable(root: Path) -> None:
    """Raise ArtifactNotFoundError if replacing `root` could lose what `save` did not write."""
    spare, text = _spare(root), _("{name!r} isn't part of the artifact.")
    if spare.is_symlink() or spare.is_file():
        raise _will_not_overwrite(spare, text.format(name=spare.name))
    if not root.exists() or (root.is_dir() and not os.listdir(root)):
        return
    try:
        saved = {entry.path for entry in read(root).manifest.files}
        for name in sorted({name for name, _status in files_in(root)} - saved):
            raise errors.ArtifactNotFoundError(text, name=name)
    except errors.ArtifactError as error:
        raise _will_not_overwrite(root, str(error)) from error


def _will_not_overwrite(path: Path, reason: str) -> errors.ArtifactNotFoundError:
    text = _("Will not overwrite {path!r}: {reason}").format(path=str(path), reason=reason)
    return errors.ArtifactNotFoundError(sentences(text, _("Choose another path, or move it away.")))
