"""MXNet, classic and NumPy semantics: eager = hybridized = reloaded = native."""

import pytest
from artifact_models import KINDS, mxnet_inputs, mxnet_model

from d2lhybrid import load, run_native, save, verify
from d2lhybrid.artifacts.program import flat, unlike
from d2lhybrid.artifacts.store import read
from d2lhybrid.errors import InputMismatchError, SaveError
from d2lhybrid.frameworks.mxnet.compat import import_mxnet
from d2lhybrid.tensor import Raw

import_mxnet()
from d2lhybrid.frameworks.mxnet.tensors import TENSORS, semantics  # noqa: E402


def call(model, inputs):
    return [TENSORS.to_raw(t) for t in flat(TENSORS, TENSORS.infer(model, inputs, {}))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numpy_semantics", [False, True])
def test_eager_hybridized_reloaded_native(tmp_path, kind, numpy_semantics):
    model = mxnet_model(kind, numpy_semantics)
    eager = {b: call(model, mxnet_inputs(kind, b, numpy_semantics)) for b in (1, 7)}
    model.hybridize(static_alloc=True)
    # A recurrent model that takes its state has its batch in another axis, which is fixed.
    batches = (1, 7) if not (kind == "rnn" and numpy_semantics) else (7,)
    save(model, tmp_path / "a", *mxnet_inputs(kind, batches[0], numpy_semantics))
    reloaded = load(tmp_path / "a")
    for batch in batches:
        x = mxnet_inputs(kind, batch, numpy_semantics)
        assert not unlike(eager[batch], call(model, x))
        assert not unlike(eager[batch], call(reloaded, x))
        alone = run_native(tmp_path / "a", *(t.asnumpy() for t in x))
        assert not unlike(eager[batch], [Raw.of(alone)])
    found = verify(tmp_path / "a")
    assert found.ok
    assert found.compared


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


def test_tensors_of_another_framework(tmp_path):
    x = mxnet_inputs("mlp", 1, False)
    save(mxnet_model("mlp", False), tmp_path / "a", *x)
    with pytest.raises(InputMismatchError, match=r"tensor of mxnet, received a numpy\.ndarray"):
        load(tmp_path / "a")(*(t.asnumpy() for t in x))
