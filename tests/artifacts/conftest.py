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
    """Gives the artifact of a framework, a kind of model and a format; each is saved once."""
    made = {}

    def get(framework, kind, name):
        if (framework, kind, name) not in made:
            path = tmp_path_factory.mktemp(kind) / name
            save(model(framework, kind), path, *inputs(framework, kind, 1), format=name)
            made[framework, kind, name] = path
        return made[framework, kind, name]

    return get
