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
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path

from d2lhybrid.artifacts.files import accessing, open_regular, read_small
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
        if self.who == "nobody":
            return _("by nobody")
        text = _("by you (key {key})") if self.who == "you" else _("by someone else (key {key})")
        return text.format(key=self.key or "?")


def signature(raw: bytes) -> bytes:
    """The content of the signature file for a manifest's bytes, signed by this user."""
    key, digest = _key() or _new_key(), hashlib.sha256(raw).hexdigest()
    body = {"manifest_sha256": digest, "key": _name(key), "hmac": _hmac(key, raw)}
    return (json.dumps(body, indent=1) + "\n").encode()


def sign(stored: Stored) -> None:
    """Put this user's signature beside the manifest.

    Raises:
        ArtifactAccessError: The folder does not let us write, or there is no key.
    """
    content, fresh = signature(stored.raw), stored.root / f".{SIGNATURE}"
    text = _(
        "Could not sign {path!r}: {reason}; copy the artifact to a folder "
        "that you may write to, or use load(path, trust=True) each time."
    )
    with accessing(stored.root, text):
        fresh.unlink(missing_ok=True)
        fresh.write_bytes(content)
        os.replace(fresh, stored.root / SIGNATURE)


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
            _("{file} is not what trust or save wrote; remove it to have an unsigned artifact."),
            file=SIGNATURE,
        ) from error
    key = _key()
    mine = key is not None and name == _name(key)
    whole = digest == hashlib.sha256(stored.raw).hexdigest()
    if key is not None and mine:
        right = _hmac(key, stored.raw).encode()
        whole = whole and hmac.compare_digest(code.encode(errors="replace"), right)
    if not whole:
        raise DamagedArtifactError(
            _("The manifest was changed after it was signed; get the artifact again.")
        )
    return Signer("you" if mine else "someone else", name[:16] if name.isalnum() else "")


def _hmac(key: bytes, raw: bytes) -> str:
    return hmac.new(key, b"d2lhybrid artifact 1\n" + raw, hashlib.sha256).hexdigest()


def _name(key: bytes) -> str:
    return hashlib.sha256(b"d2lhybrid key name\n" + key).hexdigest()[:16]


def _new_key() -> bytes:
    """This user's key, which is made whole or not at all."""
    path = _key_path()
    fresh = path.with_name(f".{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
        with contextlib.suppress(FileExistsError):  # another process was faster
            os.link(fresh, path)
    except OSError as error:
        raise _unusable(str(error.strerror)) from error
    finally:
        fresh.unlink(missing_ok=True)
    return _key() or _new_key()


def _key() -> bytes | None:
    """This user's key; None where there is none yet."""
    try:
        with open_regular(_key_path()) as file:
            key, found = file.read(KEY_BYTES + 1), os.fstat(file.fileno())
    except FileNotFoundError:
        return None
    except (OSError, DamagedArtifactError) as error:
        raise _unusable(str(getattr(error, "strerror", None) or error)) from error
    if os.name == "posix" and found.st_mode & 0o077:  # others could sign in our name
        command = shlex.join(["chmod", "600", str(_key_path())])
        text = _("others may open it (mode {mode}); run {command}")
        raise _unusable(text.format(mode=f"{found.st_mode & 0o777:o}", command=command))
    if len(key) != KEY_BYTES:
        text = _("expected {expected} bytes, received {size}; remove it to start with a new key")
        raise _unusable(text.format(expected=KEY_BYTES, size=found.st_size))
    return key


def _unusable(reason: str) -> ArtifactAccessError:
    return ArtifactAccessError(
        _(
            "Cannot use the signing key {path!r}: {reason}. Its folder can be named in the "
            "environment variable D2LHYBRID_DATA."
        ),
        path=str(_key_path()),
        reason=reason,
    )


def _key_path() -> Path:
    named = os.environ.get("D2LHYBRID_DATA")
    return (Path(named) if named else user_data_path("d2lhybrid")) / "artifact.key"
