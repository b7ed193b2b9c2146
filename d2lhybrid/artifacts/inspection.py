"""``inspect``: what an artifact is and what it may do, from its bytes alone.

Nothing here runs, unpickles or hands bytes to a framework, and every loop is bounded by the size
of the files.
"""

import io
import os
import pickletools
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from d2lhybrid.artifacts.files import list_files, open_regular, reading
from d2lhybrid.artifacts.manifest import FileEntry, TensorSpec
from d2lhybrid.artifacts.store import Stored, check_files, steady
from d2lhybrid.artifacts.trust import Signer, signer
from d2lhybrid.errors import DamagedArtifactError, UnsupportedArtifactError
from d2lhybrid.frameworks.formats import find
from d2lhybrid.i18n import count, pad, sentences, width
from d2lhybrid.i18n import gettext as _
from d2lhybrid.i18n import noop as N_

MAX_LOOK = 8 << 20  # unpacked bytes that are looked at
MAX_GRAPHS = 256 << 20  # bytes of TensorFlow's graphs that are looked at
OUTSIDE = N_("entry {name!r} that points outside")
ENDLESS = N_("a list of entries too long to look at")  # so one of them could point outside
MORE = N_("more content than was looked at")
# Graph operations of TensorFlow that reach outside the graph, but for saving and restoring.
_OPS = re.compile(
    rb"[\n\x12].(WriteFile|ReadFile|PyFunc|EagerPyFunc|PyFuncStateless|MatchingFiles)\b"
)
# What torch's own archives name in their pickles.
_USUAL = re.compile(r"(torch|collections|__torch__)\b.*|builtins (set|dict|list|tuple|getattr)")


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
    return steady(path, _inspect)


def _inspect(stored: Stored) -> Inspection:
    manifest = stored.manifest
    problems, findings, made = [], [], Signer("nobody")
    try:
        made = signer(stored)
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        problems += check_files(stored, content=False)
        findings = [f"{_plain(name)}: {found}" for name, found in _findings(stored)]
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        chosen = find(manifest.framework, manifest.format)
        may, note = _(chosen.risk) or _("Nothing: this format holds no code."), _(chosen.note)
    except UnsupportedArtifactError as error:
        may, note = sentences(_("Unknown."), str(error)), ""
    told: dict[str, Any] = {key: getattr(manifest, key) for key in _TOLD}
    told |= {"findings": tuple(findings), "problems": tuple(problems)}
    told |= {"signer": str(made), "signed": made.by()}
    return Inspection(path=stored.root, may=may, note=note, **told)


def require_closed(stored: Stored) -> None:
    """Raise DamagedArtifactError if an archive has entries for places outside its folder."""
    for name, found in _findings(stored):
        if found.message in (OUTSIDE, ENDLESS):
            text = _("{file} has this: {finding}; do not use this artifact.")
            raise DamagedArtifactError(text.format(file=_plain(name), finding=found))


def _plain(name: str) -> str:
    """A name on the disk as it is, or escaped if a terminal would obey it or break the line."""
    return name if name.isprintable() else repr(name)


def table(path: Path, rows: Sequence[tuple[str, str]]) -> str:
    """The path, and below it the rows in two columns."""
    columns = max(width(label) for label, _text in rows) + 1
    lines = [f"  {pad(label, columns)}{text}" for label, text in rows]
    return "\n".join([_plain(str(path)), *lines])


def _findings(stored: Stored) -> list[tuple[str, Finding]]:
    """What stands out in which file to someone who must decide whether to trust them."""
    found: list[tuple[str, Finding]] = []
    budget, graphs = [MAX_LOOK], MAX_GRAPHS
    for name in list_files(stored.root):
        path = stored.root / name
        with reading(path), open_regular(path) as file:
            if name.endswith((".pt", ".pt2", ".keras")):
                found += [(name, finding) for finding in _in_archive(file, budget)]
            elif name.endswith(".pb"):
                data = file.read(graphs)
                graphs -= len(data)
                ops = {m.decode() for m in _OPS.findall(data)}
                found += [(name, Finding(N_("graph operation {name}"), op)) for op in sorted(ops)]
                if not graphs:
                    found.append((name, Finding(MORE)))
    return found


def _in_archive(file: IO[bytes], budget: list[int]) -> list[Finding]:
    try:
        end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
        if end and end[5] > MAX_LOOK:  # bytes of the list of entries, which ZipFile reads at once
            return [Finding(ENDLESS)]
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
    except Exception:  # zipfile raises many kinds on broken bytes
        return [Finding(N_("not a readable archive"))]
    names = [m.filename for m in members]
    found = [
        Finding(OUTSIDE, name)
        for name in names
        if name.startswith("/") or "\\" in name or ".." in name.split("/")
    ]
    native = [name for name in names if name.endswith((".so", ".dll", ".dylib"))]
    found += [Finding(N_("native code in {name!r}"), name) for name in native]
    for member in members:
        if not member.filename.endswith((".pkl", ".pt", ".py", "config.json")):
            continue
        budget[0] -= 1 << 10
        if budget[0] < 0:
            return [*found, Finding(MORE)]
        try:
            with archive.open(member) as content:
                data = content.read(budget[0])
        except Exception as error:  # so do its decompressors
            unread = Finding(N_("an entry that cannot be read ({name})"), type(error).__name__)
            found.append(unread.within(member.filename))
            continue
        budget[0] -= len(data)
        found += [f.within(member.filename) for f in _in_member(member, data, budget)]
    return found


def _in_member(member: zipfile.ZipInfo, data: bytes, budget: list[int]) -> list[Finding]:
    if member.filename.endswith(".py"):
        runs = Finding(N_("code that runs at load (__setstate__)"))
        return [runs] if b"__setstate__" in data else []
    if member.filename.endswith("config.json"):
        return [Finding(N_("a lambda"))] if b"Lambda" in data else []
    if data[:2] == b"PK":
        return _in_archive(io.BytesIO(data), budget)
    calls = N_("a pickle that calls {name!r}")
    return [Finding(calls, name) for name in _unusual_globals(data)]


def _unusual_globals(data: bytes) -> list[str]:
    """Names that a pickle imports and that torch's archives do not; reads opcodes, runs none."""
    names: set[str] = set()
    stream = io.BytesIO(data)
    while stream.tell() < len(data):  # torch's older files hold several pickles, then raw bytes
        start, texts = stream.tell(), [""]
        try:
            for opcode, argument, _ in pickletools.genops(stream):
                if isinstance(argument, str):
                    texts = [texts[-1], argument]
                if opcode.name in ("GLOBAL", "INST"):
                    names.add(str(argument))
                elif opcode.name == "STACK_GLOBAL":
                    names.add(" ".join(texts))
        except Exception as error:  # so does pickletools
            if start == 0:
                names.add(f"({type(error).__name__})")
            break
    return sorted(name for name in names if not _USUAL.fullmatch(name))
