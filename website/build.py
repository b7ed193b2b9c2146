"""Runs the stages one after the other; Sphinx once for each language, several at a time."""

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from book.files import NOTEBOOKS
from website.errors import SiteError
from website.landing import landing_page
from website.repository import find_repository
from website.sources import read_collection, source_files, synchronize

_ROOT = Path(__file__).parents[1]
# What Sphinx keeps for itself, and what an editor or JupyterLab leaves beside notebooks.
_LEFT_OUT = shutil.ignore_patterns(".*", "_sources", "objects.inv")


def build_site(root: Path, site: Path, work: Path) -> None:
    """Build the site of the repository at ``root`` into the folder ``site``.

    ``work`` keeps the sources and what Sphinx remembers, so that the next build does only what
    has changed. Raises SiteError where something is missing, or where Sphinx warns.
    """
    collection = read_collection(root, find_repository(root))
    codes = [language.code for language in collection.languages]
    for code in codes:
        synchronize(work / code / "source", source_files(collection, code))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda code: _sphinx(work / code), codes))
    if any(problems):
        raise SiteError("\n".join(filter(None, problems)))
    shutil.rmtree(site, ignore_errors=True)
    for code in codes:
        shutil.copytree(work / code / "html", site / code, ignore=_LEFT_OUT)
    shutil.copytree(root / NOTEBOOKS, site / NOTEBOOKS, ignore=_LEFT_OUT)
    (site / "index.html").write_text(landing_page(codes), encoding="utf-8")


def _sphinx(folder: Path) -> str:
    """Build the pages of one language in its folder; what Sphinx complains of, or nothing."""
    command = [sys.executable, "-m", "sphinx", "--builder", "html", "--quiet"]
    command += ["--fail-on-warning", "--doctree-dir", str(folder / "doctrees")]
    command += [str(folder / "source"), str(folder / "html")]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return f"Sphinx could not build the pages of {folder.name!r}:\n{done.stdout}{done.stderr}"
