"""``inspect``: what an artifact is and what it may do, from its bytes alone.

Nothing here runs, unpickles or hands bytes to a framework, and every loop is bounded by the size
of the files.
"""

import io
import os
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from d2lhybrid.artifacts.files import open_regular, reading
from d2lhybrid.artifacts.manifest import FileEntry, TensorSpec
from d2lhybrid.artifacts.store import Stored, check_files, read
from d2lhybrid.artifacts.trust import Signer, signer
from d2lhybrid.errors import DamagedArtifactError, UnsupportedArtifactError
from d2lhybrid.frameworks.formats import Format, find
from d2lhybrid.i18n import count, sentences
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_
from d2lhybrid.report.table import Column, Row, Table

MAX_LOOK = 64 << 20  # unpacked bytes that are looked at
OUTSIDE = N_("entry {name!r} that points outside")
ENDLESS = N_("a list of entries too long to look at")  # so one of them could point outside
MORE = N_("more content than was looked at")
NATIVE = (".so", ".dll", ".dylib")


@dataclass(frozen=True)
class Finding:
    """What stands out: a message, the name in it, and the archive members that it is inside of."""

    message: str
    name: str = ""
    inside: tuple[str, ...] = ()

    def within(self, member: str) -> "Finding":
        """The same, seen from outside of an archive's member."""
        return replace(self, inside=(*self.inside, member))

    def __str__(self) -> str:
        text = _(self.message).format(name=self.name)
        for member in self.inside:
            text = _("{finding} in {member!r}").format(finding=text, member=member)
        return text


# What an inspection repeats from the manifest.
_TOLD = ("format", "framework", "versions", "created", "inputs", "outputs", "files")


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
    findings: list[tuple[str, Finding]] = []
    made, may, note = Signer("nobody"), _("Nothing: this format holds no code."), ""
    try:
        made = signer(stored)
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        problems += check_files(stored, content=False)
        chosen = find(manifest.framework, manifest.format)
        may, note = _(chosen.risk) or may, _(chosen.note)
        findings = _findings(stored, chosen)
    except UnsupportedArtifactError as error:
        may = sentences(_("Unknown."), str(error))
    except DamagedArtifactError as error:
        problems.append(str(error))
    told: dict[str, Any] = {key: getattr(manifest, key) for key in _TOLD}
    told |= {"findings": tuple(f"{_plain(name)}: {found}" for name, found in findings)}
    told |= {"signer": str(made), "signed": made.by(), "problems": tuple(problems)}
    return Inspection(path=stored.root, may=may, note=note, **told)


def require_closed(stored: Stored, chosen: Format) -> None:
    """Raise DamagedArtifactError if an archive has entries for places outside its folder."""
    for name, found in _findings(stored, chosen):
        if found.message in (OUTSIDE, ENDLESS):
            text = _("{file} has this: {finding}; do not use this artifact.")
            raise DamagedArtifactError(text.format(file=_plain(name), finding=found))


def _plain(name: str) -> str:
    """A name on the disk as it is, or escaped if a terminal would obey it or break the line."""
    return name if name.isprintable() else repr(name)


def table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    shown = [Row([f"  {label}", text]) for label, text in rows]
    return f"{_plain(str(path))}\n{Table([Column(left=True)] * 2, shown, gap=' ')}"


def _findings(stored: Stored, chosen: Format) -> list[tuple[str, Finding]]:
    """What stands out in which file to someone who must decide whether to trust them."""
    found: list[tuple[str, Finding]] = []
    budget = [MAX_LOOK]
    for entry in stored.manifest.files:
        path, archive = stored.root / entry.path, chosen.archive and entry.path == chosen.file
        signed = entry.path.endswith(tuple(sign.ending for sign in chosen.signs))
        if not path.exists() or not (archive or signed):
            continue
        with reading(path), open_regular(path) as file:
            look = (
                _in_archive(file, chosen, budget)
                if archive
                else _in_file(file, chosen, budget, entry.path)
            )
            found += [(entry.path, finding) for finding in look]
    return found


def _in_archive(file: IO[bytes], chosen: Format, budget: list[int]) -> Iterator[Finding]:
    try:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if end and end[5] > MAX_LOOK // 8:  # bytes of the list that ZipFile reads at once
            yield Finding(ENDLESS)
            return
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
    except Exception:  # zipfile raises many kinds on broken bytes
        yield Finding(N_("not a readable archive"))
        return
    for member in members:
        name = member.filename
        if name.startswith("/") or "\\" in name or ".." in name.split("/"):
            yield Finding(OUTSIDE, name)
        if name.endswith(NATIVE):
            yield Finding(N_("native code in {name!r}"), name)
    for member in members:
        if not member.filename.endswith(tuple(sign.ending for sign in chosen.signs) or ("/",)):
            continue
        budget[0] -= 1 << 10
        if budget[0] < 0:
            yield Finding(MORE)
            return
        try:
            with archive.open(member) as content:
                data = io.BytesIO(content.read(budget[0]))
        except Exception as error:  # so do its decompressors
            unread = Finding(N_("an entry that cannot be read ({name})"), type(error).__name__)
            yield unread.within(member.filename)
            continue
        for finding in _in_file(data, chosen, budget, member.filename):
            yield finding.within(member.filename)


def _in_file(file: IO[bytes], chosen: Format, budget: list[int], name: str) -> Iterator[Finding]:
    """The signs that the format knows of, in a file's bytes."""
    data = file.read(max(0, budget[0]))
    budget[0] -= len(data)
    for sign in chosen.signs:
        if name.endswith(sign.ending):
            matches = re.finditer(sign.pattern, data)
            names = {m[1].decode(errors="replace") if m.re.groups else "" for m in matches}
            for found in sorted(names):
                yield Finding(sign.message, found)
    if file.read(1):
        yield Finding(MORE)
