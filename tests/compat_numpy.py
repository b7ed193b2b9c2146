"""MXNet on the NumPy of this environment, for real; needs nothing but MXNet and its own needs.

``make test-numpy`` runs this on NumPy 1; tests/test_compat.py runs it on the NumPy of the lock.
"""

import contextlib
import importlib.util
import multiprocessing
import sys
import tempfile
import warnings
from pathlib import Path
from types import ModuleType

import numpy

sys.path.insert(0, str(Path(__file__).parents[1]))

from d2lhybrid import import_mxnet


def main():
    """Run every check; an AssertionError says which one failed. NumPy is as it was afterwards."""
    names = dict(vars(numpy))
    mx = import_mxnet()
    assert import_mxnet() is mx, "a second call did something"
    print(f"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, MXNet {mx.__version__}")
    with mx.util.np_shape(), mx.util.np_array():
        check_training(mx)
        check_old_names(mx)
    for check in (check_shapes, check_arrays, check_the_rest, check_workers):
        check(mx)
    for name, value in vars(numpy).items():
        submodule = isinstance(value, ModuleType) and value.__name__ == f"numpy.{name}"
        assert names.get(name) is value or submodule, f"NumPy changed: {name}"
    assert names.keys() <= vars(numpy).keys(), "NumPy lost a name"


def check_training(mx):
    """Train, hybridize, export and import again: the same numbers, and a loss that falls."""
    gluon, x = mx.gluon, mx.np.array([[1.0, 2.0], [3.0, 4.0]])
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="sigmoid"), gluon.nn.Dense(1))
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    losses = []
    for _ in range(20):
        with mx.autograd.record():
            loss = gluon.loss.L2Loss()(net(x), mx.np.ones((2, 1))).mean()
        loss.backward()
        trainer.step(1)
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 10, losses
    eager = net(x).asnumpy()
    net.hybridize()
    assert numpy.allclose(net(x).asnumpy(), eager, atol=1e-6), "hybridize() changes the output"
    with tempfile.TemporaryDirectory() as folder:
        net.export(f"{folder}/net")
        files = f"{folder}/net-symbol.json", ["data"], f"{folder}/net-0000.params"
        again = gluon.SymbolBlock.imports(*files)
        assert numpy.allclose(again(x).asnumpy(), eager, atol=1e-6), "the reloaded net differs"


def check_old_names(mx):
    """MXNet's own uses of the names that NumPy dropped, also where a module is imported late."""
    np = mx.np
    assert np.full((2,), True).dtype == numpy.bool_
    assert np.in1d(np.array([1, 2]), np.array([2])).tolist() == [False, True]
    assert float(np.trapz(np.array([1.0, 2.0]))) == 1.5
    assert np.pad(np.ones((2, 2)), ((1, 1), (0, 0)), mode="constant").shape == (4, 2)
    assert np.isnan(np.NaN)
    assert np.msort(np.array([[3.0, 1.0], [2.0, 5.0]])).tolist() == [[2.0, 1.0], [3.0, 5.0]]
    from mxnet.gluon.contrib.estimator import EarlyStoppingHandler

    assert EarlyStoppingHandler(mx.metric.Loss(), mode="min")
    with contextlib.suppress(AttributeError, RuntimeError):  # of NumPy 2, and of NumPy 1
        np.mirr(np.ones(3), 0.1, 0.1)
        raise AssertionError("mirr should be gone")


def check_shapes(mx):
    """MXNet's operators parse their attributes from text, and NumPy 2 spells np.int64(2)."""
    two, x = numpy.int64(2), mx.nd.arange(6)
    assert x.reshape((two, 3)).shape == mx.nd.zeros((two, numpy.int32(3))).shape == (2, 3)
    assert x[numpy.int64(1) : numpy.int64(3)].asnumpy().tolist() == [1, 2]
    assert mx.sym.var("a").reshape((two, 3)).infer_shape(a=(6,))[1] == [(2, 3)]
    assert mx.np.ones((two, 3)).reshape((3, two)).shape == (3, 2)
    halves = mx.gluon.utils.split_and_load(mx.nd.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [half.shape for half in halves] == [(2, 2), (2, 2)]
    batches = mx.io.NDArrayIter(numpy.ones((6, 2)), numpy.ones(6), batch_size=int(two))
    assert sum(1 for _ in batches) == 3


def check_arrays(mx):
    """NumPy's functions on MXNet's arrays: some were wrong without a word, and some raised."""
    a = mx.nd.array([[1, 2], [3, 4]])
    assert numpy.array_equal(a, a)
    assert not numpy.array_equal(a, a + 1)
    assert mx.test_utils.same(a, a.asnumpy())
    assert numpy.asarray(a, dtype="int32").tolist() == [[1, 2], [3, 4]]
    assert numpy.array([a, a]).shape == (2, 2, 2)
    a = mx.np.array([[2.0, 1.0], [1.0, 3.0]])
    for linalg in (mx.np.linalg, numpy.linalg):  # which return named tuples from NumPy 1.25 on
        q, r = linalg.qr(a)
        assert type(q) is mx.np.ndarray
        assert numpy.allclose(q.asnumpy() @ r.asnumpy(), a.asnumpy(), atol=1e-5)


def check_the_rest(mx):
    """Sums of losses, which came to a halt at 2**24, records, and sparse matrices."""
    large = 2.0**24
    for kind, first in ((mx.metric.Loss, large), (mx.metric.MAE, large), (mx.metric.MSE, 2.0**12)):
        metric = kind()
        for value in (first, 1.0, 1.0):
            metric.update([mx.nd.array([0.0])], [mx.nd.array([value])])
        assert metric.sum_metric == large + 2, kind
    packed = mx.recordio.pack(mx.recordio.IRHeader(0, [1.0, 2.0], 7, 0), b"body")
    back, content = mx.recordio.unpack(packed)
    assert (back.label.tolist(), content) == ([1.0, 2.0], b"body")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a class that MXNet looked for at each new array
        assert mx.nd.array(numpy.ones(2)).asnumpy().tolist() == [1, 1]
        if importlib.util.find_spec("scipy"):
            sparse = importlib.import_module("scipy.sparse")
            matrix = sparse.csr_matrix([[0.0, 1.0], [2.0, 0.0]])
            for found in (mx.nd.array(matrix), mx.nd.sparse.csr_matrix(matrix)):
                assert found.asscipy().toarray().tolist() == matrix.toarray().tolist()
            assert "scipy.stats" not in sys.modules, "SciPy's statistics lengthen the import"
            even = (lambda n: numpy.arange(n) / n), [(0, 0.5), (0.5, 1)], [0.5, 0.5]
            assert mx.test_utils.chi_square_check(*even, 100)[0] == 1


def check_workers(mx):
    """One that is not forked imports MXNet itself; that failed, and the loader waited for ever."""
    # Rows of NumPy's: MXNet's shared memory, in which old arrays travel, not every machine has.
    data = mx.gluon.data.ArrayDataset(numpy.arange(8).reshape(4, 2), numpy.arange(4))
    multiprocessing.set_start_method("spawn", force=True)
    options = {"batch_size": 2, "num_workers": 1, "batchify_fn": labels, "timeout": 60}
    assert list(mx.gluon.data.DataLoader(data, **options)) == [[0, 1], [2, 3]]


def labels(rows):
    """A batch as a worker hands it out."""
    return [int(label) for _row, label in rows]


if __name__ == "__main__":
    main()
    print("MXNet works here, and NumPy is as it was.")
