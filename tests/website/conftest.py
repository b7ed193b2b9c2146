"""The site, built once from the committed notebooks."""

from pathlib import Path

import pytest

from website.build import build_site

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, as it is without a public repository."""
    folder = tmp_path_factory.mktemp("site")
    build_site(ROOT, folder / "html", folder / "work")
    return folder / "html"
