"""Small models of TensorFlow and Keras, one for each structure that a real one takes or returns."""

import tensorflow as tf

from d2lhybrid.core.arguments import call

layers = tf.keras.layers


def _two_inputs():
    a, b = layers.Input((4,), name="a"), layers.Input((2,), name="b")
    joined = layers.Concatenate()([a, b])
    outputs = {"first": layers.Dense(3)(joined), "second": layers.Dense(1)(joined)}
    return tf.keras.Model({"a": a, "b": b}, outputs)


class Recurrent(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.lstm = layers.LSTM(3, return_state=True)

    def call(self, x, state):
        return self.lstm(x, initial_state=state)


class Scaled(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = tf.Variable(3.0)

    def __call__(self, x, scale=None, power=1):
        found = x * self.weight**power
        return found if scale is None else found * scale


def models():
    """Name of each, with the call that is saved."""
    tf.keras.utils.set_random_seed(0)
    x = tf.random.normal((2, 4))
    words = layers.TextVectorization(vocabulary=["a", "b", "c"], output_sequence_length=3)
    two = _two_inputs()
    recurrent = Recurrent()
    state = [tf.zeros((2, 3)), tf.ones((2, 3))]
    recurrent(tf.ones((2, 5, 4)), state)
    return {
        "plain": call(Scaled(), x),
        "dict in, dict out": call(two, {"a": x, "b": x[:, :2]}),
        "keyword": call(Scaled(), x, scale=tf.constant(2.0)),
        "None and number": call(Scaled(), x, None, power=2),
        "strings": call(words, tf.constant(["a b", "c a"])),
        "strings in a function": call(lambda text: words(text), tf.constant(["a b", "c a"])),
        "strings out": call(tf.function(lambda x: tf.strings.as_string(x)), tf.constant([1, 2])),
        "lstm with state": call(recurrent, tf.random.normal((2, 5, 4)), state),
        "half": call(layers.Dense(3, dtype="bfloat16"), tf.cast(x, tf.bfloat16)),
        "tiny": call(tf.function(lambda x: x * 1e-12), x),
    }
