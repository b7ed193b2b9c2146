"""Every structure, compared in several ways and explained."""

import pytest
from checks import check_explain, compared
from zoo import structures

from d2lhybrid import frameworks

# Inductor takes half a minute for each; what it compiles is Dynamo's.
OPTIONS = {"torch": {"backend": "eager"}}
# The ways that cannot run a model, with the words of the reason.
LEFT_OUT = {}


@pytest.fixture(scope="module", params=frameworks.known(), ids=lambda one: one.name)
def framework(request):
    return request.param.name


@pytest.fixture(scope="module")
def models(framework):
    return structures(framework)


def test_compares_or_says_why_not(framework, models):
    said = {}
    for name, model in models.items():
        found = compared(model, framework, seconds=0.1, **OPTIONS.get(framework, {}))
        said |= {(name, way): reason for way, reason in found.unavailable.items()}
    expected = LEFT_OUT.get(framework, {})
    wrong = {key: reason for key, reason in said.items() if expected.get(key, "?") not in reason}
    assert not wrong
    assert said.keys() == expected.keys()


def test_explains_what_was_compiled(models):
    said = {name: check_explain(model) for name, model in models.items()}
    assert {name: text for name, text in said.items() if text} == {}
