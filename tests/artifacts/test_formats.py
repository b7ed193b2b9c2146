"""Every format of every framework: eager = compiled = reloaded = native."""

import numpy as np
import pytest
from artifact_models import KINDS, inputs, model

from d2lhybrid import frameworks, load, run_native, save, verify
from d2lhybrid.artifacts.program import flat, unlike
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.tensor import Raw

WHOLE = [
    (framework.name, name)
    for framework in frameworks.known()
    for name, one in framework.formats.items()
    if not one.weights_only
]


def raws(framework, run, given):
    tensors = frameworks.get(framework.split()[0]).tensors
    return [tensors.to_raw(t) for t in flat(tensors, tensors.infer(run, given, {}))]


def alone(framework, name):
    """Does it run without Python? That of torch.export is compiled for it, see test_native.py."""
    native = frameworks.format_of(framework.split()[0], name).native
    return native is not None and name != "torch.export"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("framework", "name"), [*WHOLE, ("mxnet numpy", "mxnet")])
def test_eager_reloaded_native(saved, framework, name, kind):
    path, net = saved(framework, kind, name), model(framework, kind)
    reloaded = load(path)
    # A recurrent model that takes its state has its batch in another axis, which is fixed.
    for batch in (1,) if (framework, kind) == ("mxnet numpy", "rnn") else (1, 7):
        x = inputs(framework, kind, batch)
        eager = raws(framework, net, x)
        assert not unlike(eager, raws(framework, reloaded, x))
        if alone(framework, name):
            arrays = [t.numpy() if hasattr(t, "numpy") else t.asnumpy() for t in x]
            assert not unlike(eager, [Raw.of(run_native(path, *arrays))])
    found = verify(path)
    assert found.ok
    assert found.compared


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("framework", "name"), [w for w in WHOLE if w[0] != "mxnet"])
def test_half_precision(tmp_path, framework, name, dtype):
    if (name, dtype) == ("onnx", "bfloat16"):
        pytest.skip("ONNX Runtime has no bfloat16 matrix product on the CPU")
    net, x = model(framework, "mlp", dtype), inputs(framework, "mlp", 1, dtype)
    save(net, tmp_path / "half", *x, format=name)
    (eager,) = raws(framework, net, x)
    assert not unlike([eager], raws(framework, load(tmp_path / "half"), x))
    if alone(framework, name):
        given = frameworks.get(framework).tensors.to_raw(x[0]).array
        found = run_native(tmp_path / "half", given)
        np.testing.assert_allclose(found, eager.values().astype("float32"), atol=0.02)


@pytest.mark.parametrize(("framework", "name"), WHOLE)
def test_wrong_inputs(saved, framework, name):
    path, good = saved(framework, "mlp", name), inputs(framework, "mlp", 1)
    wrong = [(), (*good, *good), ("text",), (None,), inputs(framework, "cnn", 1), (good[0][0],)]
    for given in wrong:
        with pytest.raises(InputMismatchError, match=r"float32 \(any, 512\)"):
            load(path)(*given)
    if framework not in ("tensorflow", "jax"):  # which convert NumPy's arrays
        array = good[0].numpy() if framework == "torch" else good[0].asnumpy()
        with pytest.raises(InputMismatchError, match=rf"of {framework}, received a numpy\.ndarray"):
            load(path)(array)
