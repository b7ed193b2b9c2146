"""MXNet on the NumPy of this environment, for real; needs nothing but MXNet and its own needs.

``make test-numpy2`` runs this on NumPy 2; tests/test_compat.py runs it on the pinned NumPy.
"""

import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

import numpy

sys.path.insert(0, str(Path(__file__).parents[1]))

from d2lhybrid import import_mxnet
from d2lhybrid.errors import RemovedFromNumPyError

GONE = ("bool", "int", "float", "complex", "object", "str", "PZERO", "NINF", "in1d", "mirr")


def main() -> None:
    """Run every check; an AssertionError says which one failed."""
    names = dict(vars(numpy))
    had = still_there()
    mx = import_mxnet()
    assert import_mxnet() is mx, "a second call did something"
    print(f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, MXNet {mx.__version__}")

    check_training(mx)
    check_old_names()

    assert had == still_there(), "NumPy got or lost a name"
    for name, value in vars(numpy).items():
        known = name in names and names[name] is value
        submodule = isinstance(value, ModuleType) and value.__name__ == f"numpy.{name}"
        assert known or submodule, f"NumPy changed: {name}"


def still_there() -> dict[str, bool]:
    """Which of the names that NumPy dropped it has; asking for some of them warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: hasattr(numpy, name) for name in GONE}


def check_training(mx: ModuleType) -> None:
    """Train, hybridize, export and import again: the same numbers, and a loss that falls."""
    from mxnet import autograd, gluon, np, npx

    npx.set_np()
    mx.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss_of = gluon.loss.L2Loss()
    x = np.random.normal(size=(64, 4))
    y = (x * np.array([1.0, -2.0, 3.0, 0.5])).sum(axis=1, keepdims=True)
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 20, f"training does not learn: {losses[0]} to {losses[-1]}"

    eager = net(x).asnumpy()
    net.hybridize()
    assert numpy.allclose(net(x).asnumpy(), eager, atol=1e-6), "hybridize() changes the output"
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        files = f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params"
        again = gluon.SymbolBlock.imports(*files)
        assert numpy.allclose(again(x).asnumpy(), eager, atol=1e-6), "the reloaded net differs"


def check_old_names() -> None:
    """MXNet's own uses of the names that NumPy dropped, lazy imports in functions included."""
    from mxnet import np

    assert np.full((2,), True).dtype == numpy.bool_
    assert np.in1d(np.array([1, 2]), np.array([2])).tolist() == [False, True]
    assert float(np.trapz(np.array([1.0, 2.0]))) == 1.5
    assert np.pad(np.ones((2, 2)), ((1, 1), (0, 0)), mode="constant").shape == (4, 2)
    assert np.isnan(np.NaN), "np.NaN"
    if numpy.lib.NumpyVersion(numpy.__version__) >= "2.0.0":
        try:
            np.mirr(np.ones(3), 0.1, 0.1)
        except RemovedFromNumPyError:
            pass
        else:
            raise AssertionError("mirr should be gone")


if __name__ == "__main__":
    main()
    print("MXNet works here, and NumPy is as it was.")
