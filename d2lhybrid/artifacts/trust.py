"""Who made an artifact: an HMAC over the manifest, with a key that only this user has.

The idea is Jupyter's: what this user made or has looked at runs without asking, everything else
asks. The manifest holds the hash of every file, so signing its bytes signs the whole artifact.
The key lies in the user's data folder (or in ``$D2LHYBRID_DATA``) and never leaves it.
"""

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import shlex
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path

from d2lhybrid.artifacts.files import open_regular, read_small
from d2lhybrid.artifacts.manifest import SIGNATURE
from d2lhybrid.artifacts.store import Stored
from d2lhybrid.errors import ArtifactAccessError, DamagedArtifactError
from d2lhybrid.i18n import gettext as _

KEY_BYTES = 32


@dataclass(frozen=True)
class Signer:
    """Who signed: ``"you"``, ``"someone else"`` or ``"nobody"``, and the short name of the key."""

    who: Literal["you", "someone else", "nobody"]
    key: str = ""

    def __str__(self) -> str:
        return f"{self.who} (key {self.key})" if self.key else self.who

    def by(self) -> str:
        """For people: what follows "signed"."""
        by = {
            "you": _("by you"),
            "someone else": _("by someone else"),
            "nobody": _("by nobody"),
        }[self.who]
        return _("{by} (key {key})").format(by=by, key=self.key) if self.key else by


def signature(raw: bytes) -> bytes:
    """The content of the signature file for a manifest's bytes, signed by this user."""
    key, digest = _key(), hashlib.sha256(raw).hexdigest()
    body = {"manifest_sha256": digest, "key": _name(key), "hmac": _hmac(key, raw)}
    return (json.dumps(body, indent=1) + "\n").encode()


def sign(stored: Stored) -> None:
    """Put this user's signature beside the manifest.

    Raises:
        ArtifactAccessError: The folder does not let us write.
        ArtifactAccessError: There is no key, and none can be made.
    """
    content = signature(stored.raw)
    fresh = stored.root / f".{SIGNATURE}.{uuid.uuid4().hex[:8]}"
    try:
        fresh.write_bytes(content)
        os.replace(fresh, stored.root / SIGNATURE)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ArtifactAccessError(
            error.errno,
            _(
                "Could not sign {path!r}: {reason}; copy the artifact to a folder "
                "that you may write to, or use load(path, trust=True) each time."
            ).format(path=str(stored.root), reason=error.strerror),
        ) from error


def signer(stored: Stored) -> Signer:
    """Who signed the artifact.

    Raises:
        DamagedArtifactError: There is a signature, and the manifest is not what was signed.
    """
    path = stored.root / SIGNATURE
    if not os.path.lexists(path):
        return Signer("nobody")
    raw = read_small(path)
    try:
        body = json.loads(raw.decode())
        digest, name, code = (str(body[k]) for k in ("manifest_sha256", "key", "hmac"))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedArtifactError(
            _(
                "{file} is not what trust or save wrote; remove it to have an unsigned artifact."
            ).format(file=SIGNATURE)
        ) from error
    key = _existing_key()
    who: Literal["you", "someone else"] = "someone else"
    whole = digest == hashlib.sha256(stored.raw).hexdigest()
    if key is not None and name == _name(key):
        who, right = "you", _hmac(key, stored.raw).encode()
        whole = whole and hmac.compare_digest(code.encode(errors="replace"), right)
    if not whole:
        raise DamagedArtifactError(
            _("The manifest was changed after it was signed; get the artifact again.")
        )
    return Signer(who, name[:16] if name.isalnum() else "")


def _hmac(key: bytes, raw: bytes) -> str:
    return hmac.new(key, b"d2lhybrid artifact 1\n" + raw, hashlib.sha256).hexdigest()


def _name(key: bytes) -> str:
    return hashlib.sha256(b"d2lhybrid key name\n" + key).hexdigest()[:16]


def _key() -> bytes:
    """This user's key, made on first use."""
    for _turn in range(2):
        key = _existing_key()
        if key is not None:
            return key
        with _naming_the_key():
            _make_key(_key_path())
    text = _("The signing key {path!r} was removed meanwhile.")
    raise ArtifactAccessError(text.format(path=str(_key_path())))


def _existing_key() -> bytes | None:
    path = _key_path()
    with _naming_the_key():
        try:
            with open_regular(path) as file:
                key, found = file.read(KEY_BYTES), os.fstat(file.fileno())
        except FileNotFoundError:
            return None
        except DamagedArtifactError:
            key, found = b"", None
    if found is None:
        raise ArtifactAccessError(
            _(
                "Expected a plain file at {path!r}, received a link, a folder or the like; "
                "remove it to start with a new signing key."
            ).format(path=str(path))
        )
    _require_private(path, found.st_mode)
    if found.st_size != KEY_BYTES:
        raise ArtifactAccessError(
            _(
                "Expected {expected} bytes in {path!r}, received {size}; remove the file to start "
                "with a new key (artifacts signed with the old one ask for trust again)."
            ).format(expected=KEY_BYTES, path=str(path), size=found.st_size)
        )
    return key


def _require_private(path: Path, mode: int) -> None:
    """Raise ArtifactAccessError if others may read the key, and sign in our name, or change it."""
    if os.name == "posix" and mode & 0o077:
        raise ArtifactAccessError(
            _(
                "Expected the signing key {path!r} to be open to you alone, received the mode "
                "{mode}; run {command}."
            ).format(
                path=str(path),
                mode=f"{mode & 0o777:o}",
                command=shlex.join(["chmod", "600", str(path)]),
            )
        )


def _key_path() -> Path:
    named = os.environ.get("D2LHYBRID_DATA")
    return (Path(named) if named else user_data_path("d2lhybrid")) / "artifact.key"


@contextlib.contextmanager
def _naming_the_key() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactAccessError(
            error.errno,
            _(
                "Cannot use the signing key {path!r}: {reason}; make its folder writable, "
                "or name another one in the environment variable D2LHYBRID_DATA."
            ).format(path=str(_key_path()), reason=error.strerror),
        ) from error


def _make_key(path: Path) -> None:
    """Write a new key unless another process is faster; no reader ever sees half a key."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(f".{uuid.uuid4().hex}")
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
