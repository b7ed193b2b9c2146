"""Every test has its own signing key; compiled native programs are shared by the whole session."""

import os

import pytest


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    """A user with a data folder of their own; calling it changes to another user."""
    session = tmp_path_factory.getbasetemp()
    shared = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    monkeypatch.setenv("D2LHYBRID_CACHE", str(shared / "cache"))

    def become(name="me"):
        monkeypatch.setenv("D2LHYBRID_DATA", str(tmp_path_factory.getbasetemp() / f"user-{name}"))

    become()
    return become
