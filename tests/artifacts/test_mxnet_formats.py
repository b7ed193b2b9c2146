"""What is MXNet's own among its formats: semantics, hybridizing, names and order."""

import pytest
from artifact_models import mxnet_inputs, mxnet_model

from d2lhybrid import load, save
from d2lhybrid.artifacts.program import flat, unlike
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.mxnet.compat import import_mxnet

import_mxnet()
from d2lhybrid.frameworks.mxnet.tensors import TENSORS, semantics  # noqa: E402


def call(model, inputs):
    return [TENSORS.to_raw(t) for t in flat(TENSORS, TENSORS.infer(model, inputs, {}))]


def test_other_semantics_switched_on(tmp_path):
    for saved_under in (False, True):
        x = mxnet_inputs("mlp", 1, saved_under)
        path = tmp_path / str(saved_under)
        model = mxnet_model("mlp", saved_under)
        save(model, path, *x)
        with semantics(not saved_under):
            found = load(path)(*x)
        assert type(found) is type(x[0])
        assert not unlike(call(model, x), [TENSORS.to_raw(found)])


def test_a_net_that_is_not_hybridized_stays_so(tmp_path):
    model = mxnet_model("mlp", False)
    save(model, tmp_path / "a", *mxnet_inputs("mlp", 1, False))
    assert not model._active


def test_refusals(tmp_path):
    mx = import_mxnet()
    x = mxnet_inputs("rnn", 1, False)
    plain = mx.gluon.nn.Sequential()
    plain.add(mx.gluon.nn.Dense(2))
    plain.initialize()
    with pytest.raises(SaveError, match="HybridBlock"):
        save(plain, tmp_path / "a", *x)
    bare = mx.gluon.rnn.LSTM(8, layout="NTC")
    bare.initialize()
    with pytest.raises(SaveError, match="first state"):
        save(bare, tmp_path / "a", *x)
    assert not list(tmp_path.iterdir())
    save(mxnet_model("mlp", False), tmp_path / "a", *mxnet_inputs("mlp", 1, False))
    with pytest.raises(InputMismatchError, match=r"float32 \(any, 512\)"):
        load(tmp_path / "a")(*x)


def test_inputs_keep_the_order_of_the_call(tmp_path):
    mx = import_mxnet()

    class Second(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, a, b):
            return F.concat(b, a * 2, dim=1)

    x = (mx.nd.ones((2, 3)), mx.nd.zeros((2, 1)))
    made = save(Second(), tmp_path / "a", *x)
    assert [spec.shape for spec in made.inputs] == [(None, None)] * 2
    reloaded = load(tmp_path / "a")
    assert reloaded(*x).asnumpy().tolist() == [[0, 2, 2, 2]] * 2


def test_symbols_of_the_user_keep_the_order_of_the_call(tmp_path):
    mx = import_mxnet()
    a, b = (mx.sym.var(n, dtype="float32") for n in ("left", "right"))
    model = mx.gluon.SymbolBlock(mx.sym.concat(b, a * 2, dim=1), [a, b])
    x = (mx.nd.ones((2, 3)), mx.nd.zeros((2, 1)))
    save(model, tmp_path / "a", *x)
    assert read(tmp_path / "a").manifest.options["inputs"] == ["left", "right"]
