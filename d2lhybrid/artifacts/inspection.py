"""``inspect``: what an artifact is and what it may do, from its bytes alone.

Nothing here runs, unpickles or hands bytes to a framework, and every loop is bounded by the size
of the files.
"""

import io
import os
import pickletools
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from d2lhybrid.artifacts.files import list_files, open_regular, reading
from d2lhybrid.artifacts.manifest import FileEntry, TensorSpec
from d2lhybrid.artifacts.store import Stored, check_files, steady
from d2lhybrid.artifacts.trust import signer
from d2lhybrid.backends.formats import find
from d2lhybrid.errors import DamagedArtifactError, UnsafeArtifactError, UnsupportedArtifactError

MAX_LOOK = 8 << 20  # unpacked bytes that are looked at
OUTSIDE = "that points outside"
# Graph operations of TensorFlow that reach outside the graph, but for saving and restoring.
_OPS = re.compile(
    rb"[\n\x12].(WriteFile|ReadFile|PyFunc|EagerPyFunc|PyFuncStateless|MatchingFiles)\b"
)
# What torch's own archives name in their pickles.
_USUAL = re.compile(r"(torch|collections|__torch__)\b.*|builtins (set|dict|list|tuple|getattr)")


@dataclass(frozen=True, repr=False)
class Inspection:
    """An artifact as ``inspect`` sees it; shown as a small table."""

    path: Path
    format: str
    framework: str
    versions: dict[str, str]
    created: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    files: tuple[FileEntry, ...]
    signer: str
    may: str
    note: str
    findings: tuple[str, ...]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        versions = ", ".join(f"{k} {v}" for k, v in self.versions.items())
        rows = [f"{self.path}"]
        rows += [f"  format:  {self.format} ({self.framework})", f"  with:    {versions}"]
        rows += [f"  created: {self.created}"]
        rows += [f"  input:   {spec}" for spec in self.inputs]
        rows += [f"  output:  {spec}" for spec in self.outputs]
        rows += [f"  file:    {f.size:>12,} bytes  {f.path}" for f in self.files]
        rows += [f"  signed:  by {self.signer}", f"  may:     {self.may}"]
        rows += [f"  note:    {self.note}"] if self.note else []
        rows += [f"  found:   {text}" for text in self.findings]
        rows += [f"  PROBLEM: {text}" for text in self.problems]
        return "\n".join(rows)

    __repr__ = __str__


def inspect(path: str | os.PathLike[str]) -> Inspection:
    """Describe an artifact without executing anything.

    Raises:
        ArtifactNotFoundError: Nothing is at the path.
        NotAnArtifactError: It is no artifact.
        DamagedArtifactError: Its manifest cannot be read.

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
    problems, findings, who = [], [], "nobody"
    try:
        who = str(signer(stored))
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        problems += check_files(stored, content=False)
        findings = [f"{name}: {text}" for name, text in _findings(stored)]
    except DamagedArtifactError as error:
        problems.append(str(error))
    try:
        chosen = find(manifest.framework, manifest.format)
        may, note = chosen.risk or "Nothing: this format holds no code.", chosen.note
    except UnsupportedArtifactError as error:
        may, note = f"Unknown. {error}", ""
    return Inspection(
        path=stored.root,
        format=manifest.format,
        framework=manifest.framework,
        versions=manifest.versions,
        created=manifest.created,
        inputs=manifest.inputs,
        outputs=manifest.outputs,
        files=manifest.files,
        signer=who,
        may=may,
        note=note,
        findings=tuple(findings),
        problems=tuple(problems),
    )


def require_closed(stored: Stored) -> None:
    """Raise UnsafeArtifactError if an archive has entries for places outside its folder."""
    for name, text in _findings(stored):
        if text.endswith(OUTSIDE):
            raise UnsafeArtifactError(f"{name} has an {text}; do not use this artifact.")


def _findings(stored: Stored) -> list[tuple[str, str]]:
    """What stands out in which file to someone who must decide whether to trust them."""
    found: list[tuple[str, str]] = []
    budget = [MAX_LOOK]
    for name in list_files(stored.root):
        path = stored.root / name
        with reading(path), open_regular(path) as file:
            if name.endswith((".pt", ".pt2", ".keras")):
                found += [(name, text) for text in _in_archive(file, budget)]
            elif name.endswith(".pb"):
                ops = {m.decode() for m in _OPS.findall(file.read(32 * MAX_LOOK))}
                found += [(name, f"graph operation {op}") for op in sorted(ops)]
    return found


def _in_archive(file: IO[bytes], budget: list[int]) -> list[str]:
    try:
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
    except Exception:  # zipfile raises many kinds on broken bytes
        return ["not a readable archive"]
    names = [m.filename for m in members]
    found = [
        f"entry {name!r} {OUTSIDE}"
        for name in names
        if name.startswith("/") or "\\" in name or ".." in name.split("/")
    ]
    found += [f"native code in {n!r}" for n in names if n.endswith((".so", ".dll", ".dylib"))]
    for member in members:
        if not member.filename.endswith((".pkl", ".pt", ".py", "config.json")):
            continue
        budget[0] -= 1 << 10
        if budget[0] < 0:
            return [*found, "more content than was looked at"]
        try:
            with archive.open(member) as content:
                data = content.read(budget[0])
        except Exception as error:  # so do its decompressors
            found.append(f"{member.filename!r} cannot be read ({type(error).__name__})")
            continue
        budget[0] -= len(data)
        found += [f"{text} in {member.filename!r}" for text in _in_member(member, data, budget)]
    return found


def _in_member(member: zipfile.ZipInfo, data: bytes, budget: list[int]) -> list[str]:
    if member.filename.endswith(".py"):
        return ["code that runs at load (__setstate__)"] if b"__setstate__" in data else []
    if member.filename.endswith("config.json"):
        return ["a lambda"] if b"Lambda" in data else []
    if data[:2] == b"PK":
        return _in_archive(io.BytesIO(data), budget)
    return [f"a pickle that calls {name}" for name in _unusual_globals(data)]


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
                names.add(f"(unreadable: {type(error).__name__})")
            break
    return sorted(repr(n) for n in names if not _USUAL.fullmatch(n))
