"""The repository's own chapters build, and the committed notebooks are what they build."""

import time

from book.__main__ import ROOT
from book.build import build
from book.check import check


def test_committed_notebooks_are_what_their_sources_build() -> None:
    started = time.process_time()
    built = build(ROOT)
    assert time.process_time() - started < 30  # 3 s on a quiet machine
    problems = check(ROOT, built) if (ROOT / "notebooks" / "en").exists() else []
    assert not problems, "\n".join(problems)
