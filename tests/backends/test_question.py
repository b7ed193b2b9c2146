"""What a comparison warns of: it measures something else than its reader asks."""

import re

import pytest

from d2lhybrid import call, compare, import_mxnet, training, variants
from d2lhybrid.errors import DifferentAnswerError
from d2lhybrid.experiments.comparison import Comparison
from d2lhybrid.verbs.sweep import Sweep

QUICK = {"time_limit": 0.2, "check": False, "progress": False, "why": False}


def torch_net():
    import torch
    from torch import nn

    dropout = nn.Dropout(0.5)
    return nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), dropout), torch.ones(8, 4)


def jax_net():
    import jax.numpy as jnp
    from flax import nnx

    rngs = nnx.Rngs(0)
    layers = nnx.Linear(4, 4, rngs=rngs), nnx.BatchNorm(4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
    return nnx.Sequential(*layers), jnp.ones((8, 4))


@pytest.mark.parametrize(
    ("make", "norm", "way"),
    [(torch_net, "BatchNorm1d", "torchscript"), (jax_net, "BatchNorm", "jit")],
)
def test_a_model_in_training_mode(make, norm, way):
    net, x = make()
    ways = variants(net, x)
    for what in ((ways.only("eager"),), ({"compiled": ways[way]}, x), ({"mine": net}, x)):
        result = compare(*what, **QUICK)
        first, second = str(result).splitlines()[:2]
        line = first if first.startswith("⚠ Sequential") else second  # under that of noise
        assert line.startswith("⚠ Sequential is in training mode")
        assert f"{norm}, Dropout" in line
        assert "net.eval()" in line
    assert result.warnings == (line.removeprefix("⚠ "),)
    assert line in result._repr_html_()
    assert Comparison.from_json(result.to_json()).warnings == result.warnings
    assert str(Sweep((1, 2), (result, result))).count(line) == 1
    net.eval()
    assert compare(variants(net, x).only("eager"), **QUICK).warnings == ()


def test_training_is_meant_to_be_in_training_mode():
    import torch

    net, x = torch_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    steps = training(net, torch.nn.functional.mse_loss, optimizer, (x, x))
    assert compare(steps.only("eager"), **QUICK).warnings == ()
    without = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.0))
    assert compare({"no layer minds": without}, x, **QUICK).warnings == ()


def torch_dropping():
    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 3))
    batch = torch.randn(32, 8), torch.randint(0, 3, (32,))
    return net, nn.CrossEntropyLoss(), torch.optim.AdamW(net.parameters()), batch


def torch_drawing():
    import torch

    class Drawing(torch.nn.Linear):
        def forward(self, x):
            return torch.nn.functional.dropout(super().forward(x), 0.5, self.training)

    net, batch = Drawing(8, 3), (torch.ones(4, 8), torch.zeros(4, 3))
    return net, torch.nn.MSELoss(), torch.optim.SGD(net.parameters()), batch


def keras_dropping():
    import tensorflow as tf

    keras = tf.keras
    net = keras.Sequential([keras.layers.Dense(16), keras.layers.Dropout(0.5)])
    batch = tf.ones((32, 8)), tf.ones((32, 16))
    return net, keras.losses.MeanSquaredError(), keras.optimizers.SGD(0.1), batch


def mxnet_dropping():
    mx = import_mxnet()
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(16), mx.gluon.nn.Dropout(0.5))
    net.initialize()
    batch = mx.nd.ones((32, 8)), mx.nd.ones((32, 16))
    return net, mx.gluon.loss.L2Loss(), mx.gluon.Trainer(net.collect_params(), "sgd"), batch


@pytest.mark.parametrize(
    ("make", "way", "layer"),
    [
        (torch_dropping, "torch.compile", "Dropout"),
        (torch_drawing, "torch.compile", "Drawing"),
        (keras_dropping, "tf.function", "Dropout"),
        (mxnet_dropping, "hybridized", "Dropout"),
    ],
)
def test_training_with_dropout_has_rows_whose_losses_are_not_compared(make, way, layer):
    ways = training(*make()).only("eager", way)
    result = compare(ways, time_limit=0.2, progress=False, why=False)
    assert list(result) == ["eager", way]
    assert f"{way}: losses not compared, because random numbers are drawn in: {layer}." in str(
        result
    )


def test_how_to_switch_off_dropout_is_said_in_the_frameworks_own_words():
    import tensorflow as tf

    keras_call = call(keras_dropping()[0], tf.ones((8, 8)), training=True)
    for called, advice in ((call(*torch_net()), "net.eval()"), (keras_call, "training=False")):
        with pytest.raises(DifferentAnswerError, match=re.escape(advice)):
            compare({"mine": called}, time_limit=0.1, progress=False)


def test_processes_warn_once():
    net, x = torch_net()
    result = compare(variants(net, x).only("eager"), processes=1, **QUICK)
    assert len(result.warnings) == 1


def test_pytorch_names_both_devices():
    import torch

    from d2lhybrid.errors import CallFailedError

    net = torch.nn.Linear(4, 2, device="meta")
    with pytest.raises(CallFailedError, match=r"meta.*cpu|cpu.*meta"):
        variants(net, torch.ones(1, 4))
