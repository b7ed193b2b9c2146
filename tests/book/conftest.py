"""Small collections to build notebooks from."""

from functools import partial

import pytest
from book_samples import FULL, LIMITS, written

from book.__main__ import main
from book.gpu import REQUIRE


@pytest.fixture(autouse=True)
def _no_gpu_is_required(monkeypatch):
    """Small notebooks are executed often here, and none uses a GPU."""
    monkeypatch.delenv(REQUIRE, raising=False)


@pytest.fixture
def project(tmp_path):
    """Writes chapters, by name, below a new root, which it returns."""
    return partial(written, tmp_path)


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
