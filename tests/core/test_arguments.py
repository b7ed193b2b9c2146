"""How a model and its arguments are handed over: beside options, and inside call(...)."""

from functools import partial

import numpy as np
import pytest
from fake import Machine

from d2lhybrid.artifacts.save import save
from d2lhybrid.core.arguments import call, options_of
from d2lhybrid.errors import ArgumentError
from d2lhybrid.experiment.compare import compare, measure
from d2lhybrid.experiment.sweep import sweep
from d2lhybrid.experiment.variants import Variants, variants
from d2lhybrid.frameworks.variant import Variant


def swallowing(x, **keywords):
    return x


class Model:
    """As frameworks have them: the call takes anything, the forward pass names it."""

    def __call__(self, *args, **kwargs):
        return self.forward(*args, **kwargs)

    def forward(self, x, labels=None):
        return x


@pytest.mark.parametrize(
    ("verb", "first", "keyword", "ours"),
    [
        (compare, {"a": swallowing}, "time_limt", "time_limit="),
        (compare, {"a": swallowing}, "chek", "check="),
        (compare, {"a": np.exp}, "references_", "references="),
        (measure, swallowing, "labels", "label="),
    ],
)
def test_a_misspelt_option_is_no_keyword_of_the_model(verb, first, keyword, ours):
    with pytest.raises(ArgumentError, match=rf"{keyword}.*{ours}.*call\("):
        verb(first, 1.0, **{keyword: 60})


def test_what_a_callable_names_itself_is_its_own():
    assert len(compare({"a": lambda x, *, chek=0: x}, 1.0, chek=2, time_limit=0.01)) == 1
    assert measure(Model(), 1.0, labels=2, time_limit=0.01).median > 0


def test_keywords_reach_the_callables_by_every_way():
    m, seen = Machine(), []
    f = m.function(1e-3)

    def takes(x, *, seed=None, scale=None):
        seen.append((x, seed, scale))
        return f()

    options = {"timer": m.clock, "progress": False}
    each = {"a": call(takes, 1, seed=3), "b": call(takes, 2, seed=4)}
    for run, expected in [
        (lambda: compare(call({"a": takes}, 1), scale=2, seed=5, **options), {(1, None, 2)}),
        (lambda: compare(call({"a": takes}, 1, seed=3), seed=5, **options), {(1, 3, None)}),
        (lambda: compare(each, seed=5, **options), {(1, 3, None), (2, 4, None)}),
        (lambda: compare({"a": call(takes), "b": takes}, 9, scale=1, **options), {(9, None, 1)}),
        (lambda: measure(call(takes, 1, seed=2), timer=m.clock), {(1, 2, None)}),
        (lambda: measure(call(call(takes, seed=2), 1), scale=3, timer=m.clock), {(1, 2, 3)}),
        (lambda: sweep(lambda n: call({"a": takes}, n, seed=2), [1, 2], **options),
         {(1, 2, None), (2, 2, None)}),
    ]:  # fmt: skip
        seen.clear()
        run()
        assert set(seen) == expected


def test_arguments_beside_a_call_come_after_those_inside_for_every_verb():
    seen = []

    def f(*args, **keywords):
        seen.append((args, keywords))
        return 1.0

    for run in (
        lambda inside: compare({"f": inside}, 2, b=4, time_limit=0.01, progress=False),
        lambda inside: compare(call({"f": inside}, 2), b=4, time_limit=0.01, progress=False),
        lambda inside: measure(inside, 2, b=4, time_limit=0.01),
        lambda inside: sweep(lambda n: ({"f": call(inside, b=4)}, n), [2], time_limit=0.01),
    ):
        seen.clear()
        run(call(f, 1, a=3))
        assert {str(one) for one in seen} == {str(((1, 2), {"a": 3, "b": 4}))}


def taking(name):
    """A function with a parameter of that name."""
    names = {}
    exec(f"def taking(x, {name}=0): return x", names)
    return names["taking"]


