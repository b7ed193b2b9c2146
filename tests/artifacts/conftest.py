"""The fixtures of these tests: saving without a proof, artifacts saved once, and their copies."""

import shutil

import pytest
from artifact_models import MODELS, inputs

from d2lhybrid import save
from d2lhybrid.artifacts import save as saving


@pytest.fixture
def unproved(monkeypatch):
    """For what is found out before the proof, or has nothing to do with it."""
    monkeypatch.setattr(saving, "verify_in_subprocess", lambda folder: "")


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """Gives the artifact of a framework and a format; each is saved once."""
    made = {}

    def get(framework, name):
        if (framework, name) not in made:
            made[framework, name] = tmp_path_factory.mktemp("saved") / name
            save(MODELS[framework](), made[framework, name], *inputs(framework, 1), format=name)
        return made[framework, name]

    return get


@pytest.fixture
def copied(saved, tmp_path):
    """Gives a copy of an artifact in a format, to be changed."""
    return lambda *which: shutil.copytree(saved(*which), tmp_path / "a")
