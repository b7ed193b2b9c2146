"""Causes planted in MXNet."""

from itertools import pairwise

import numpy
from case import control, planted
from chapter import networks

from d2lhybrid import import_mxnet

import_mxnet()
from mxnet import np, npx  # noqa: E402
from mxnet.gluon import nn  # noqa: E402

npx.set_np()


def dense(*sizes, activation="relu"):
    net = nn.HybridSequential()
    for inputs, outputs in pairwise(sizes):
        net.add(nn.Dense(outputs, activation=activation, in_units=inputs))
    net.initialize()
    return net


def twin(make, *args, **flags):
    """A network as it is, and a second one with the same parameters, hybridized."""
    net, fast = make(), make()
    net(*args), fast(*args)  # shapes that were left open are known from here
    for one, other in zip(
        net.collect_params().values(), fast.collect_params().values(), strict=True
    ):
        other.set_data(one.data())
    fast.hybridize(**flags)
    return {"eager": net, "hybridized": fast}, *args


@planted(
    "not_whole",
    "The model is a Block in place of a HybridBlock: hybridize() passes it by, and says nothing.",
)
def block_in_place_of_hybrid_block():
    class Swish(nn.Block):
        def forward(self, x):
            return x / (1 + np.exp(-x)) * 2 - 1

    return twin(Swish, np.ones((64, 64)))


@planted(
    "not_whole",
    "The model is a Block with an `if` on a number in its middle; what lies around it is "
    "hybridized in two parts.",
)
def number_taken_out():
    class Clipped(nn.Block):
        def __init__(self):
            super().__init__()
            self.before, self.after = dense(256, 256), dense(256, 256)

        def forward(self, x):
            x = self.before(x)
            length = float(np.linalg.norm(x))
            if length > 1:
                x = x / length
            return self.after(x)

    def make():
        net = Clipped()
        net.initialize()
        return net

    return twin(make, np.ones((256, 256)))


@planted(
    "recompiled",
    "The function that predicts hybridizes the network in each call, which throws its graph away.",
)
def hybridized_in_the_call():
    functions, x = twin(lambda: dense(32, 32, 32, 32, 8), np.ones((1, 32)))
    net = functions["hybridized"]

    def predict(x):
        net.hybridize()
        return net(x)

    return functions | {"hybridized": predict}, x


@planted(
    "recompiled",
    "The function that predicts casts the network in each call to the type that it has, and each "
    "cast throws the graph away.",
)
def cast_in_the_call():
    functions, x = twin(lambda: dense(32, 32, 32, 8), np.ones((1, 32)))
    net = functions["hybridized"]

    def predict(x):
        net.cast("float32")
        return net(x)

    return functions | {"hybridized": predict}, x


@planted(
    "nothing_to_rewrite",
    "Three products of large matrices take nearly all of the time, and stay calls of the library.",
)
def wide_layers():
    return twin(lambda: dense(1024, 1024, 1024, 1024), np.ones((256, 1024)))


@planted(
    "nothing_to_rewrite",
    "Two convolutions of large images take nearly all of the time, and stay calls of the library.",
)
def large_convolutions():
    def make():
        net = nn.HybridSequential()
        net.add(nn.Conv2D(32, 3, in_channels=16), nn.Conv2D(32, 3, in_channels=32))
        net.initialize()
        return net

    return twin(make, np.ones((8, 16, 64, 64)))


@planted(
    "moved_data",
    "Each call makes an array of a long history in NumPy; the network needs its last rows.",
)
def history_in_numpy():
    functions, _x = twin(lambda: dense(64, 64, 8), np.ones((16, 64)))

    def latest(net):
        return lambda history: net(np.array(history, dtype="float32")[-16:])

    history = numpy.random.default_rng(0).standard_normal((50_000, 64))
    return {label: latest(net) for label, net in functions.items()}, history


@planted(
    "faster_python",
    "Twenty tiny layers are forty calls of MXNet from Python; hybridized, it is one.",
    also=("faster_fused",),
)
def many_tiny_layers():
    return twin(lambda: dense(*[16] * 21), np.ones((1, 16)), static_alloc=True, static_shape=True)


@planted(
    "faster_fused",
    "Convolution, normalization and activation become one operation of oneDNN.",
    also=("faster_python", "faster_folded_or_layout"),
)
def convolutions_in_one():
    def make():
        net = nn.HybridSequential()
        for _ in range(4):
            net.add(nn.Conv2D(16, 3, padding=1, in_channels=16, use_bias=False))
            net.add(nn.BatchNorm(in_channels=16), nn.Activation("relu"))
        net.initialize()
        return net

    functions, x = twin(make, np.ones((8, 16, 64, 64)))
    functions["hybridized"].optimize_for(x, backend="MKLDNN")
    return functions, x


@planted(
    "nothing_to_rewrite",
    "A residual network on 32 images is convolutions and normalizations, and this compiler fuses "
    "none of them.",
    real=True,
)
def resnet_of_many_images():
    chapter = networks("mxnet")
    return twin(chapter.resnet, chapter.images(32))


@control(
    "A network that is switched between training and prediction keeps its graph.",
    true=("faster_python", "entering", "nothing_to_rewrite"),
)
def training_and_prediction():
    from mxnet import autograd

    functions, x = twin(lambda: dense(64, 64, 64, 64, 64, 8), np.ones((1, 64)))

    def by_turns(net):
        def run(x):
            with autograd.train_mode():
                trained = net(x)
            return trained, net(x)

        return run

    return {label: by_turns(net) for label, net in functions.items()}, x


@control("A wait that the measuring does anyway changes nothing.")
def needless_wait():
    functions, x = twin(lambda: dense(64, 64, 64, 8), np.ones((1, 64)))
    net = functions["hybridized"]

    def waited(x):
        y = net(x)
        y.wait_to_read()
        return y

    return {"hybridized": net, "hybridized, waiting": waited}, x
