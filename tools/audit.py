"""Write docs/audit.md: what has become of the packages that the collection pins?

``make audit`` runs this file. It asks which pinned packages have newer releases, whether the
collection passes on the newest PyTorch and TensorFlow, and which APIs that the chapters use
announce their end. It ends with status 1 where the newest release of a framework fails.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path

import audit_newest
from audit_newest import Outcome
from audit_packages import Behind, behind, demands, pins, pip_reports
from audit_warnings import Announcement, grouped
from run_notebooks import selected
from setup_env import mxnet_problem

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "audit.md"
PINNED, NEWEST = "pinned", "newest"
FRAMEWORKS = ("torch", "tensorflow", "tensorflow-cpu")
LONGEST = 200
Places = Mapping[str, Mapping[str, set[int]]]


def main() -> None:
    """Ask, run, write the page, and end with 1 where the newest frameworks fail."""
    found = behind(pip_reports(), pins(), demands())
    runs = [*recorded(PINNED, sys.executable, english())]
    versions: dict[str, str] = {}
    outcomes: list[Outcome] = []
    if any(package.name in FRAMEWORKS for package in found):
        audit_newest.create()
        versions, outcomes = audit_newest.versions(), audit_newest.run()
        runs += recorded(NEWEST, str(audit_newest.PYTHON), audit_newest.notebooks())
    PAGE.write_text(page(found, versions, outcomes, grouped(runs)), encoding="utf-8")
    print(f"Written: {PAGE.relative_to(ROOT)}")
    if failed := [outcome.name for outcome in outcomes if outcome.failed]:
        sys.exit(f"Fails on the newest PyTorch and TensorFlow: {', '.join(failed)}")


def english() -> list[Path]:
    """The English notebooks that this machine can run."""
    without = mxnet_problem(sys.version_info[:2], platform.system(), platform.machine())
    every = selected("en", "*", "*")[0]
    return [path for path in every if not (without and path.parent.name == "mxnet")]


def recorded(
    versions: str, python: str, notebooks: Iterable[Path]
) -> list[tuple[str, str, list[dict[str, str | int]]]]:
    """What the notebooks announce when a Python runs them: versions, name, entries of each."""
    runs = []
    for path in notebooks:
        script = ROOT / "tools" / "audit_warnings.py"
        command = [python, str(script), str(path)]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"Expected {path} to run to its end; the lines above say why it did not.")
        name = path.relative_to(ROOT / "notebooks" / "en").with_suffix("").as_posix()
        runs.append((versions, name, json.loads(done.stdout)[str(path)]))
    return runs


def page(
    found: Iterable[Behind],
    versions: Mapping[str, str],
    outcomes: Iterable[Outcome],
    announced: Mapping[Announcement, Places],
) -> str:
    """The page as Markdown."""
    date = datetime.now(timezone.utc).date().isoformat()
    python = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    parts = [
        "# Audit",
        f"Written by `make audit` on {date}, with {python}. Not edited by hand.",
        "## Pinned packages that have newer releases",
        behind_table(found),
        "## The newest PyTorch and TensorFlow",
        newest_table(versions, outcomes),
        "## APIs that announce their end",
        announced_table(announced),
    ]
    return "\n\n".join(parts) + "\n"


def behind_table(found: Iterable[Behind]) -> str:
    """Which packages are behind, and why."""
    free = "nothing: `make lock` takes it"
    rows = [(one.name, one.pinned, one.newest, ", ".join(one.held_by) or free) for one in found]
    if not rows:
        return "None: every pinned package is the newest release for this Python."
    return table(("package", "pinned", "newest", "held back by"), rows)


def newest_table(versions: Mapping[str, str], outcomes: Iterable[Outcome]) -> str:
    """What passed and what failed; a line where there was nothing to try."""
    rows, details = [], []
    for one in outcomes:
        failed = len({name for name, _ in one.failed})
        rows.append((one.name, str(one.count), str(failed), "no" if failed else "yes"))
        details += [(one.name, *problem) for problem in one.failed]
    if not rows:
        return "The pinned releases are the newest ones: nothing to try."
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [
        f"In an environment of its own, without MXNet and what it holds back: {named}.",
        table(("", "tests or cells", "failed", "passes"), rows),
    ]
    if details:
        parts.append(table(("", "test or cell", "reason"), details))
    return "\n\n".join(parts)


def announced_table(announced: Mapping[Announcement, Places]) -> str:
    """Which function announces what, and in which cells it is called."""
    rows = []
    for one, places in sorted(announced.items(), key=lambda item: (item[0].api, item[0].text)):
        cells = "; ".join(
            f"{place} [{', '.join(map(str, sorted(set().union(*seen.values()))))}]"
            for place, seen in sorted(places.items())
        )
        seen_with = {versions for seen in places.values() for versions in seen}
        rows.append((f"`{one.api}`", one.kind, one.text, cells, " and ".join(sorted(seen_with))))
    if not rows:
        return "None."
    explained = (
        "With every warning shown, also those that the chapters and `d2lhybrid` silence on "
        "purpose. The cells are those of the English notebooks."
    )
    head = ("warns", "how", "in which words", "notebook [cells]", "versions")
    return f"{explained}\n\n{table(head, rows)}"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; what would end a cell or a line is written otherwise."""

    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    def clean(text: str) -> str:
        text = " ".join(text.split())
        text = text if len(text) <= LONGEST else text[:LONGEST].rstrip() + " …"
        return text.replace("|", "\\|")

    body = [line(map(clean, row)) for row in rows]
    return "\n".join([line(head), line("---" for _ in head), *body])


if __name__ == "__main__":
    main()
