"""Small collections to build notebooks from."""

import pytest
from book_samples import FULL, LIMITS, SVG

from book.__main__ import main


@pytest.fixture
def project(tmp_path):
    """Writes chapters, by name, below a new root, which it returns."""

    def make(**chapters):
        folder = tmp_path / "chapters"
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        (folder / "figures" / "flow.svg").write_text(SVG)
        (tmp_path / "README.md").write_text("# Readme\n")
        for name, text in chapters.items():
            (folder / f"{name}.md").write_text(text, encoding="utf-8")
        return tmp_path

    return make


@pytest.fixture
def full(project):
    """The root of a collection of two chapters that use the whole syntax."""
    return project(full=FULL, limits=LIMITS)


@pytest.fixture
def told(tmp_path, capsys):
    """Runs the command line, which has to end with a status; what it printed, and its errors."""

    def run(*arguments, status=0):
        capsys.readouterr()
        assert main([*arguments], tmp_path) == status
        return capsys.readouterr()

    return run
