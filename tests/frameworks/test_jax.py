"""What only JAX has: calls that compile anew, tracers that leak, static arguments, modes."""

import gc
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

from d2lhybrid import call, explain, graph, training, variants
from d2lhybrid.errors import ArgumentError, CallFailedError
from d2lhybrid.frameworks import get
from d2lhybrid.same import record, require_same

X = jnp.ones((2, 3))


def lines(findings):
    """The code where each was found, which is in this file."""
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert {finding.file for finding in findings} == {__file__}
    return [source[finding.line - 1].partition("  #")[0].strip() for finding in findings]


def scaled(x, factor, power=1):
    return jnp.tanh(x) ** power * factor


def test_a_program_is_whole_and_its_note_has_the_types():
    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Linear(3, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 2, rngs=rngs))
    report = explain(net, X)
    assert (report.graphs, report.compilations) == (1, 0)
    assert report.breaks == report.fallbacks == report.unsupported == ()
    assert "float32[2,3]. " in report.notes[0]
    assert "(weak type)" in explain(scaled, X, 2.0).notes[0]
    assert "(weak type)" not in explain(scaled, X, jnp.float32(2.0)).notes[0]


@pytest.mark.parametrize("bound", [True, False], ids=["module", "function"])
def test_what_nnx_jit_compiled_is_explained_as_it_is(bound):
    net = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
    args = (X,) if bound else (net, X)
    compiled = nnx.jit(net if bound else nnx.Linear.__call__)
    compiled(*args)
    for _turn in range(2):
        report = explain(compiled, *args)
        assert (report.graphs, report.compilations, report.unsupported) == (1, 1, ())
        assert "float32[2,3]" in report.notes[0]


@pytest.mark.parametrize(
    ("args", "power", "said"),
    [
        ((X, 2.0), 1, []),
        ((jnp.ones((4, 3)), 2.0), 1, ["f32[4,3]", "f32[2,3]"]),
        ((X.astype(jnp.float16), 2.0), 1, ["f16[2,3]", "f32[2,3]"]),
        ((X, jnp.float32(2.0)), 1, ["weak_type=False", "weak_type=True"]),
        ((X, 2.0), 3, ["Static(val=3)"]),
    ],
    ids=["the same", "shape", "dtype", "weak type", "static argument"],
)
def test_why_a_call_compiles_anew(args, power, said):
    function = jax.jit(lambda x, factor, power: scaled(x, factor, power), static_argnames="power")
    function(X, 2.0, power=1)
    report = explain(function, *args, power=power)
    assert (report.compilations, function._cache_size()) == (1, 1)
    found = "".join(note for note in report.notes if "compiles anew: " in note)
    assert bool(found) == bool(said)
    assert all(word in found for word in said)


def test_calls_into_python_refusals_and_leaks_have_the_users_line():
    kept = []

    def model(x):
        jax.debug.print("x is {}", x)  # 1
        kept.append(x * 2)  # 2
        return jax.lax.cond(x.sum() > 0, lambda: x, lambda: -x)

    report = explain(model, X)
    assert (report.graphs, len(report.fallbacks), len(report.unsupported)) == (1, 1, 1)
    assert lines(report.fallbacks + report.unsupported) == [
        'jax.debug.print("x is {}", x)',
        "kept.append(x * 2)",
    ]
    assert "leaked" in report.unsupported[0].reason
    gc.unfreeze()  # as it is for users
    assert explain(lambda x: x + 1, X).unsupported == ()  # what leaked before is not of this call
    assert gc.get_freeze_count() == 0
    gc.freeze()
    report = explain(lambda x: x if x.sum() > 0 else -x, X)
    assert (report.graphs, "TracerBool" in report.unsupported[0].reason) == (0, True)
    assert "if x.sum() > 0" in lines(report.unsupported)[0]


def test_a_mistake_in_the_call_is_the_users():
    with pytest.raises(CallFailedError, match="scaled"):
        explain(scaled, X, jnp.ones(5))


