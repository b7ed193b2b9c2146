"""Every structure that models take and return, compared and explained."""

from importlib import import_module

import pytest
from checks import check_explain, compared

from d2lhybrid import frameworks

# Without Inductor's minutes: what is handed to a model and taken from it is the same.
OPTIONS = {"torch": {"backend": "eager"}}


@pytest.mark.parametrize("framework", frameworks.known(), ids=lambda one: one.name)
def test_every_structure_is_compared_and_explained(framework):
    models = import_module(f"{framework.name}_models").models()
    assert len(models) > 4
    for name, model in models.items():
        found = compared(model, framework.name, 0.2, **OPTIONS.get(framework.name, {}))
        assert found["eager"].median > 0, name
        check_explain(model)
