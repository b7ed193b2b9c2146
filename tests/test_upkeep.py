"""`make audit`: what is behind and why, what the newest releases break, which APIs go."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import nbformat
import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import audit  # noqa: E402
import audit_newest  # noqa: E402
import audit_packages  # noqa: E402
import audit_warnings  # noqa: E402
from audit_newest import Outcome  # noqa: E402
from audit_packages import Behind, behind  # noqa: E402
from audit_warnings import Announcement, grouped  # noqa: E402

REPORTS = [
    {"name": "torch", "version": "2.13.0+cpu", "latest_version": "2.15.0"},
    {"name": "ml_dtypes", "version": "0.5.4", "latest_version": "0.6.0"},
    {"name": "free", "version": "1.0", "latest_version": "1.1"},
    {"name": "pip", "version": "23.2.1", "latest_version": "26.3"},
]
PINS = {"torch": "2.13.0", "ml-dtypes": "0.5.4", "free": "1.0", "numpy": "1.26.4"}
ASKED = [
    ("notebooks.in", Requirement("torch==2.13.0")),
    ("d2lhybrid", Requirement("torch>=2.6")),
    ("keras", Requirement("ml-dtypes")),
]


def needed(name: str, version: str) -> list[Requirement]:
    return [Requirement("numpy>=2.0.0")] if name == "ml-dtypes" else []


def test_what_is_behind_and_what_holds_it() -> None:
    assert behind(REPORTS, PINS, ASKED, needed) == [
        Behind("free", "1.0", "1.1", ()),
        Behind("ml-dtypes", "0.5.4", "0.6.0", ("itself (needs numpy>=2.0.0)",)),
        Behind("torch", "2.13.0", "2.15.0", ("notebooks.in (torch==2.13.0)",)),
    ]


def test_only_what_the_lock_pins_counts() -> None:
    assert behind(REPORTS[3:], PINS, ASKED, needed) == []


def test_the_pins_are_those_of_this_python() -> None:
    pins = audit_packages.pins()
    assert pins["torch"] == "2.13.0"
    assert pins["numpy"].startswith("1." if sys.version_info < (3, 13) else "2.")
    assert all(version[0].isdigit() for version in pins.values())


def test_who_asks_for_what() -> None:
    asked = audit_packages.demands()
    assert ("notebooks.in", Requirement("torch==2.13.0")) in asked
    assert any(name == "d2lhybrid" and one.name == "torch" for name, one in asked)  # of an extra
    assert not [name for name, _ in asked if name == "d2l"]


def test_an_extra_counts_where_it_is_used() -> None:
    torch = Requirement('torch>=2.6; extra == "torch"')
    assert audit_packages.applies(torch, ["notebooks", "torch"])
    assert not audit_packages.applies(torch, [])
    assert not audit_packages.applies(Requirement('old; python_version < "3"'), [])


REPORT = """\
<testsuites><testsuite>
<testcase classname="notebooks.en.pytorch.limits.ipynb" name="Cell 0"/>
<testcase classname="notebooks.en.pytorch.limits.ipynb" name="Cell 19"><failure message="{cell}"/>
</testcase>
<testcase classname="tests.backends" name="test_a"><skipped message="needs a GPU"/></testcase>
<testcase classname="tests.backends" name="test_b"><error message="OSError: gone&#10;more"/>
</testcase>
</testsuite></testsuites>
"""
DIFFERS = """\
#x1B[91mNotebook cell execution failed#x1B[0m
#x1B[94mCell 19: Cell outputs differ

Input:
#x1B[0mprint(6 * 7)

  - 43
  + 42
#x1B[0m"""
RAISED = """\
#x1B[91mNotebook cell execution failed#x1B[0m
#x1B[94mCell 19: Cell execution caused an exception

Input:
#x1B[0mraise ValueError("no")

#x1B[31mValueError#x1B[39m: no
"""


def test_a_report_of_pytest_is_read(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT.format(cell=DIFFERS.replace("\n", "&#10;").replace('"', "&quot;")))
    assert audit_newest.read("limits", report) == Outcome(
        "limits", 3, (("cell 20", "- 43 + 42"), ("test_b", "OSError: gone"))
    )


def test_the_reason_is_the_line_that_says_most() -> None:
    assert audit_newest.reason(DIFFERS) == "- 43 + 42"
    assert audit_newest.reason(RAISED) == "ValueError: no"
    assert audit_newest.reason("AssertionError: assert 1 == 2\n + 1") == (
        "AssertionError: assert 1 == 2"
    )
    assert audit_newest.reason("") == "no reason given"


def test_a_run_that_dies_is_a_failure() -> None:
    dies = [sys.executable, "-c", "import os; os._exit(7)"]
    assert audit_newest.outcome("x", dies) == Outcome(
        "x", 0, (("pytest", "ended with status 7 and no report"),)
    )


