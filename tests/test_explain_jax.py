"""explain() for JAX: the program, why a call compiles anew, and what a tracer refuses or leaks."""

import gc
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from flax import nnx
from test_explainer import places

from d2lhybrid.errors import CallFailedError
from d2lhybrid.frameworks.explaining import explain

HERE = Path(__file__).name
X = jnp.ones((2, 3))


def source_line(code: str) -> int:
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines].index(code) + 1


def scaled(x, factor, power=1):
    return jnp.tanh(x) ** power * factor


def test_a_module_is_one_whole_program():
    rngs = nnx.Rngs(0)
    net = nnx.Sequential(nnx.Linear(3, 4, rngs=rngs), nnx.relu, nnx.Linear(4, 2, rngs=rngs))
    report = explain(net, X)
    assert report.framework.startswith("JAX ")
    assert (report.graphs, report.compilations) == (1, 0)
    assert report.breaks == report.fallbacks == report.unsupported == ()
    assert "float32[2,3]" in report.notes[0] or "f32[2,3]" in report.notes[0]
    assert "operations in the jaxpr" in report.notes[1]


@pytest.mark.parametrize("bound", [True, False], ids=["module", "function"])
def test_what_nnx_jit_compiled_is_explained_as_it_is(bound):
    net = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
    args = (X,) if bound else (net, X)
    compiled = nnx.jit(net if bound else nnx.Linear.__call__)
    compiled(*args)
    for _turn in range(2):
        report = explain(compiled, *args)
        assert (report.graphs, report.compilations) == (1, 1)
        assert report.breaks == report.fallbacks == report.unsupported == ()
        assert "float32[2,3]" in report.notes[0]


def test_operations_before_and_after_xla():
    def chain(x):
        for _turn in range(5):
            x = jnp.sin(x) + 1
        return x

    (_types, made) = explain(chain, X).notes
    assert made.startswith("10 operations in the jaxpr, ")
    assert made.endswith("1 of them fusions.")


def test_weak_types_are_named():
    assert "(weak type)" in explain(scaled, X, 2.0).notes[0]
    assert "(weak type)" not in explain(scaled, X, jnp.float32(2.0)).notes[0]


def test_compilations_are_counted_and_none_is_added():
    function = jax.jit(scaled, static_argnames="power")
    assert explain(function, X, 2.0).compilations == 0
    function(X, 2.0)
    function(X, 2.0)
    for _turn in range(2):
        report = explain(function, X, 2.0)
        assert report.compilations == 1
        assert not [note for note in report.notes if "anew:" in note]


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((jnp.ones((4, 3)), 2.0), {}, ["f32[4,3]", "f32[2,3]"]),
        ((X.astype(jnp.float16), 2.0), {}, ["f16[2,3]", "f32[2,3]"]),
        ((X, jnp.float32(2.0)), {}, ["weak_type=False", "weak_type=True"]),
    ],
    ids=["shape", "dtype", "weak type"],
)
def test_why_a_call_compiles_anew(args, kwargs, said):
    function = jax.jit(lambda x, factor: scaled(x, factor))
    function(X, 2.0)
    report = explain(function, *args, **kwargs)
    (reason,) = [note for note in report.notes if "compiles anew: " in note]
    for word in said:
        assert word in reason
    assert report.compilations == 1
    assert function._cache_size() == 1


def test_another_static_argument_compiles_anew():
    function = jax.jit(lambda x, factor, power: scaled(x, factor, power), static_argnames="power")
    function(X, 2.0, power=1)
    report = explain(function, X, 2.0, power=3)
    (reason,) = [note for note in report.notes if "compiles anew: " in note]
    assert "Static(val=3)" in reason


def test_calls_into_python_are_fallbacks():
    def model(x):
        jax.debug.print("x is {}", x)
        return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    report = explain(model, X)
    assert [finding.reason for finding in report.fallbacks][-1] == "pure_callback"
    assert places(report.fallbacks) == [
        (HERE, source_line('jax.debug.print("x is {}", x)')),
        (
            HERE,
            source_line(
                "return jax.pure_callback(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x)"
            ),
        ),
    ]


def test_what_a_tracer_refuses_has_the_users_line():
    def model(x):
        if x.sum() > 0:
            return x
        return -x

    report = explain(model, X)
    assert report.graphs == 0
    (finding,) = report.unsupported
    assert "TracerBoolConversionError" in finding.reason
    assert places(report.unsupported) == [(HERE, source_line("if x.sum() > 0:"))]


@pytest.fixture(params=[False, True], ids=["as for users", "something is set aside"])
def set_aside(request):
    """Whether the collector leaves out something already, as it does in these tests."""
    if not request.param:
        gc.unfreeze()
    yield request.param
    gc.freeze()


def test_a_leaked_tracer_has_the_users_line(set_aside):
    kept = []

    def model(x):
        kept.append(x * 2)
        return x + 1

    report = explain(model, X)
    assert report.graphs == 1
    (finding,) = report.unsupported
    assert "leaked" in finding.reason
    assert places(report.unsupported) == [(HERE, source_line("kept.append(x * 2)"))]
    assert bool(gc.get_freeze_count()) == set_aside


def test_a_tracer_that_was_leaked_before_is_not_of_this_call(set_aside):
    kept = []
    jax.jit(lambda x: kept.append(x * 2) or x)(X)
    assert explain(lambda x: x + 1, X).unsupported == ()
    assert len(kept) == 1


def test_a_mistake_in_the_call_is_the_users():
    with pytest.raises(CallFailedError, match="Expected scaled to run"):
        explain(scaled, X, jnp.ones(5))
