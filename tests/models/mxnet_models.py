"""Small models of Gluon, one for each structure that a real one takes or returns."""

from d2lhybrid import import_mxnet
from d2lhybrid.core.arguments import call

mx = import_mxnet()


class TakesList(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, parts):
        return F.concat(parts[0], parts[1] * 2, dim=1)


class Nested(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return x + 1, [x * 2, x * 3]


class Two(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, a, b):
        return a - b


def models():
    """Name of each, with the call that is saved."""
    x = mx.nd.random.normal(shape=(2, 4))
    lstm = mx.gluon.rnn.LSTM(3, layout="NTC")
    dense = mx.gluon.nn.Dense(3)
    for block in (lstm, dense):
        block.initialize()
    steps = mx.nd.random.normal(shape=(2, 5, 4))
    state = [mx.nd.zeros((1, 2, 3)), mx.nd.ones((1, 2, 3))]
    return {
        "plain": call(dense, x),
        "list in": call(TakesList(), [x, x + 1]),
        "nested out": call(Nested(), x),
        "two in": call(Two(), x, x * 3),
        "lstm with state": call(lstm, steps, state),
    }