def test_a_graph_names_weights_arguments_and_what_it_does_not_show():
    key, large = jax.random.key(0), jnp.arange(64.0)

    class Noisy(nnx.Module):
        def __init__(self):
            self.scale = nnx.Param(jnp.ones(64))

        def __call__(self, x, *rest):
            return x * self.scale[...] + large + jax.random.normal(key, (64,)) + rest[0]

    picture = graph(Noisy(), large, large)
    nodes = {node.name: node for node in picture.stages[0].nodes}
    assert {"scale", "input", "input_1", "constant", "mul"} <= {*nodes}
    assert "key" in nodes["constant"].key + nodes["constant_1"].key
    assert picture.fates["random_bits"] != "folded"
    assert picture.stages[-1].operations


def test_a_loop_is_one_operation_and_what_was_compiled_stays():
    loop = graph(lambda x: jax.lax.fori_loop(0, 3, lambda i, y: 2 * y, x), X)
    assert loop.fates == {"scan": "kept"}
    power = jax.jit(lambda x, exponent: x**exponent, static_argnums=1)
    assert graph(power, X, 3).fates == {"integer_pow": "fused"}
    assert power._cache_size() == 0


def test_variants_of_what_is_compiled_and_of_static_arguments():
    class Model(nnx.Module):
        def __init__(self):
            self.calls = nnx.Variable(jnp.zeros(()))

        @nnx.jit
        def __call__(self, x):
            self.calls[...] += 1
            return x * 2

    net = Model()
    for name, function in variants(net, X).items():
        assert np.array_equal(function(X), 2 * X), name
    assert net.calls[...] == 0
    v = variants(jax.jit(lambda x: x + float(np.asarray(x)[0, 0])), X)  # cannot be traced
    assert v["eager"](X)[0, 0] == 2
    v = variants(lambda x, flag: x * 2 if flag else x, X, True)
    assert "arrays or numbers" in v.unavailable["compiled ahead"]
    assert all(np.array_equal(function(X, True), 2 * X) for function in v.values())
    with pytest.raises(ArgumentError, match="'dynamic'"):
        variants(net, X, dynamic=True)


def test_inference_switches_every_part_and_back():
    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Dropout(0.5, rngs=rngs), nnx.BatchNorm(3, rngs=rngs))
    net.layers[0].deterministic = True
    found = get("jax").tensors.infer(net, (X,), {})
    assert np.allclose(found, X, atol=1e-4)
    assert (net.layers[0].deterministic, net.layers[1].use_running_average) == (True, False)


class TestTraining:
    y = jnp.zeros((2, 2))

    @staticmethod
    def loss(output, target):
        return (output - target) ** 2

    def test_the_optimizer_is_of_flax_and_keyword_arguments_count(self):
        class Scaled(nnx.Linear):
            def __call__(self, x, scale=1.0):
                return super().__call__(x) * scale

        net = Scaled(3, 2, rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)
        steps = training(call(net, X, scale=3.0), self.loss, optimizer, (self.y,))
        expected = record(steps["eager"]())
        for label in steps:
            require_same(label, "eager", record(steps[label]()), expected)
        with pytest.raises(ArgumentError, match="GradientTransformation"):
            training(net, self.loss, optimizer.tx, (X, self.y))

    @pytest.mark.parametrize("label", ["eager", "nnx.jit", "jit", "jit donated"])
    def test_the_code_is_what_it_says(self, label):
        net = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(net, optax.sgd(0.01), wrt=nnx.Param)
        steps = training(net, self.loss, optimizer, (X, self.y))
        expected = record(steps["eager"]())["output"].values()[0]
        names = {"jax": jax, "jnp": jnp, "nnx": nnx, "net": net, "loss": self.loss, "x": X}
        *made, last = steps.code[label].splitlines()  # whose y is the loss, and no target more
        code = "\n".join([*made, last.replace("y =", "found =")])
        names |= {"optimizer": optimizer, "y": self.y}
        exec(code, names)
        assert np.isclose(float(names["found"]), expected)
