"""What a release is made from: one version, the same checks before a commit as by hand."""

import re
import sys
from pathlib import Path

import pytest
import yaml

import d2lhybrid

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import dist  # noqa: E402

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_version_has_one_place() -> None:
    assert dist.version() == d2lhybrid.__version__
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert not re.search(r'^version = "', project, re.MULTILINE)
    assert 'path = "d2lhybrid/__init__.py"' in project
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == d2lhybrid.__version__


@pytest.mark.parametrize("tag", ["v9.9.9", d2lhybrid.__version__, ""])
def test_another_tag_builds_nothing(tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dist.py", "--tag", tag])
    monkeypatch.setattr(dist, "build", lambda: pytest.fail("it builds"))
    with pytest.raises(SystemExit, match=re.escape(f"Expected the tag v{d2lhybrid.__version__}")):
        dist.main()


def test_a_commit_is_checked_as_by_make_check() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in hooks["repos"] for hook in repo["hooks"]]
    (recipe,) = re.findall(r"^check: .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    lines = [line.strip().replace("$(PY)", ".venv/bin/python") for line in recipe.splitlines()]
    commands = [
        line for line in lines if line.startswith(".venv/bin/python")
    ]  # zizmor is a shell's
    assert commands

    def same(text: str) -> str:
        return text.replace(" --force-exclude", "").removesuffix(" .")

    assert [same(entry) for entry in entries] == [same(command) for command in commands]
