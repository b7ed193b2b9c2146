"""Each test has a user with a data folder of their own; compiled programs are shared by all."""

import os

import pytest


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    session = tmp_path_factory.getbasetemp()
    shared = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    monkeypatch.setenv("D2LHYBRID_CACHE", str(shared / "cache"))
    monkeypatch.setenv("D2LHYBRID_DATA", str(session / "user-me"))
