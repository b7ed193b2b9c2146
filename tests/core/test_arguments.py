"""How a model and its arguments are handed over: by position, and inside call(...)."""

import numpy as np
import pytest
from fake import Machine

from d2lhybrid import compare, explain, graph, measure, save, sweep, variants
from d2lhybrid.backends.variant import Variant
from d2lhybrid.core.arguments import call
from d2lhybrid.errors import ArgumentError
from d2lhybrid.verbs.ways import Variants

QUICK = {"time_limit": 0.01, "progress": False}


def raised(verb, *args, **kwargs):
    """What the error of a call says."""
    with pytest.raises(ArgumentError) as caught:
        verb(*args, **kwargs)
    return str(caught.value)


@pytest.mark.parametrize(
    ("verb", "first", "misspelt", "option"),
    [
        (compare, {"a": np.exp}, "time_limt", "time_limit"),
        (compare, {"a": np.exp}, "references_", "references"),
        (measure, np.exp, "labels", "label"),
        (variants, np.exp, "compiler_option", "compiler_options"),
        (save, np.exp, "formt", "format"),
    ],
)
def test_a_misspelt_option_is_told_the_right_one_and_where_a_keyword_of_the_model_goes(
    verb, first, misspelt, option
):
    said = raised(verb, first, 1.0, **{misspelt: 60})
    assert f"Write {option} instead of {misspelt}." in said
    assert f"A keyword of the model goes into call(net, x, {misspelt}=...)." in said


@pytest.mark.parametrize("verb", [compare, measure, variants, explain, graph, save])
def test_a_keyword_of_the_model_given_to_a_verb_is_told_to_go_into_call(verb):
    said = raised(verb, sum, 1.0, attention_mask=np.ones(2))
    assert said.startswith(f"Expected {verb.__name__}(")
    assert f"Received: {verb.__name__}(sum, 1.0, attention_mask=ndarray)." in said
    assert said.endswith(" A keyword of the model goes into call(net, x, attention_mask=...).")
    assert ", only ." not in said


def test_parameters_of_a_callable_may_have_the_name_of_an_option_or_a_parameter_of_a_verb():
    """The verbs' first parameters are their own, and keywords inside call are the callable's."""

    def takes(x, functions=0, function=0, what=0, self=0, seed=0, label=0, timer=None):
        return x + functions + function + what + self + seed

    for name in ("functions", "function", "what", "self", "seed"):
        called = call(takes, 1.0, **{name: 2.0})
        result = compare({"a": called}, seed=3, **QUICK)
        assert (list(result), result.seed) == (["a"], 3)
        assert measure(called, label="mine", time_limit=0.01).label == "mine"
    assert list(compare({"a": takes}, 1.0, 2.0, **QUICK)) == ["a"]


def test_variants_of_a_function_with_a_parameter_net():
    torch = pytest.importorskip("torch")
    ways = variants(call(lambda x, net: x * net, torch.ones(2), net=2.0))
    assert ways["eager"](torch.ones(2), net=3.0).tolist() == [3, 3]


def test_keywords_reach_the_callables_by_every_way():
    m, seen = Machine(), []
    f = m.function(1e-3)

    def takes(x, *, seed=None, scale=None):
        seen.append((x, seed, scale))
        return f()

    options = {"timer": m.clock, "progress": False}
    each = {"a": call(takes, 1, seed=3), "b": call(takes, 2, seed=4)}
    held = Variants({"a": takes}, (1,), {"seed": 3})
    for run, expected in [
        (lambda: compare(call({"a": takes}, 1, scale=2), seed=5, **options), {(1, None, 2)}),
        (lambda: compare(each, seed=5, **options), {(1, 3, None), (2, 4, None)}),
        (lambda: compare({"a": call(takes, scale=1), "b": call(takes, scale=1)}, 9, **options),
         {(9, None, 1)}),
        (lambda: compare(held, seed=5, **options), {(1, 3, None)}),
        (lambda: measure(call(takes, 1, seed=2), timer=m.clock), {(1, 2, None)}),
        (lambda: measure(call(call(takes, seed=2), 1, scale=3), timer=m.clock), {(1, 2, 3)}),
        (lambda: sweep(lambda n: call({"a": takes}, n, seed=2), [1, 2], **options),
         {(1, 2, None), (2, 2, None)}),
        (lambda: sweep(lambda n: held, [1, 2], **options), {(1, 3, None)}),
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
        lambda inside: compare({"f": inside}, 2, **QUICK),
        lambda inside: compare(call({"f": inside}, 2), **QUICK),
        lambda inside: compare(Variants({"f": inside}, (2,)), **QUICK),
        lambda inside: measure(inside, 2, time_limit=0.01),
        lambda inside: sweep(lambda n: ({"f": inside}, n), [2], time_limit=0.01),
    ):
        seen.clear()
        run(call(f, 1, a=3))
        assert {str(one) for one in seen} == {str(((1, 2), {"a": 3}))}


def test_the_role_of_a_way_is_known_in_a_plain_dict_and_with_arguments_of_its_own():
    ways = Variants({"eager": Variant(abs), "old": Variant(abs, role="deprecated")})
    for functions in ({**ways}, {"eager": ways["eager"], "old": call(ways["old"])}):
        assert compare(functions, 1.0, **QUICK).deprecated == ("old",)
