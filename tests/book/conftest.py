"""Small collections to build notebooks from."""

import textwrap

import pytest
from book_samples import FULL, LIMITS, SVG


@pytest.fixture
def project(tmp_path):
    """Writes chapters, by name, below a new root, which it returns."""

    def make(**chapters):
        folder = tmp_path / "chapters"
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        (folder / "figures" / "flow.svg").write_text(SVG)
        (tmp_path / "README.md").write_text("# Readme\n")
        for name, text in chapters.items():
            (folder / f"{name}.md").write_text(textwrap.dedent(text), encoding="utf-8")
        return tmp_path

    return make


@pytest.fixture
def full(project):
    """The root of a collection of two chapters that use the whole syntax."""
    return project(full=FULL, limits=LIMITS)
