"""Variants as the dict that they are, and what is handed over to verbs by mistake."""

import re
from operator import or_

import pytest
from fake import Machine
from our_names import OUR_NAMES

from d2lhybrid import call
from d2lhybrid.backends.variant import DeferredBuild, Variant
from d2lhybrid.errors import ArgumentError, UnknownLabelError
from d2lhybrid.showing.advice import advice
from d2lhybrid.verbs.compare import compare
from d2lhybrid.verbs.measure import measure
from d2lhybrid.verbs.sweep import sweep
from d2lhybrid.verbs.training import training
from d2lhybrid.verbs.variants import variants
from d2lhybrid.verbs.ways import Variants


def made(m, *args):
    found = {
        "eager": Variant(m.function(1e-3), "y = net(x)"),
        "aot": Variant("no compiler", "y = fast(x)"),
        "old": Variant(m.function(1e-4), role="deprecated"),
    }
    return Variants(found, args)


def updated(ways, other):
    ways |= other
    return ways


@pytest.mark.parametrize(
    "join",
    [
        or_,
        lambda ways, other: other | ways,
        updated,
        lambda ways, other: updated(ways.copy(), other),
        lambda ways, other: (ways.update(other), ways)[1],
        lambda ways, other: (ways.update(**other), ways)[1],
        lambda ways, other: ([ways.__setitem__(*one) for one in other.items()], ways)[1],
        lambda ways, other: ways.copy() | other,
    ],
)
def test_variants_with_a_function_of_ones_own_keep_what_is_known_of_them(join):
    m = Machine()
    ways, mine = made(m), m.function(5e-4)
    before = made(m)
    found = join(ways, {"mine": mine})
    assert isinstance(found, Variants)
    assert (found["mine"], found.deprecated) == (mine, ("old",))
    assert found.unavailable == {"aot": "no compiler"}
    assert found.code == before.code
    assert list(found.only("eager", "mine", "aot")) == ["eager", "mine"]
    assert found.only("aot").unavailable == {"aot": "no compiler"}
    c = compare(found, timer=m.clock, baseline="eager", progress=False, seed=1)
    assert ({*c.others}, c.unavailable) == ({"old", "mine"}, {"aot": "no compiler"})
    assert c.deprecated == ("old",)
    assert "Use mine" in advice(c.rows)


def test_what_a_way_is_is_known_in_a_plain_dict():
    m = Machine()
    found = {
        "eager": Variant(m.function(1e-3)),
        "old": Variant(DeferredBuild(lambda: m.function(1e-4)), role="deprecated"),
        "new": Variant(DeferredBuild(lambda: m.function(5e-4))),
        "aot": Variant("no compiler"),
        "jit": Variant("no device"),
    }
    ways, mine = Variants(found), m.function(8e-4)

    lines = ["Variants", "  eager", "  old (deprecated)", "  new"]
    assert repr(ways).splitlines()[:4] == lines

    def shown(functions):
        c = compare(functions, timer=m.clock, progress=False, seed=1)
        return list(c), c.deprecated, list(c.unavailable), advice(c.rows)[:8]

    known = ("old",), [], "Use new:"  # a dict has no reasons for what is not in it
    assert shown({**ways, "mine": mine}) == (["eager", "old", "new", "mine"], *known)
    first = {"eager": ways["eager"], "mine": mine, **ways}
    assert shown(first) == (["eager", "mine", "old", "new"], *known)
    by_hand = {"eager": ways["eager"], "new": ways["new"]}
    assert shown(by_hand) == (["eager", "new"], (), [], "Use new:")
    of_both = ways | {"mine": mine}
    assert shown(of_both)[2] == ["aot", "jit"]


def test_a_copy_of_variants_can_be_changed_for_itself():
    ways = made(Machine())
    other = ways.copy()
    other["mine"] = print
    del other["old"]
    assert (list(ways), list(other)) == (["eager", "old"], ["eager", "mine"])
    assert (ways.deprecated, other.deprecated) == (("old",), ())


def test_what_is_put_in_the_place_of_a_variant_is_ones_own():
    ways = made(Machine()) | {"aot": print, "old": print}
    assert (ways.unavailable, ways.deprecated) == ({}, ())
    assert ways.code == {"eager": "y = net(x)"}
    with pytest.raises(UnknownLabelError, match="'aot'"):
        ways["jit"]


def test_variants_of_two_models_are_those_of_both():
    m = Machine()
    other = Variant(m.function(1e-3), role="deprecated")
    found = made(m, "x") | Variants({"other": other, "jit": Variant("no")}, ("y",))
    assert (list(found), found.deprecated) == (["eager", "old", "other"], ("old", "other"))
    assert found.unavailable == {"aot": "no compiler", "jit": "no"}
    assert found.args == ("x",)  # of the first
    with pytest.raises(TypeError):
        found | 3