OPTIONS = [(compare, name) for name in options_of(compare)]
OPTIONS += [(measure, name) for name in options_of(measure)]
OPTIONS += [(variants, name) for name in options_of(variants)]
OPTIONS += [(save, name) for name in options_of(save)]


def raised(verb, *args, **kwargs):
    """The error of a call."""
    with pytest.raises(ArgumentError) as caught:
        verb(*args, **kwargs)
    return caught.value


@pytest.mark.parametrize(("verb", "name"), OPTIONS)
def test_an_option_that_is_also_a_parameter_is_refused_and_call_tells_whose_it_is(verb, name):
    function = taking(name)
    made = {"a": function} if verb is compare else function
    path = ["path"] if verb is save else []
    said = str(raised(verb, made, *path, 1.0, **{name: 3}))
    what = "functions" if verb is compare else "taking"
    assert f"{name}=3, which both take. If it is for taking" in said
    for written in (
        [f"call({what}, ..., {name}=3)", *path],
        [f"call({what}, ...)", *path, f"{name}=3"],
    ):
        assert f"write {verb.__name__}({', '.join(written)})." in said
    if verb not in (variants, save):  # which want tensors of a framework
        assert verb(call(made, 1.0, **{name: 3}), time_limit=0.01)
        taken = verb(made, 1.0, 3, time_limit=0.01)  # by place, so there is no doubt
        assert taken


def test_whose_an_option_is_can_be_said_for_the_verb_and_for_one_callable_alone():
    seen = []

    def draws(x, seed=0):
        seen.append(seed)
        return x

    made = call({"a": draws}, 1.0)
    assert compare(made, seed=3, time_limit=0.01, progress=False).seed == 3
    assert {*seen} == {0}
    seen.clear()
    found = compare({"a": call(draws, seed=5)}, 1.0, seed=3, time_limit=0.01, progress=False)
    assert (found.seed, {*seen}) == (3, {5})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (np.zeros((100, 100)), "…"),
        ([1, 2], "…"),
        ("x" * 100, "…"),
        ("max-autotune", "'max-autotune'"),
        (None, "None"),
        (True, "True"),
        (2.5, "2.5"),
    ],
    ids=str,
)
def test_a_message_shows_numbers_and_short_texts_and_no_arrays(value, shown):
    said = str(raised(measure, taking("label"), 1.0, label=value))
    assert f"label={shown}, which" in said
    assert f"measure(call(taking, ..., label={shown}))" in said
    assert f"measure(call(taking, ...), label={shown})" in said
    assert "\n" not in said


class Drawing(Model):
    def forward(self, x, seed=0, checks=None):
        return x, seed


def test_what_the_model_of_variants_names_is_its_own():
    net = Drawing()
    found = {"eager": Variant(lambda *args, **keywords: net(*args, **keywords))}
    ways = Variants(found, net)
    options = {"time_limit": 0.01, "progress": False}
    for made in (ways, ways.only("eager"), Variants({}) | ways, Variants(found, len) | ways):
        assert "seed=3, which both take. If it is for Drawing" in str(
            raised(compare, made, 1.0, seed=3, **options)
        )
    assert compare(call(ways, 1.0, seed=5), seed=3, **options).seed == 3
    assert compare(ways, 1.0, checks=3, **options)  # not misspelt


def test_what_a_call_in_a_mapping_names_is_not_misspelt():
    assert compare({"a": call(Drawing())}, 1.0, checks=3, time_limit=0.01, progress=False)


def test_what_a_partial_fills_in_is_its_own():
    seen = []

    def draws(x, seed=0):
        seen.append(seed)
        return x

    options = {"time_limit": 0.01, "progress": False}
    assert compare({"a": partial(draws, seed=5)}, 1.0, seed=3, **options).seed == 3
    assert {*seen} == {5}
    assert "for compare or for partial" in str(raised(compare, {"a": partial(draws)}, 1.0, seed=3))
