"""What is a framework's own about saving: JAX's symbols and 64 bits, TensorFlow's functions, Gluon.

Another process has no part in most of it, so that it is left out here; test_formats has it.
"""

from unittest.mock import Mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import tensorflow as tf
from artifact_models import differ, inputs, mxnet_model, tensorflow_model
from flax import nnx

from d2lhybrid import call, import_mxnet, inspect, load, run_native, save, verify
from d2lhybrid.core.host_array import HostArray
from d2lhybrid.errors import (
    ArtifactLoadError,
    CallFailedError,
    SaveError,
    UnsupportedArtifactError,
)

mx = import_mxnet()
from d2lhybrid.backends.mxnet.device import semantics  # noqa: E402


@pytest.mark.usefixtures("unproved")
def test_axes_of_one_name_vary_together_in_jax(tmp_path):
    a, dynamic = jnp.ones((2, 3)), {"a": {0: "n"}, "b": {0: "n"}}
    save(lambda a, b: a @ b.T, tmp_path / "a", a, a, dynamic=dynamic)
    model = load(tmp_path / "a")
    assert model(jnp.ones((5, 3)), jnp.ones((5, 3))).shape == (5, 5)
    with pytest.raises(CallFailedError, match="inconsistency between dimension size"):
        model(jnp.ones((5, 3)), jnp.ones((4, 3)))


def test_a_model_of_64_bits_is_proved_by_a_process_of_32(tmp_path):
    with jax.enable_x64(True):
        jax.config.update("jax_enable_x64", True)
        try:
            save(lambda x: x / 3, tmp_path / "a", jnp.ones((2, 3)))
        finally:
            jax.config.update("jax_enable_x64", False)
    assert verify(tmp_path / "a").ok
    assert load(tmp_path / "a")(np.ones((5, 3))).dtype == jnp.float64


@pytest.mark.usefixtures("unproved")
def test_how_long_jax_reads_a_file_is_said_before_and_after(saved, monkeypatch):
    path = saved("jax", "jax.export")
    assert "six months newer" in str(inspect(path))
    expired = Mock(side_effect=ValueError("older than the 6-month window"))
    monkeypatch.setattr(jax.export, "deserialize", expired)
    with pytest.raises(ArtifactLoadError, match=r"6-month window.*jax 0\..*six months newer"):
        load(path)


def test_arguments_of_jax_that_are_no_batch_or_gone_after_the_call(tmp_path):
    x, weights = jnp.ones((5, 5)), {"bias": jnp.ones(5), "kernel": jnp.ones((5, 5))}
    apply = jax.jit(lambda p, x: x @ p["kernel"] + p["bias"], donate_argnums=1)
    save(apply, tmp_path / "a", weights, x)
    assert x.sum() == 25  # it was not donated
    assert load(tmp_path / "a")(weights, jnp.ones((7, 5))).shape == (7, 5)
    graph, state = nnx.split(nnx.Linear(5, 3, rngs=nnx.Rngs(0)))
    save(lambda state, x: nnx.merge(graph, state)(x), tmp_path / "b", state, x)
    assert np.allclose(load(tmp_path / "b")(state, x), nnx.merge(graph, state)(x), atol=1e-5)
    save(jax.random.normal, tmp_path / "c", jax.random.PRNGKey(1), dynamic={})


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
def test_compiled_functions_of_tensorflow_are_kept_compiled(tmp_path):
    model, (x,) = tensorflow_model(), inputs("tensorflow", 1)
    function = tf.function(lambda x: model(x, training=False), jit_compile=True)
    save(function, tmp_path / "xla", x)
    assert b"_XlaMustCompile" in (tmp_path / "xla/saved_model/saved_model.pb").read_bytes()
    save(function.get_concrete_function(tf.TensorSpec((None, 512))), tmp_path / "traced", x)
    save(call(model, x, training=False), tmp_path / "told")
    assert not differ("tensorflow", model, (x,), load(tmp_path / "told")(x, training=False))
    for path in (tmp_path / "xla", tmp_path / "traced"):
        assert not differ("tensorflow", model, (x,), load(path)(x))
        assert not differ("tensorflow", model, (x,), HostArray.of(run_native(path, x.numpy())))


@pytest.mark.usefixtures("unproved")
@pytest.mark.parametrize(
    "as_model",
    [
        lambda one: one,
        lambda one: lambda x: one(x),
        lambda one: tf.function(one.__call__),
        lambda one: one.decorated,
        lambda one: counting_in_a_global,
    ],
    ids=["module", "lambda", "compiled method", "decorated", "global"],
)
def test_saving_leaves_variables_of_tensorflow_as_they_were(as_model, tmp_path):
    one = Counting()
    save(as_model(one), tmp_path / "a", tf.ones((2, 3)))
    assert (one.calls.numpy(), KEPT.numpy()) == (0, 0)
    assert load(tmp_path / "a")(tf.ones((4, 3))).shape == (4, 3)


@pytest.mark.usefixtures("unproved")
def test_other_semantics_of_mxnet_switched_on(tmp_path):
    for framework in ("mxnet", "mxnet numpy"):
        x, model = inputs(framework, 1), mxnet_model(framework == "mxnet numpy")
        save(model, tmp_path / framework, *x)
        with semantics(framework == "mxnet"):
            found = load(tmp_path / framework)(*x)
        assert type(found) is type(x[0])
        assert not differ("mxnet", model, x, found)


@pytest.mark.usefixtures("unproved")
def test_a_dtype_that_no_program_of_ours_knows(tmp_path):
    """Only where a model takes bfloat16, uint16 stands for its bits."""
    save(tf.function(lambda x: x), tmp_path / "a", tf.constant([1, 2], tf.uint16))
    for given in ((), (np.array([1, 2], "uint16"),)):
        with pytest.raises(UnsupportedArtifactError, match=r"bool\. Received: x: uint16 \(any\)"):
            run_native(tmp_path / "a", *given)


@pytest.mark.usefixtures("unproved")
def test_a_file_of_the_model_whose_name_no_manifest_holds(tmp_path):
    (tmp_path / "vocab (1).txt").write_text("a\nb\n")
    lookup = tf.keras.layers.StringLookup(vocabulary=str(tmp_path / "vocab (1).txt"))
    with pytest.raises(SaveError, match=r"Received: '.*/vocab \(1\)\.txt'.* Rename it"):
        save(lookup, tmp_path / "a", tf.constant(["a", "b"]))
    assert not (tmp_path / "a").exists()
