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


def make_check() -> list[list[str]]:
    """The commands of `make check` and its parts, in the environment of the set-up."""
    (parts,) = re.findall(r"^check: .*\n\t.* -j2 (.*)\n", MAKEFILE, re.MULTILINE)
    recipes = dict(re.findall(r"^(check-\w+):\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE))
    assert sorted(parts.split()) == sorted(recipes)
    recipe = "".join(recipes.values())
    python = re.findall(r"^\t\$\(PY\) (.*)$", recipe, re.MULTILINE)
    zizmor = re.findall(r"\$\$\(\"\$\$zizmor\" (.*?)\)", recipe)
    found = [f".venv/bin/python {one}" for one in python] + [
        f".venv/bin/zizmor {one}" for one in zizmor
    ]
    assert recipe.count("\n") == len(found) + 1  # zizmor takes two lines
    return [command.split() for command in found]


def test_a_commit_is_checked_as_by_make_check() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    for hook, command in zip(hooks, make_check(), strict=True):
        entry = [word for word in hook["entry"].split() if word != "--force-exclude"]
        if hook.get("pass_filenames", True):  # in the place of what `make check` names last
            *command, files = command
            for path in ROOT.glob(files) if "*" in files else ():
                assert re.search(hook["files"], path.relative_to(ROOT).as_posix())
        assert entry == command
        assert "*" not in hook["entry"]  # no shell is there to expand it


@pytest.mark.parametrize(
    "path",
    [
        *("chapters/limits.md", "translations/pt/LC_MESSAGES/limits.po", "book/installation.py"),
        *("notebooks/en/jax/limits.ipynb", "pyproject.toml"),  # its address is in each notebook
    ],
)
def test_what_notebooks_are_made_from_has_them_checked(path: str) -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (hook,) = [one for repo in config["repos"] for one in repo["hooks"] if one["id"] == "notebooks"]
    assert (ROOT / path).is_file()
    assert re.search(hook["files"], path)
