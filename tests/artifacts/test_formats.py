"""One contract for every format: eager = reloaded = native, each proved by a process of its own."""

import numpy as np
import pytest
from artifact_models import KINDS, differ, inputs, model

from d2lhybrid import frameworks, load, run_native, save, verify
from d2lhybrid.errors import InputMismatchError
from d2lhybrid.tensor import Raw

FORMATS = [(one.name, name) for one in frameworks.known() for name in one.formats]
DEFAULTS = [(one.name, next(iter(one.formats))) for one in frameworks.known()]
# Each kind of model in the default formats; in the others the simplest.
CASES = [(*which, kind) for which in DEFAULTS for kind in KINDS]
OTHERS = [*FORMATS, ("mxnet numpy", "mxnet")]
CASES += [(*which, "mlp") for which in OTHERS if which not in DEFAULTS]


@pytest.mark.parametrize(("framework", "name", "kind"), CASES)
def test_eager_reloaded_native(saved, framework, name, kind):
    path, net = saved(framework, kind, name), model(framework, kind)
    reloaded = load(path)
    # That of torch.export is compiled for the program first, which takes long.
    alone = frameworks.format_of(framework.split()[0], name).native and name != "torch.export"
    for batch in (1, 7):
        x = inputs(framework, kind, batch)
        assert not differ(framework, net, x, [reloaded(*x)])
        if alone:
            arrays = [t.numpy() if hasattr(t, "numpy") else t.asnumpy() for t in x]
            assert not differ(framework, net, x, [Raw.of(run_native(path, *arrays))])
    assert verify(path).ok


@pytest.mark.parametrize(("framework", "name"), [w for w in DEFAULTS if w[0] != "mxnet"])
def test_bfloat16(tmp_path, framework, name):
    net, x = model(framework, "mlp", "bfloat16"), inputs(framework, "mlp", 1, "bfloat16")
    save(net, tmp_path / "half", *x, format=name)
    assert not differ(framework, net, x, [load(tmp_path / "half")(*x)])
    native = frameworks.format_of(framework, name).native
    if native and native.source.endswith(".c"):
        raw = frameworks.get(framework).tensors.to_raw(x[0])
        bits, found = raw.array, run_native(tmp_path / "half", raw.array)
        assert bits.dtype == np.uint16
        expected = frameworks.get(framework).tensors.to_raw(net(*x)).values()
        np.testing.assert_allclose(found, expected, atol=0.02)


@pytest.mark.parametrize(("framework", "name"), FORMATS)
def test_wrong_inputs(saved, framework, name):
    path, good = saved(framework, "mlp", name), inputs(framework, "mlp", 1)
    wrong = [(), (*good, *good), ("text",), (None,), inputs(framework, "cnn", 1), (good[0][0],)]
    reloaded = load(path)
    for given in wrong:
        with pytest.raises(InputMismatchError, match="float32"):
            reloaded(*given)
    if not frameworks.format_of(framework, name).converts:
        array = good[0].numpy() if framework == "torch" else good[0].asnumpy()
        with pytest.raises(InputMismatchError, match=r"numpy\.ndarray"):
            reloaded(array)
