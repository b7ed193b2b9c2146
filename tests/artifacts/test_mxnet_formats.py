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


def test_a_save_that_fails_leaves_what_a_function_counts_in(tmp_path):
    mx = import_mxnet()

    class Counting(mx.gluon.Block):
        def __init__(self):
            super().__init__()
            self.calls = self.params.get("calls", shape=(1,), grad_req="null", init="zeros")

        def forward(self, x):
            self.calls.set_data(self.calls.data() + 1)
            return x

    one = Counting()
    one.initialize()
    for model in (one, lambda x: one(x), one.forward):
        with pytest.raises(SaveError, match="HybridBlock"):
            save(model, tmp_path / "a", mx.nd.ones((2, 3)))
        assert one.calls.data().asscalar() == 0


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


class Weighted(import_mxnet().gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        self.weight = self.params.get("weight", shape=(2, 3), init="ones")

    def hybrid_forward(self, F, a, b=None, parts=(), scale=1.0, weight=None):
        found = a if b is None else a - b
        for i, part in enumerate(parts):
            found = found + part * 10 ** (i + 1)
        return found * scale * weight


@pytest.mark.parametrize("numpy_semantics", [False, True])
@pytest.mark.parametrize("hybridized", [False, True])
def test_keywords_are_put_into_position_and_taken_again(hybridized, numpy_semantics, tmp_path):
    mx = import_mxnet()
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
        "lists in another order": ((), {"parts": [c, d], "b": b, "a": a}, 315),
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
    with pytest.raises(SaveError, match="unexpected keyword argument 'z'"):
        save(model, tmp_path / "wrong", a, z=b)
    assert not (tmp_path / "wrong").exists()


def test_symbols_of_the_user_keep_the_order_of_the_call(tmp_path):
    mx = import_mxnet()
    a, b = (mx.sym.var(n, dtype="float32") for n in ("left", "right"))
    model = mx.gluon.SymbolBlock(mx.sym.concat(b, a * 2, dim=1), [a, b])
    x = (mx.nd.ones((2, 3)), mx.nd.zeros((2, 1)))
    save(model, tmp_path / "a", *x)
    assert read(tmp_path / "a").manifest.options["inputs"] == ["left", "right"]
