"""The fixtures of these tests: a user, and artifacts that are saved once."""

import os

import pytest
from artifact_models import inputs, model

from d2lhybrid import save


@pytest.fixture(autouse=True)
def user(tmp_path_factory, monkeypatch):
    """A user with a data folder of their own; calling it changes to another user."""
    session = tmp_path_factory.getbasetemp()
    shared = session.parent if "PYTEST_XDIST_WORKER" in os.environ else session
    monkeypatch.setenv("D2LHYBRID_CACHE", str(shared / "cache"))

    def become(name="me"):
        monkeypatch.setenv("D2LHYBRID_DATA", str(session / f"user-{name}"))

    become()
    return become


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Gives the artifact of a framework and a format; each is saved once."""
    made = {}

    def get(framework, name):
        if (framework, name) not in made:
            made[framework, name] = tmp_path_factory.mktemp("saved") / name
            save(model(framework), made[framework, name], *inputs(framework, 1), format=name)
        return made[framework, name]

    return get
