"""``verify``: are the bytes as saved, and does the model compute what was recorded?"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from d2lhybrid.artifacts.inspect import below_path
from d2lhybrid.artifacts.load import load_checked
from d2lhybrid.artifacts.proof import verify_in_subprocess
from d2lhybrid.artifacts.store import Stored, not_a_path, read
from d2lhybrid.backends.verb import verb
from d2lhybrid.core import errors
from d2lhybrid.core.i18n import gettext as _, listed, noop as N_, pgettext

# As they are shown, in the reader's language.
ANSWERS = N_("proved"), N_("failed"), N_("not run")


@dataclass(frozen=True, repr=False)
class Verification:
    """What ``verify`` found.

    Attributes:
        path: The artifact's folder.
        answer: ``"proved"``: the bytes are as saved, and the model ran and gave the recorded
            outputs. ``"not run"``: the bytes are as saved, but the model was not run because you
            don't trust it. ``"failed"``: anything else.
        reason: Why it isn't proved.
        problems: What is wrong with the bytes; empty if all are as saved.
    """

    path: Path
    answer: Literal["proved", "not run", "failed"]
    reason: str = ""
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when the answer is ``"proved"``."""
        return self.answer == "proved"

    def __str__(self) -> str:
        if self.ok:
            outputs = pgettext("outputs", "same")
        elif self.problems or self.answer == "not run":
            outputs = _("not run: {reason}").format(reason=self.reason)
        else:
            outputs = _("failed: {reason}").format(reason=self.reason)
        bytes_found = listed(self.problems) or _("as saved")
        rows = [
            (_("answer:"), _(self.answer)),
            (_("bytes:"), bytes_found),
            (_("outputs:"), outputs),
        ]
        return below_path(self.path, rows)

    __repr__ = __str__


@verb("verify('path')", "verify('path', trust=True)", check=not_a_path)
def verify(path: str | os.PathLike[str], /, *, trust: bool = False) -> Verification:
    """Check that the bytes are as saved, and that the model computes its recorded outputs.

    There are three answers: proved, failed, and not run, because the files are intact but untrusted
    (`trust` is as in ``load``). ``ok`` is true only for the first. Damaged files and errors from
    the model are reported, not raised. A model that you don't trust, of a format that holds no
    code, runs in a fresh process, for ten minutes at most.

    Raises:
        ArtifactNotFoundError, ArgumentError: As in ``load``.
        DamagedArtifactError: The manifest cannot be read.
        UnsupportedArtifactError, MissingPackageError, ArtifactLoadError: It cannot be run here.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> verify("linear").ok
    True
    >>> with open("linear/model.pt2", "ab") as file:
    ...     _ = file.write(b"!")
    >>> verify("linear").ok
    False
    """
    stored = read(path)
    if problems := stored.find_problems():
        return Verification(stored.root, "failed", _("the bytes differ"), problems)
    try:
        trusted = stored.require_allowed(trust)
    except errors.UntrustedArtifactError as error:
        return Verification(stored.root, "not run", str(error))
    with stored.off_import_path(trusted):
        difference = _find_difference(stored, trusted)
    return Verification(stored.root, "failed" if difference else "proved", difference)


def _find_difference(stored: Stored, trusted: bool) -> str:
    """How the outputs differ from the recorded ones, or why the model did not run; "" if neither.

    Raises:
        MissingPackageError, UnsupportedArtifactError, ArtifactLoadError: It cannot be loaded here.
    """
    model = load_checked(stored)
    try:
        if not trusted:  # it may never come to an end
            return verify_in_subprocess(stored.root, trust=False)
        return model.difference()
    except Exception as error:
        return str(error) if isinstance(error, errors.D2LHybridError) else errors.brief(error)
