"""Which pinned packages have newer releases, and what holds them back? A part of `make audit`."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from lock import EXTRAS, LOCK
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
INPUT = ROOT / "requirements" / "notebooks.in"
# Installed without what it asks for (tools/setup_env.py says why), so it holds nothing back.
WITHOUT_DEPENDENCIES = "d2l"


@dataclass(frozen=True)
class Behind:
    """A pinned package that has a newer release, and the requirements that rule it out."""

    name: str
    pinned: str
    newest: str
    held_by: tuple[str, ...]


def pip_reports(python: Path | str = sys.executable) -> list[dict[str, str]]:
    """What pip says of the installed packages that have newer releases for this Python."""
    command = [str(python), "-m", "pip", "list", "--outdated", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pip could not ask for newer releases:\n{done.stderr.strip()}")
    reports: list[dict[str, str]] = json.loads(done.stdout)
    return reports


def lines(path: Path) -> list[Requirement]:
    """The requirements in a file."""
    texts = (line.partition("#")[0].strip() for line in path.read_text("utf-8").splitlines())
    return [Requirement(text) for text in texts if text]


def demands() -> list[tuple[str, Requirement]]:
    """Who asks for what in this environment: every installed package, and our own choices.

    What an old package says in a form that nobody reads any more is left out.
    """
    found = [(INPUT.name, requirement) for requirement in lines(INPUT)]
    for distribution in distributions():
        name = distribution.metadata["Name"]
        for text in distribution.requires or ():
            with suppress(InvalidRequirement):
                found.append((name, Requirement(text)))
    ours = {"d2lhybrid": EXTRAS}
    return [
        (name, asked)
        for name, asked in found
        if name != WITHOUT_DEPENDENCIES and applies(asked, ours.get(name, ()))
    ]


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Does it count on this machine, with these extras of the package that asks?"""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras))


def needs(name: str, version: str) -> list[Requirement]:
    """What a release asks for itself on this machine, as pip finds it; installs nothing."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
    command += ["--ignore-installed", "--report", "-", f"{name}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pip could not say what {name} {version} needs:\n{done.stderr.strip()}")
    (package,) = json.loads(done.stdout)["install"]
    asked = map(Requirement, package["metadata"].get("requires_dist", ()))
    return [requirement for requirement in asked if applies(requirement, ())]


def behind(
    reports: Iterable[Mapping[str, str]],
    pinned: Mapping[str, str],
    asked: Iterable[tuple[str, Requirement]],
    needed: Callable[[str, str], Iterable[Requirement]] = needs,
) -> list[Behind]:
    """The pinned packages among pip's reports, each with what holds it back.

    That is whoever asks for something older, or else what the newest release itself needs and the
    pins do not allow.
    """
    asked = list(asked)
    found = []
    for report in reports:
        name, newest = canonicalize_name(report["name"]), report["latest_version"]
        if name not in pinned:
            continue
        held_by = [
            f"{holder} ({requirement.name}{requirement.specifier})"
            for holder, requirement in asked
            if canonicalize_name(requirement.name) == name and not _allows(requirement, newest)
        ] or [
            f"itself (needs {requirement.name}{requirement.specifier})"
            for requirement in needed(name, newest)
            if not _allows(requirement, pinned.get(canonicalize_name(requirement.name)))
        ]
        version = report["version"].partition("+")[0]  # +cpu is the build, not the release
        found.append(Behind(name, version, newest, tuple(sorted(set(held_by)))))
    return sorted(found, key=lambda one: one.name)


def _allows(requirement: Requirement, version: str | None) -> bool:
    return version is None or requirement.specifier.contains(version, prereleases=True)


def pins() -> dict[str, str]:
    """The version of each package that the lock file gives this Python and machine."""
    return {
        canonicalize_name(line.name): str(line.specifier).removeprefix("==")
        for line in lines(LOCK)
        if applies(line, ())
    }
