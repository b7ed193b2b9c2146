"""What is a framework's own about saving: JAX's symbols and 64 bits, TensorFlow's functions, Gluon.

Another process has no part in most of it, so that it is left out here; test_formats has it.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from artifact_models import differ, example, jax_model, mxnet_inputs, mxnet_model, tensorflow_model
from flax import nnx

from d2lhybrid import frameworks, import_mxnet, load, run_native, save, verify
from d2lhybrid.artifacts import saving
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.tensor import Raw

mx = import_mxnet()
from d2lhybrid.frameworks.mxnet.tensors import semantics  # noqa: E402


@pytest.fixture
def unproved(monkeypatch):
    monkeypatch.setattr(saving, "prove", lambda folder, format: None)


@pytest.mark.usefixtures("unproved")
class TestJAX:
    def test_axes_of_one_name_vary_together(self, tmp_path):
        a, b = jnp.ones((2, 3)), jnp.ones((2, 3))
        dynamic = {"a": {0: "n"}, "b": {0: "n"}}
        save(lambda a, b: a @ b.T, tmp_path / "a", a, b, dynamic=dynamic)
        model = load(tmp_path / "a")
        assert model(jnp.ones((5, 3)), jnp.ones((5, 3))).shape == (5, 5)
        with pytest.raises(ValueError, match="inconsistency between dimension size"):
            model(jnp.ones((5, 3)), jnp.ones((4, 3)))

    def test_a_model_for_some_sizes_is_saved_for_one(self, tmp_path):
        def picky(x):
            return x if x.shape[0] < 4 else -x

        made = save(picky, tmp_path / "a", jnp.ones((1, 3)))
        assert made.manifest.inputs[0].shape == (1, 3)
        assert "onclusive" in made.manifest.fixed
        assert load(tmp_path / "a")(jnp.ones((1, 3))).shape == (1, 3)

    def test_saving_leaves_the_module_as_it_was(self, tmp_path):
        model = jax_model("cnn")
        model.calls = nnx.Variable(jnp.zeros(()))
        before = contents(model)
        save(model, tmp_path / "a", jnp.asarray(example("cnn", 2)))
        assert contents(model) == before


def contents(model):
    """The structure of a module, and what all its variables hold."""
    graph, state = nnx.split(model)
    to_raw = frameworks.get("jax").tensors.to_raw
    return graph, [to_raw(one).array.tolist() for one in jax.tree.leaves(state)]


def test_a_model_of_64_bits_is_proved_by_a_process_of_32(tmp_path):
    with jax.enable_x64(True):
        jax.config.update("jax_enable_x64", True)
        try:
            x = jnp.ones((2, 3))
            save(lambda x: x / 3, tmp_path / "a", x)
        finally:
            jax.config.update("jax_enable_x64", False)
    assert verify(tmp_path / "a").ok
    found = load(tmp_path / "a")(np.ones((5, 3)))
    assert found.dtype == jnp.float64


class Counting(tf.Module):
    def __init__(self):
        super().__init__()
        self.calls = tf.Variable(0.0)

    def __call__(self, x):
        self.calls.assign_add(1.0)
        return x * 2

    decorated = tf.function(__call__)


KEPT = tf.Variable(0.0)


def counting_in_a_global(x):
    KEPT.assign_add(1.0)
    return x * 2


@pytest.mark.usefixtures("unproved")
class TestTensorFlow:
    def test_compiled_functions_are_kept_compiled(self, tmp_path):
        model, x = tensorflow_model("mlp"), tf.constant(example("mlp", 1))
        function = tf.function(lambda x: model(x, training=False), jit_compile=True)
        save(function, tmp_path / "xla", x)
        assert b"_XlaMustCompile" in (tmp_path / "xla/saved_model/saved_model.pb").read_bytes()
        traced = function.get_concrete_function(tf.TensorSpec((None, 512)))
        save(traced, tmp_path / "traced", x)
        for name in ("xla", "traced"):
            found = [load(tmp_path / name)(x), run_native(tmp_path / name, x.numpy())]
            assert not differ("tensorflow", model, (x,), found[:1])
            assert not differ("tensorflow", model, (x,), [Raw.of(found[1])])

    @pytest.mark.parametrize(
        "as_model",
        [
            lambda one: one,
            lambda one: lambda x: one(x),
            lambda one: one.__call__,
            lambda one: tf.function(one.__call__),
            lambda one: one.decorated,
            lambda one: counting_in_a_global,
        ],
        ids=["module", "lambda", "method", "compiled", "decorated", "global"],
    )
    def test_saving_leaves_variables_as_they_were(self, as_model, tmp_path):
        one = Counting()
        save(as_model(one), tmp_path / "a", tf.ones((2, 3)))
        assert (one.calls.numpy(), KEPT.numpy()) == (0, 0)
        assert load(tmp_path / "a")(tf.ones((4, 3))).shape == (4, 3)


class Weighted(mx.gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(2, 3), init="ones")

    def hybrid_forward(self, F, a, b=None, parts=(), scale=1.0, weight=None):
        found = a if b is None else a - b
        for i, part in enumerate(parts):
            found = found + part * 10 ** (i + 1)
        return found * scale * weight


@pytest.mark.usefixtures("unproved")
class TestMXNet:
    def test_other_semantics_switched_on(self, tmp_path):
        for saved_under in (False, True):
            x, path = mxnet_inputs("mlp", 1, saved_under), tmp_path / str(saved_under)
            model = mxnet_model("mlp", saved_under)
            save(model, path, *x)
            with semantics(not saved_under):
                found = load(path)(*x)
            assert type(found) is type(x[0])
            assert not differ("mxnet", model, x, [found])

    def test_saving_leaves_blocks_hybridized_or_not(self, tmp_path):
        model, x = mxnet_model("mlp", False), mxnet_inputs("mlp", 1, False)
        model[0].hybridize(static_alloc=True)
        save(model, tmp_path / "a", *x)
        assert (model._active, model[0]._active, model[1]._active) == (False, True, False)
        assert ("static_alloc", True) in model[0]._flags

    def test_saving_leaves_averages(self, tmp_path):
        model, x = mxnet_model("cnn", False), mxnet_inputs("cnn", 2, False)
        model(*x)
        held = model[1].running_mean
        before = held.data().asnumpy().tolist()
        save(model, tmp_path / "a", *x)
        assert held.data().asnumpy().tolist() == before

    @pytest.mark.parametrize("numpy_semantics", [False, True])
    @pytest.mark.parametrize("hybridized", [False, True])
    def test_keywords_are_put_into_position(self, hybridized, numpy_semantics, tmp_path):
        make = mx.np.array if numpy_semantics else mx.nd.array
        a, b, c, d = (make([[value] * 3] * 2, dtype="float32") for value in (7, 2, 1, 3))
        with semantics(numpy_semantics):
            model = Weighted()
            model.initialize()
            if hybridized:
                model.hybridize()
        cases = {
            "one behind": ((a,), {"b": b}, 5),
            "in another order": ((), {"b": b, "a": a}, 5),
            "behind a default": ((a,), {"parts": [c, d]}, 317),
            "one tensor in two places": ((a,), {"parts": [a, b], "b": b}, 275),
        }
        for name, (args, kwargs, wanted) in cases.items():
            if hybridized:  # what MXNet recorded of other arguments
                model._clear_cached_op()
            save(model, tmp_path / name, *args, **kwargs)
            loaded = load(tmp_path / name)
            assert loaded(*args, **kwargs).asnumpy().tolist() == [[wanted] * 3] * 2
            turned = dict(reversed(kwargs.items()))
            assert loaded(*args, **turned).asnumpy().tolist() == [[wanted] * 3] * 2
            with pytest.raises(InputMismatchError, match="Expected the arguments"):
                loaded(*args, **{**kwargs, "scale": a})