class Names:
    """A callable whose attributes have the names of all that we have attributes of."""

    def __init__(self, function, value):
        self._function = function
        for name in OUR_NAMES:
            setattr(self, name, value)
        for name in ("forward", "call", "hybrid_forward", "modules", "submodules", "layers"):
            setattr(self, name, value)

    def __call__(self, *args, **keywords):
        return self._function()


@pytest.mark.parametrize("value", ["v2", lambda *_args: 1e-9, None, {}])
def test_attributes_of_a_callable_may_have_any_name_of_ours(value):
    m = Machine()
    names = Names(m.function(1e-3), value)
    expected = {"compiler", "is_async", "model", "origin", "unavailable", "anew"}
    assert expected <= vars(names).keys()
    found = measure(names, 1.0, timer=m.clock)
    assert (found.median, found.note) == (pytest.approx(1e-3), None)
    ways = {
        "a": names,
        "lazy": DeferredBuild(lambda: names),
    }
    c = compare(ways, 1.0, timer=m.clock, seed=3, progress=False)
    assert [one.median for one in c.values()] == pytest.approx([1e-3] * 2)
    assert not any(one.note for one in c.values())
    s = sweep(lambda n: (ways, n), [1], timer=m.clock, progress=False)
    assert [list(c) for c in s.comparisons] == [list(ways)]


def test_an_attribute_that_raises_is_no_hindrance():
    class Raising:
        def __getattr__(self, name):
            raise RuntimeError(name)

        def __call__(self, x, **keywords):
            return x

    assert compare({"a": Raising()}, 1.0, time_limit=0.01, progress=False)
    assert measure(Raising(), 1.0, label="a", time_limit=0.01)
    with pytest.raises(ArgumentError, match="Write time_limit instead"):
        measure(Raising(), 1.0, time_limt=0.01)


class Model:
    def __call__(self, x):
        return x

    def __repr__(self):
        return "all of its layers"


M = Machine()


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: compare(1.0, Model()), r"compare\(1\.0, Model\)\. 1\.0 cannot be called"),
        (lambda: compare(Model, 1.0), r"compare\(Model, 1\.0\)\. Model is a class"),
        (lambda: compare([print]), r"Received: compare\(\[print\]\)\. \[print\] cannot be called"),
        (lambda: compare({1: Model()}), r"compare\(dict\)\. 1 is no name"),
        (lambda: compare({}), r"The dict is empty"),
        (lambda: compare({"a": print, "b": "c"}, 1), r"'b' is 'c', which cannot be called"),
        (lambda: sweep(made(M), [1, 2]), r"sweep\(Variants, \[1, 2\]\).*takes no size"),
        (lambda: measure(made(M), 1.0), r"measure\(Variants, 1\.0\).*ways\['eager'\].* compare\."),
        (lambda: variants({"a": print}, 1.0), r"variants\(dict, 1\.0\).*ways\['a'\].* compare\."),
        (lambda: training(print, None, "sgd", (1, 2)), r"None cannot be called with an output"),
        (lambda: training(print, print, "sgd", 1, 2), r"training\(print, print, 'sgd', 1, 2\)"),
    ],
)
def test_what_is_handed_over_by_mistake_is_named_and_nothing_is_printed_whole(ask, said):
    with pytest.raises(ArgumentError) as raised:
        ask()
    assert re.search(said, str(raised.value))
    assert "all of its layers" not in str(raised.value)


def test_variants_hold_their_arguments_and_apply_them_to_every_callable():
    seen = []

    def f(x, *, mask):
        seen.append((x, mask))
        return 1.0

    ways = Variants({"eager": Variant(f), "other": Variant(f)}, (1,), {"mask": 2})
    options = {"time_limit": 0.02, "progress": False, "why": False}
    for some in (ways, ways.only("eager"), ways.copy(), {"mine": f} | ways, ways | {"mine": f}):
        assert compare(some, **options)
    assert {*seen} == {(1, 2)}
    seen.clear()
    own = {"eager": call(ways["eager"], mask=3)}
    assert compare({**own}, 4, **options)
    assert {*seen} == {(4, 3)}


def test_variants_hold_their_input_so_compare_takes_no_other():
    ways = Variants({"eager": Variant(print)}, (1, 2))
    with pytest.raises(ArgumentError, match=r"alone, which holds its input\. Received: "):
        compare(ways, 3)


def test_code_of_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownLabelError, match="Write 'eager'"):
        made(Machine()).code["eagre"]


def test_only_is_a_method_of_variants():
    with pytest.raises(ArgumentError, match=r"Write variants\(net, x\)\.only\('eager'\)"):
        variants(print, 1.0, only=["eager"])
