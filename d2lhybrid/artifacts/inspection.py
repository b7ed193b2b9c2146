"""``inspect``: what an artifact says of itself, and whether this user trusts it.

Nothing here runs, unpickles or hands bytes to a framework.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.store import problems_of, read
from d2lhybrid.i18n import count, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.table import Column, Table


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it; shown as a small table.

    Attributes:
        path: The artifact's folder.
        manifest: What the artifact says: `format`, `framework`, `versions`, `created`, `inputs`,
            `outputs`, `files`.
        trusted: Did this user save it as it is, or call ``trust``?
        may: What the format lets such a file do when it is loaded.
        note: What else there is to know of the format, and why no axis may vary.
        problems: What is not as it was saved; empty if every byte is.
    """

    path: Path
    manifest: Manifest
    trusted: bool
    may: str
    note: str
    problems: tuple[str, ...]

    @property
    def format(self) -> str:
        """The name of the format."""
        return self.manifest.format

    def __str__(self) -> str:
        manifest = self.manifest
        versions = ", ".join(f"{k} {v}" for k, v in manifest.versions.items())
        size = _("{size:>12} bytes")
        trusted = _("yes, by you") if self.trusted else _("no; trust(path) changes that")
        rows = [(_("format:"), f"{manifest.format} ({manifest.framework})"), (_("with:"), versions)]
        rows += [(_("created:"), manifest.created)]
        rows += [(_("input:"), str(spec)) for spec in manifest.inputs]
        rows += [(_("output:"), str(spec)) for spec in manifest.outputs]
        rows += [
            (_("file:"), f"{size.format(size=count(f.size))}  {f.path}") for f in manifest.files
        ]
        rows += [(_("trusted:"), trusted), (_("may:"), self.may)]
        rows += [(_("note:"), self.note)] if self.note else []
        rows += [(_("PROBLEM:"), text) for text in self.problems]
        return table(self.path, rows)

    __repr__ = __str__


def inspect(path: str | os.PathLike[str]) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: Nothing is at the path, or no artifact.
        DamagedArtifactError: Its manifest cannot be read.
        UnsupportedArtifactError: Its version or its format is not known here.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> print(inspect("linear").manifest.inputs[0])
    input: float32 (any, 3)
    """
    stored = read(path)
    fixed, chosen = stored.manifest.fixed, stored.format
    may, note = chosen.risk or N_("Nothing: this format holds no code."), _(chosen.note)
    if fixed:
        note = sentences(note, _("No axis may vary: {reason}.").format(reason=fixed))
    problems = problems_of(stored)
    return Inspection(stored.root, stored.manifest, stored.trusted, _(may), note, problems)


def table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    shown = [[f"  {label}", text] for label, text in rows]
    name = str(path)  # escaped where a terminal would obey it or break the line
    title = name if name.isprintable() else repr(name)
    return f"{title}\n{Table([Column(left=True)] * 2, shown, gap=' ')}"
