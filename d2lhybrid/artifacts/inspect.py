"""``inspect`` and ``trust``: they run and unpickle nothing, and pass no bytes to a framework."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from d2lhybrid.artifacts.manifest import Manifest
from d2lhybrid.artifacts.store import not_a_path, read
from d2lhybrid.artifacts.trusted import add_trusted
from d2lhybrid.core.i18n import count, gettext as _, sentences
from d2lhybrid.core.usage import written_as


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it, shown as a small table.

    Attributes:
        path: The artifact's folder.
        manifest: What the artifact says: `format`, `framework`, `versions`, `created`, `inputs`,
            `outputs`, `files`.
        trusted: Did this user save it as it is, or call ``trust``?
        risk: What such a file can do when it is loaded.
        note: What else to know about the format, and why no axis can vary.
        problems: What isn't as it was saved; empty if every byte is.
    """

    path: Path
    manifest: Manifest
    trusted: bool
    risk: str
    note: str
    problems: tuple[str, ...]

    def __str__(self) -> str:
        manifest = self.manifest
        versions = [f"{package} {number}" for package, number in manifest.versions.items()]
        size = _("{size:>12} bytes")
        rows = [
            (_("format:"), f"{manifest.format} ({manifest.framework})"),
            (_("with:"), ", ".join(versions)),
            (_("created:"), manifest.created),
        ]
        rows += [(_("input:"), str(spec)) for spec in manifest.inputs]
        rows += [(_("output:"), str(spec)) for spec in manifest.outputs]
        for file in manifest.files:
            rows.append((_("file:"), f"{size.format(size=count(file.size))}  {file.path}"))
        trusted = _("yes, by you") if self.trusted else _("no; trust(path) changes that")
        rows += [(_("trusted:"), trusted), (_("may:"), self.risk)]
        if self.note:
            rows.append((_("note:"), self.note))
        rows += [(_("PROBLEM:"), problem) for problem in self.problems]
        return below_path(self.path, rows)

    __repr__ = __str__


@written_as("inspect('path')", check=not_a_path)
def inspect(path: str | os.PathLike[str], /) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: There is nothing at the path, or no artifact.
        DamagedArtifactError: Its manifest cannot be read.
        UnknownFrameworkError, UnsupportedArtifactError: Its framework or its format is unknown.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> print(inspect("linear").manifest.inputs[0])
    input: float32 (any, 3)
    """
    stored = read(path)
    chosen = stored.format
    risk = _(chosen.risk) or _("Nothing: this format holds no code.")
    note = sentences(_(chosen.note), _(chosen.lasts))
    if stored.manifest.fixed:
        fixed = _("No axis can vary: {reason}.").format(reason=stored.manifest.fixed)
        note = sentences(note, fixed)
    problems = stored.find_problems()
    return Inspection(stored.root, stored.manifest, stored.trusted, risk, note, problems)


@written_as("trust('path')", check=not_a_path)
def trust(path: str | os.PathLike[str], /) -> Inspection:
    """Declare that this artifact may run with your permissions; ``inspect`` it first.

    It is trusted as it is now. Any change afterwards ends the trust.

    Raises:
        DamagedArtifactError: It isn't as it was saved.
        UnwritableFolderError: Your list of trusted artifacts cannot be written to.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> trust("linear").trusted
    True
    """
    stored = read(path)
    stored.require_intact()
    add_trusted(stored.digest)
    return inspect(path)


def below_path(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path of an artifact, and below it what is said of it, in two columns."""
    from d2lhybrid.core.table import Column, Table  # what is not printed needs no table

    indented = [[f"  {label}", text] for label, text in rows]
    name = str(path)  # escaped where a terminal would obey it or break the line
    title = name if name.isprintable() else repr(name)
    return f"{title}\n{Table([Column(left=True)] * 2, indented, gap=' ')}"
