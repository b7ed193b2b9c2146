"""A framework in one folder goes through everything: nothing else in the package knows of it.

The folder, ``toy``, is the example for the next framework. It has no graphs, and the package says
so.
"""

from dataclasses import make_dataclass

import numpy as np
import pytest
from toy import FRAMEWORK, Affine, Array, Descent

import d2lhybrid
from d2lhybrid import backends, call
from d2lhybrid.artifacts.formats import format_of
from d2lhybrid.backends.base import Framework
from d2lhybrid.backends.defaults import compiler, why
from d2lhybrid.backends.owners import framework_of
from d2lhybrid.errors import ArgumentError, D2LHybridError


@pytest.fixture
def toy(monkeypatch):
    """It is known, although its folder is elsewhere, and it is the last of all."""
    monkeypatch.setitem(backends._records, FRAMEWORK.name, FRAMEWORK)
    return FRAMEWORK


@pytest.fixture
def model(toy):
    return Affine(2.0, 1.0), np.ones((1, 3), np.float32).view(Array)


def test_a_class_says_of_its_modules_what_they_are():
    assert Framework.device is vars(Framework)["device"]


def test_measure_waits_for_it_and_the_report_says_its_name(toy, model, monkeypatch):
    pair = make_dataclass("Pair", "x")(model[1])
    assert framework_of([{"a": model[1]}]) is backends.get("toy") is toy
    assert framework_of(pair) is toy
    tree = make_dataclass("Tree", ["root"], namespace={"__module__": "toy"})(None)
    tree.root = tree
    assert framework_of(tree) is toy
    waited = []
    monkeypatch.setattr(toy.device, "wait_for", waited.append)
    text = str(d2lhybrid.measure(*model, time_limit=0.1))
    assert len(waited) > 3
    assert "Toy Framework 4.2" in text
    assert "Toy Framework: 3 threads" in text
    assert "Toy Chip" in text


def test_variants_compare_and_their_answers(model):
    v = d2lhybrid.variants(call(*model, scale=3.0))
    c = d2lhybrid.compare(v, time_limit=0.2, progress=False)
    assert list(c) == ["eager", "fused"]
    assert c.unavailable["on chip"] == "there is no chip"
    wrong = {"right": model[0], "wrong": Affine(2.0)}
    c = d2lhybrid.compare(wrong, model[1], time_limit=0.2, progress=False)
    assert list(c) == ["right"]
    assert "output" in c.unavailable["wrong"]


def test_a_model_alone_is_compared_in_its_ordinary_ways(model):
    options = {"time_limit": 0.05, "progress": False, "why": False}
    for found in (
        d2lhybrid.compare(*model, **options),
        d2lhybrid.compare(call(*model, scale=3.0), **options),
        d2lhybrid.compare(d2lhybrid.variants(*model), **options),
    ):
        assert list(found) == ["eager", "fused"]
        assert found.unavailable["on chip"] == "there is no chip"
    mine = d2lhybrid.compare(d2lhybrid.variants(*model) | {"mine": model[0]}, **options)
    assert list(mine) == ["eager", "fused", "mine"]


