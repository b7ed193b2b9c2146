"""The fixtures of these tests, which those of the models share."""

import pytest
from artifact_models import inputs, model
from proving import fresh_process, one_process_proves_all, provers, user

from d2lhybrid import save

__all__ = ["fresh_process", "one_process_proves_all", "provers", "user"]


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
