"""What is TensorFlow's own among the formats: functions, modules, Keras files."""

import numpy as np
import pytest
import tensorflow as tf
from artifact_models import example, tensorflow_model

from d2lhybrid import load, run_native, save
from d2lhybrid.artifacts.program import unlike
from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.tensorflow.tensors import TENSORS
from d2lhybrid.tensor import Raw

to_raw = TENSORS.to_raw


def test_compiled_functions_are_kept_compiled(tmp_path):
    model = tensorflow_model("mlp")
    x = tf.constant(example("mlp", 1))
    function = tf.function(lambda x: model(x, training=False), jit_compile=True)
    save(function, tmp_path / "xla", x)
    assert b"_XlaMustCompile" in (tmp_path / "xla/saved_model/saved_model.pb").read_bytes()
    traced = function.get_concrete_function(tf.TensorSpec((None, 512)))
    save(traced, tmp_path / "traced", x)
    for name in ("xla", "traced"):
        assert not unlike([to_raw(model(x))], [to_raw(load(tmp_path / name)(x))])
        assert not unlike([to_raw(model(x))], [Raw.of(run_native(tmp_path / name, x.numpy()))])


def test_module_with_several_inputs_and_outputs(tmp_path):
    class Two(tf.Module):
        def __init__(self):
            super().__init__()
            self.scale = tf.Variable(3.0)

        def __call__(self, a, b):
            return a + b, {"z": a * b * self.scale}

    a, b = tf.ones((3, 2)), tf.fill((3, 2), 2.0)
    made = save(Two(), tmp_path / "two", a, b)
    assert [o.shape for o in made.outputs] == [(None, None), (None, None)]
    loaded = load(tmp_path / "two")(a, b)
    alone = run_native(tmp_path / "two", a.numpy(), b.numpy())
    for first, named in (loaded, alone):
        second = named["z"]
        assert np.asarray(first).tolist() == [[3.0, 3.0]] * 3
        assert np.asarray(second).tolist() == [[6.0, 6.0]] * 3


class Counting(tf.Module):
    def __init__(self):
        super().__init__()
        self.calls = tf.Variable(0.0)
        self.uncounted = tf.Variable(0, trainable=False)

    def __call__(self, x):
        self.calls.assign_add(1.0)
        self.uncounted.assign_add(1)
        return x * 2

    decorated = tf.function(__call__)


KEPT = tf.Variable(0.0)


def counting_in_a_global(x):
    KEPT.assign_add(1.0)
    return x * 2


@pytest.mark.parametrize(
    "as_model",
    [
        lambda one: one,
        lambda one: lambda x: one(x),
        lambda one: one.__call__,
        lambda one: tf.function(one.__call__),
        lambda one: one.decorated,
        lambda one: tf.function(one.__call__).get_concrete_function(tf.TensorSpec((None, 3))),
        lambda one: counting_in_a_global,
    ],
    ids=["module", "lambda", "method", "compiled", "decorated", "traced", "global"],
)
def test_saving_leaves_variables_as_they_were(as_model, tmp_path):
    one = Counting()
    model = as_model(one)
    save(model, tmp_path / "a", tf.ones((2, 3)))
    assert (one.calls.numpy(), one.uncounted.numpy(), KEPT.numpy()) == (0, 0, 0)


def test_what_only_looks_like_variables_is_left_alone(tmp_path):
    class Odd:
        variables = "ab"

    odd = Odd()
    save(lambda x: x * len(odd.variables) * len(Odd.variables), tmp_path / "a", tf.ones((2, 3)))
    module = Counting()
    save(lambda x: Counting.__call__(module, x), tmp_path / "b", tf.ones((2, 3)))
    assert module.calls.numpy() == 0


def test_refusals(tmp_path):
    x = tf.ones((1, 3))
    with pytest.raises(SaveError, match="Keras model"):
        save(tf.function(lambda x: x), tmp_path / "a", x, format="keras")
    calls = tf.Variable(0.0)
    with pytest.raises(SaveError, match="state"):
        save(tf.function(lambda x: x + calls.assign_add(1.0)), tmp_path / "a", x)
    model = tf.keras.Sequential([tf.keras.layers.Lambda(lambda x: x + 1)])
    with pytest.raises(SaveError, match="cannot load"):
        save(model, tmp_path / "a", x, format="keras")
    assert not list(tmp_path.iterdir())
    save(tf.function(lambda x: x @ tf.ones((3, 2))), tmp_path / "a", x)
    with pytest.raises(InputMismatchError, match=r"float32 \(any, 3\)"):
        load(tmp_path / "a")(tf.ones((1, 4)))
