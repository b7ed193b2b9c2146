"""The repository's own chapters and notebooks."""

import re

import nbformat

from book.__main__ import ROOT
from book.build import build
from book.check import check
from book.pieces import columns


def test_committed_notebooks_are_what_their_sources_build():
    assert not check(ROOT, build(ROOT))


def test_labels_fit_the_columns_that_code_pads():
    padded = re.compile(r"pad\(\"([^\"]+)\", (\d+)\)")
    found = {
        (path.relative_to(ROOT).as_posix(), label, int(width))
        for path in (ROOT / "notebooks").glob("*/*/*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for label, width in padded.findall(cell.source)
    }
    assert found
    assert not [one for one in found if columns(one[1]) > one[2]]
