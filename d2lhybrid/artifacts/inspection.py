"""``inspect``: what an artifact is and what it may do, from its bytes alone.

Nothing here runs, unpickles or hands bytes to a framework, and every loop is bounded by the size
of the files.
"""

import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from d2lhybrid.artifacts.files import open_regular, reading
from d2lhybrid.artifacts.manifest import FileEntry, TensorSpec
from d2lhybrid.artifacts.store import Stored, check_files, read
from d2lhybrid.artifacts.trust import Signer, signer
from d2lhybrid.errors import DamagedArtifactError, UnsupportedArtifactError
from d2lhybrid.frameworks.formats import Sign
from d2lhybrid.i18n import count, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.report.table import Column, Row, Table

MAX_LOOK = 64 << 20  # unpacked bytes that are looked at
PER_FILE = 1 << 10  # what a file counts beside its bytes
NATIVE = (".so", ".dll", ".dylib")


class Suspicion(NamedTuple):
    """What stands out, in words, and whether it is an entry for a place outside the artifact."""

    text: str
    outside: bool = False


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it; shown as a small table.

    Attributes:
        path: The artifact's folder.
        format, framework, versions, created, inputs, outputs, files: What the manifest says.
        signer: Who signed, in English: ``"you"``, ``"someone else"`` or ``"nobody"``, and the key.
        signed: The same in the reader's language.
        may: What the format lets such a file do when it is loaded.
        note: What else there is to know of the format.
        findings: What stands out inside the files.
        problems: What is damaged; empty if nothing was found. Names and sizes are checked here,
            the bytes by ``verify``.
    """

    path: Path
    format: str
    framework: str
    versions: dict[str, str]
    created: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    files: tuple[FileEntry, ...]
    signer: str
    signed: str
    may: str
    note: str
    findings: tuple[str, ...]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        size = _("{size:>12} bytes")
        rows = [(_("format:"), f"{self.format} ({self.framework})"), (_("with:"), versions)]
        rows += [(_("created:"), self.created)]
        rows += [(_("input:"), str(spec)) for spec in self.inputs]
        rows += [(_("output:"), str(spec)) for spec in self.outputs]
        rows += [(_("file:"), f"{size.format(size=count(f.size))}  {f.path}") for f in self.files]
        rows += [(_("signed:"), self.signed), (_("may:"), self.may)]
        rows += [(_("note:"), self.note)] if self.note else []
        rows += [(_("found:"), text) for text in self.findings]
        rows += [(_("PROBLEM:"), text) for text in self.problems]
        return table(self.path, rows)

    __repr__ = __str__


def inspect(path: str | os.PathLike[str]) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: Nothing is at the path.
        ArtifactNotFoundError: It is no artifact.
        DamagedArtifactError: Its manifest cannot be read.
        UnsupportedArtifactError: Its manifest is of a newer version.

    >>> import torch
    >>> from d2lhybrid import save
    >>> net, x = torch.nn.Linear(3, 2), torch.ones(1, 3)
    >>> artifact = save(net, "linear", x)
    >>> print(inspect("linear").inputs[0])
    input: float32 (any, 3)
    """
    stored = read(path)
    manifest = stored.manifest
    problems: list[str] = []
    findings: list[str] = []
    made, may, note = Signer("nobody"), _("Nothing: this format holds no code."), ""
    try:
        made = signer(stored)
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        problems += check_files(stored, content=False)
        chosen = stored.format
        may, note = _(chosen.risk) or may, _(chosen.note)
        findings = [f"{_plain(name)}: {found.text}" for name, found in _findings(stored)]
    except UnsupportedArtifactError as error:
        may = sentences(_("Unknown."), str(error))
    except DamagedArtifactError as error:
        problems.append(str(error))
    return Inspection(
        path=stored.root,
        format=manifest.format,
        framework=manifest.framework,
        versions=manifest.versions,
        created=manifest.created,
        inputs=manifest.inputs,
        outputs=manifest.outputs,
        files=manifest.files,
        signer=str(made),
        signed=made.by(),
        may=may,
        note=note,
        findings=tuple(findings),
        problems=tuple(problems),
    )


def require_closed(stored: Stored) -> None:
    """Raise DamagedArtifactError if an archive has entries for places outside its folder."""
    for name, found in _findings(stored):
        if found.outside:
            text = _("{file} has this: {finding}; do not use this artifact.")
            raise DamagedArtifactError(text, file=_plain(name), finding=found.text)


def table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    shown = [Row([f"  {label}", text]) for label, text in rows]
    return f"{_plain(str(path))}\n{Table([Column(left=True)] * 2, shown, gap=' ')}"


def _plain(name: str) -> str:
    """A name on the disk as it is, or escaped if a terminal would obey it or break the line."""
    return name if name.isprintable() else repr(name)


def _findings(stored: Stored) -> Iterator[tuple[str, Suspicion]]:
    """What stands out in which file to someone who must decide whether to trust them."""
    chosen = stored.format
    look = _Look(chosen.signs)
    for entry in stored.manifest.files:
        path = stored.root / entry.path
        if path.exists():
            with reading(path), open_regular(path) as file:
                packed = chosen.archive and entry.path == chosen.file
                found = look.in_archive(file) if packed else look.in_file(entry.path, file)
                yield from ((entry.path, finding) for finding in found)


class _Look:
    """A look for the signs of a format, which ends after so many bytes."""

    def __init__(self, signs: Sequence[Sign]) -> None:
        self.signs, self.left = signs, MAX_LOOK

    def in_file(self, name: str, file: IO[bytes]) -> Iterator[Suspicion]:
        signs = [sign for sign in self.signs if name.endswith(sign.ending)]
        if not signs:
            return
        data = file.read(max(0, self.left))
        self.left -= len(data) + PER_FILE
        for sign in signs:
            matches = re.finditer(sign.pattern, data)
            found = {m[1].decode(errors="replace") if m.re.groups else "" for m in matches}
            yield from (Suspicion(_(sign.message).format(name=one)) for one in sorted(found))
        if file.read(1):
            yield Suspicion(_("more content than was looked at"))

    def in_archive(self, file: IO[bytes]) -> Iterator[Suspicion]:
        try:
            archive = zipfile.ZipFile(file)
        except Exception:  # zipfile raises many kinds on broken bytes
            yield Suspicion(_("not a readable archive"))
            return
        for name in archive.namelist():
            if name.startswith("/") or "\\" in name or ".." in name.split("/"):
                yield Suspicion(_("entry {name!r} that points outside").format(name=name), True)
            if name.endswith(NATIVE):
                yield Suspicion(_("native code in {name!r}").format(name=name))
        for member in archive.infolist():
            if self.left <= 0:
                yield Suspicion(_("more content than was looked at"))
                return
            try:
                with archive.open(member) as content:
                    found = list(self.in_file(member.filename, content))
            except Exception as error:  # so do its decompressors
                text = _("an entry that cannot be read ({name})")
                found = [Suspicion(text.format(name=type(error).__name__))]
            text = _("{finding} in {member!r}")
            for finding in found:
                yield Suspicion(text.format(finding=finding.text, member=member.filename))
