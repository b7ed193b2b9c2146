"""What is JAX's own among the formats: symbolic axes, tracers, trust, weights of Flax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from artifact_files import forge
from artifact_models import example, jax_model
from flax import nnx

from d2lhybrid import inspect, load, run_native, save, verify
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.errors import (
    ArtifactLoadError,
    SaveError,
    UnsupportedArtifactError,
    UntrustedArtifactError,
)
from d2lhybrid.frameworks.jax.tensors import TENSORS

to_raw = TENSORS.to_raw


def run(model, x):
    return TENSORS.infer(model, (x,), {})


def test_axes_that_vary_together(tmp_path):
    a, b = jnp.ones((2, 3)), jnp.ones((2, 3))
    save(lambda a, b: a @ b.T, tmp_path / "a", a, b, dynamic={"a": {0: "n"}, "b": {0: "n"}})
    model = load(tmp_path / "a")
    assert model(jnp.ones((5, 3)), jnp.ones((5, 3))).shape == (5, 5)
    with pytest.raises(ValueError, match="inconsistency between dimension size"):
        model(jnp.ones((5, 3)), jnp.ones((4, 3)))


def test_a_model_for_one_size_is_saved_for_it(tmp_path):
    def picky(x):
        assert x.shape[0] in (1, 2)
        return x * x.shape[0]

    save(picky, tmp_path / "a", jnp.ones((1, 3)))
    assert load(tmp_path / "a")(jnp.ones((1, 3))).shape == (1, 3)


def test_what_a_tracer_refuses_is_not_saved(tmp_path):
    def branching(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(SaveError, match="boolean conversion of traced array"):
        save(branching, tmp_path / "a", jnp.ones(3))
    assert not (tmp_path / "a").exists()


def test_saving_leaves_the_module_as_it_was(tmp_path):
    model = jax_model("cnn")
    graph, state = nnx.split(model)
    save(model, tmp_path / "a", jnp.asarray(example("cnn", 2)))
    after, now = nnx.split(model)
    assert after == graph
    for one, other in zip(jax.tree.leaves(state), jax.tree.leaves(now), strict=True):
        assert to_raw(one).array.tolist() == to_raw(other).array.tolist()


class Counting(nnx.Module):
    def __init__(self):
        self.weight = nnx.Param(jnp.ones(3))
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        self.calls[...] += 1
        return x * self.weight[...]

    @nnx.jit
    def compiled(self, x):
        return self(x)


@pytest.mark.parametrize(
    "as_model",
    [
        lambda one: one.__call__,
        lambda one: lambda x: one(x),
        lambda one: nnx.jit(lambda x: one(x)),
        lambda one: one.compiled,
    ],
    ids=["method", "lambda", "compiled lambda", "compiled method"],
)
def test_a_save_that_fails_leaves_what_a_function_counts_in(as_model, tmp_path):
    one = Counting()
    with pytest.raises(SaveError, match="different trace level"):
        save(as_model(one), tmp_path / "a", jnp.ones(3))
    assert float(one.calls[...]) == 0
    assert one.weight[...].tolist() == [1, 1, 1]


def test_a_save_that_fails_leaves_a_variable_as_it_was(tmp_path):
    calls = nnx.Variable(jnp.zeros(()))

    def counting(x):
        calls[...] += 1
        return x * 2

    with pytest.raises(SaveError, match="different trace level"):
        save(counting, tmp_path / "a", jnp.ones(3))
    assert float(calls[...]) == 0


def test_a_strangers_program_needs_trust(tmp_path):
    save(lambda x: x * 2, tmp_path / "a", jnp.ones(3))
    forge(tmp_path / "a")
    with pytest.raises(UntrustedArtifactError, match="native function"):
        load(tmp_path / "a")
    assert load(tmp_path / "a", trust=True)(jnp.ones(3)).tolist() == [2, 2, 2]


def test_a_program_that_calls_back_into_python_is_refused(tmp_path):
    def calls_back(x):
        return jax.pure_callback(lambda x: np.sin(x), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(SaveError, match="allback"):
        save(calls_back, tmp_path / "a", jnp.ones(3))


def test_it_says_that_nothing_runs_it_without_python(tmp_path):
    save(lambda x: x * 2, tmp_path / "a", jnp.ones(3))
    assert "no wheel brings one for C" in str(inspect(tmp_path / "a"))
    with pytest.raises(UnsupportedArtifactError, match="JAX has no such format here"):
        run_native(tmp_path / "a", np.ones(3, np.float32))


class TestWeights:
    def test_there_and_back(self, tmp_path):
        model, x = jax_model("cnn"), jnp.asarray(example("cnn", 2))
        model(x)  # in training mode, so that the averages are no longer those of a new one
        save(model, tmp_path / "w", x, format="safetensors")
        other = jax_model("cnn")
        for part in jax.tree.leaves(nnx.state(other, nnx.Param)):
            assert part is not None
        other.layers[1].kernel[...] += 1
        assert load(tmp_path / "w", into=other) is other
        assert not unlike([to_raw(run(model, x))], [to_raw(run(other, x))])
        names = load(tmp_path / "w")
        assert "layers.2.mean" in names
        assert not any("dropout" in name or "rngs" in name for name in names)
        assert verify(tmp_path / "w").ok

    def test_another_model_is_refused(self, tmp_path):
        x = jnp.asarray(example("mlp", 1))
        save(jax_model("mlp"), tmp_path / "w", x, format="safetensors")
        with pytest.raises(ArtifactLoadError, match=r"layers\.0\.kernel"):
            load(tmp_path / "w", into=jax_model("cnn"))

    def test_a_function_has_no_names_for_them(self, tmp_path):
        with pytest.raises(SaveError, match="module of Flax NNX"):
            save(lambda x: x * 2, tmp_path / "w", jnp.ones(3), format="safetensors")