OLD = """\
import logging
import warnings

def old():
    warnings.warn("old() goes", FutureWarning, stacklevel=2)

def older():
    warnings.warn("older() is deprecated")  # a UserWarning

def logged():
    logger = logging.getLogger("old")
    logger.setLevel(logging.ERROR)
    logger.warning("%s is deprecated", "logged()")
"""
CELLS = [
    "import warnings, old",
    "warnings.simplefilter('ignore')\nold.old()",
    "with warnings.catch_warnings(record=True):\n    old.older()\nwarnings.warn('something else')",
    "old.logged()",
    "1 / 0",
    "warnings.warn('mine', DeprecationWarning)",
]


def test_what_announces_its_end_is_recorded_though_it_is_silenced(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(OLD)
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "a.ipynb")
    entries = audit_warnings.record(tmp_path / "a.ipynb")
    assert [tuple(entry.values()) for entry in entries if entry["where"]] == [
        (2, "cell", "old.old", "FutureWarning", "old() goes"),
        (3, "cell", "old.older", "UserWarning", "older() is deprecated"),
        (4, "cell", "old.logged()", "log of old", "logged() is deprecated"),
        (6, "cell", CELLS[5], "DeprecationWarning", "mine"),
    ]


def entry(cell: int, where: str, text: str = "f is\n deprecated") -> dict[str, str | int]:
    return {"cell": cell, "where": where, "api": "lib.f", "kind": "FutureWarning", "text": text}


def test_an_api_is_listed_once_with_all_its_cells() -> None:
    runs = [
        ("pinned", "pytorch/limits", [entry(3, "cell"), entry(3, "cell"), entry(5, "cell")]),
        ("newest", "pytorch/limits", [entry(7, "cell"), entry(7, "", "a library's own")]),
        ("newest", "mxnet/limits", [entry(1, "d2lhybrid/compat.py")]),
    ]
    announced = grouped(runs)
    assert announced == {
        Announcement("lib.f", "FutureWarning", "f is deprecated"): {
            "pytorch/limits": {"pinned": {3, 5}, "newest": {7}},
            "mxnet/limits through d2lhybrid/compat.py": {"newest": {1}},
        }
    }
    (row,) = audit.announced_table(announced).splitlines()[4:]
    assert row == (
        "| `lib.f` | FutureWarning | f is deprecated | mxnet/limits through d2lhybrid/compat.py "
        "[1]; pytorch/limits [3, 5, 7] | newest and pinned |"
    )


def test_a_table_stays_a_table() -> None:
    shown = audit.table(("a", "b"), [("x | y", "line\nline"), ("z" * 300, "")]).splitlines()
    assert shown[:3] == ["| a | b |", "| --- | --- |", "| x \\| y | line line |"]
    assert shown[3].endswith("z … |  |")
    assert len(shown) == 4


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the page goes of an audit that neither asks pip nor runs anything."""
    path = tmp_path / "docs" / "audit.md"
    path.parent.mkdir()
    monkeypatch.setattr(audit, "ROOT", tmp_path)
    monkeypatch.setattr(audit, "PAGE", path)
    monkeypatch.setattr(audit, "pip_reports", lambda: REPORTS)
    monkeypatch.setattr(audit, "behind", lambda *asked: behind(REPORTS, PINS, ASKED, needed))
    monkeypatch.setattr(audit, "recorded", lambda *asked: [])
    monkeypatch.setattr(audit_newest, "create", lambda: None)
    monkeypatch.setattr(audit_newest, "versions", lambda: {"torch": "2.15.0"})
    return path


def test_a_failure_on_the_newest_is_written_down_and_ends_with_an_error(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = [Outcome("good", 5, ()), Outcome("poor", 9, (("cell 2", "E: a"), ("cell 3", "b")))]
    monkeypatch.setattr(audit_newest, "run", lambda: outcomes)
    with pytest.raises(SystemExit, match="Fails on the newest PyTorch and TensorFlow: poor"):
        audit.main()
    text = page.read_text(encoding="utf-8")
    for line in (
        "| free | 1.0 | 1.1 | nothing: `make lock` takes it |",
        "torch 2.15.0.",
        "| good | 5 | 0 | yes |",
        "| poor | 9 | 2 | no |",
        "| poor | cell 3 | b |",
    ):
        assert line in text


def test_where_the_pins_are_the_newest_nothing_is_installed(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "behind", lambda *asked: [])
    monkeypatch.setattr(audit_newest, "create", lambda: pytest.fail("created an environment"))
    audit.main()
    text = page.read_text(encoding="utf-8")
    assert "The pinned releases are the newest ones: nothing to try." in text
    assert "None: every pinned package is the newest release for this Python." in text


def test_a_notebook_that_ends_its_process_stops_the_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 1)
    )
    with pytest.raises(SystemExit, match="to run to its end"):
        audit.recorded("pinned", sys.executable, [ROOT / "notebooks/en/pytorch/limits.ipynb"])


def test_the_page_is_dated_and_has_its_three_parts(
    page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_newest, "run", lambda: [])
    audit.main()
    text = page.read_text(encoding="utf-8")
    head = dedent("""\
        # Audit

        Written by `make audit` on 20""")
    assert text.startswith(head)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        "## Pinned packages that have newer releases",
        "## The newest PyTorch and TensorFlow",
        "## APIs that announce their end",
    ]