def tf32(array):
    """To 10 bits behind the leading one, as a GPU rounds the factors of a product."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + np.uint32(1 << 12)) & np.uint32(0xFFFFE000)).view(np.float32)


class Network:
    """Dense layers and a head in TF32, or with `rounded` in another precision."""

    def __init__(self, layers=16, rounded=tf32, activation=lambda h: h.clip(0), **changed):
        draw = np.random.default_rng(0)
        shapes = [(64, 64)] * layers + [(64, 10)]
        drawn = (draw.normal(0, np.sqrt(2 / 64), shape) for shape in shapes)
        self.weights = [weight.astype(np.float32) for weight in drawn]
        self.bias = draw.uniform(-1 / 8, 1 / 8, 10).astype(np.float32)  # as PyTorch draws it
        self.rounded, self.activation = rounded, activation
        self.changed = {"bias": 1, "scale": 1.0, "order": 1} | changed

    def product(self, h, weight):
        """The sum of the terms in their order, or from the last to the first."""
        order = self.changed["order"]
        return self.rounded(h)[:, ::order] @ self.rounded(weight)[::order]

    def __call__(self, x):
        *hidden, last = self.weights
        h = np.asarray(x)
        for weight in hidden:
            h = self.activation(self.product(h, weight))
        output = self.product(h, last) + self.changed["bias"] * self.bias
        return (output * np.float32(self.changed["scale"])).view(Array)


def test_an_accelerator_may_round_and_a_wrong_answer_is_still_refused(toy, monkeypatch):
    x = np.random.default_rng(1).normal(size=(256, 64)).astype(np.float32).view(Array)

    def compared(ways):
        found = d2lhybrid.compare(ways, x, time_limit=0.05, progress=False)
        return list(found), list(found.unavailable)

    right = {"TF32": Network(), "in another order": Network(order=-1)}
    wrong = {
        "without a bias": Network(bias=0),
        "1% off": Network(scale=1.01),
        "another activation": Network(activation=np.abs),
        "a leaky one": Network(activation=lambda h: np.maximum(h, h * np.float32(0.01))),
    }
    few = {"float32": Network(4, np.asarray), "TF32": Network(4)}
    assert (compared(right)[0], compared(few)[0]) == (["TF32"], ["float32"])  # as from a CPU
    monkeypatch.setattr(toy.device, "is_accelerated", lambda tensor: True)
    assert compared(right | wrong) == (list(right), list(wrong))
    assert compared(few)[0] == list(few)


def test_the_numbers_in_a_tuple_are_not_taken_for_models(toy, monkeypatch):
    kept, owned = [], []
    monkeypatch.setattr(toy.models, "snapshot", lambda parts: kept.append(parts) or ())
    monkeypatch.setattr(toy, "owns", lambda packages: bool(owned.append(packages)))
    numbers = tuple(range(10_000))
    d2lhybrid.measure(sum, numbers, time_limit=0.01)
    assert kept == [[]]
    assert len(owned) < 10  # each class is looked at once


def test_the_models_of_variants_that_were_joined_are_all_left_as_they_were(toy, monkeypatch):
    kept = []
    monkeypatch.setattr(toy.models, "snapshot", lambda parts: kept.append(parts) or ())
    nets = [Affine(float(factor)) for factor in range(3)]
    ways = d2lhybrid.variants(nets[0], np.ones(1).view(Array))
    for net in nets[1:]:
        others = d2lhybrid.variants(net, np.ones(1).view(Array))
        ways |= {f"{name} of {net.factor}": others[name] for name in others}
    for what in ((ways,), ({**ways}, np.ones(1).view(Array))):
        kept.clear()
        d2lhybrid.compare(*what, time_limit=0.01, progress=False)
        assert [sum(one is net for one in kept[0]) for net in nets] == [1, 1, 1]


def test_a_sweep_takes_variants_with_options_of_theirs(toy, model, monkeypatch):
    asked, variants = [], toy.variants.variants
    monkeypatch.setattr(
        toy.variants, "variants", lambda *given: asked.append(given[3:]) or variants(*given)
    )

    def make(size):
        return d2lhybrid.variants(*model, all=True, compiler_options={"mode": "fast"})

    options = {"seed": 7, "time_limit": 0.05, "progress": False}
    s = d2lhybrid.sweep(make, [3, 4], only=["fused"], **options)
    assert [list(point) for point in s.comparisons] == [["fused"]] * 2
    assert (asked[-1], s.comparisons[1].seed) == ((True, {"mode": "fast"}), 7)


def test_what_it_explains_and_what_it_has_not(model):
    assert str(d2lhybrid.explain(*model)).startswith("Affine (Toy Framework 4.2)")
    with pytest.raises(D2LHybridError, match=r"Toy Framework 4\.2 records as a graph"):
        d2lhybrid.graph(*model)


def test_all_ways_to_train_it_learn_the_same(model):
    net, x = model
    batch = x, np.zeros((1, 3), np.float32).view(Array)
    steps = d2lhybrid.training(net, lambda y, target: (y - target) ** 2, Descent(0.1), batch)
    losses = steps["eager"]()
    assert losses.tolist() == steps["again"]().tolist() == sorted(losses, reverse=True)
    assert net.shift == 1.0
    assert list(d2lhybrid.compare(steps, time_limit=0.05, progress=False)) == ["eager", "again"]
    with pytest.raises(ArgumentError, match="Descent"):
        d2lhybrid.training(net, len, "descent", batch)


def test_it_saves_and_loads_a_model(model, tmp_path, monkeypatch):
    # Another process does not know the framework of this test.
    monkeypatch.setattr("d2lhybrid.artifacts.save.verify_in_subprocess", lambda folder: "")
    net, x = model
    artifact = d2lhybrid.save(net, tmp_path / "affine", x)
    assert (artifact.manifest.framework, artifact.manifest.format) == ("toy", "toy")
    assert np.array_equal(d2lhybrid.load(tmp_path / "affine")(x), net(x))
    assert d2lhybrid.verify(tmp_path / "affine").answer == "proved"


def test_what_a_framework_lacks_is_said():
    bare = Framework("bare", "Bare", folder="json")  # which has none of the modules
    for verb in ("training", "explain"):
        with pytest.raises(ArgumentError, match=rf"that {verb} supports\. Received: Bare"):
            getattr(bare, verb)
    with pytest.raises(ArgumentError, match=r"that save supports\. Received: Bare"):
        format_of(bare, "")
    assert (bare.compiler, bare.why) == (compiler, why)
