"""MXNet on the NumPy of this environment, for real; needs nothing but MXNet and its own needs.

``make test-numpy`` runs this on NumPy 1; tests/test_compat.py runs it on the NumPy of the lock.
"""

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
    mx.npx.reset_np()
    for check in MENDED:
        check(mx)

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


def check_numpy_integers_in_shapes(mx: ModuleType) -> None:
    """MXNet's operators parse their attributes from text, and NumPy 2 spells np.int64(2)."""
    two = numpy.int64(2)
    x = mx.nd.arange(6)
    assert x.reshape((two, 3)).shape == (2, 3)
    assert mx.nd.zeros((two, numpy.int32(3))).shape == (2, 3)
    assert x[numpy.int64(1) : numpy.int64(3)].asnumpy().tolist() == [1, 2]
    assert mx.sym.var("a").reshape((two, 3)).infer_shape(a=(6,))[1] == [(2, 3)]
    assert mx.np.ones((two, 3)).reshape((3, two)).shape == (3, 2)
    halves = mx.gluon.utils.split_and_load(mx.nd.ones((4, 2)), [mx.cpu(0), mx.cpu(1)])
    assert [half.shape for half in halves] == [(2, 2), (2, 2)]
    batches = mx.io.NDArrayIter(numpy.ones((6, 2)), numpy.ones(6), batch_size=int(two))
    assert sum(1 for _ in batches) == 3


def check_numpy_reads_old_arrays(mx: ModuleType) -> None:
    """numpy.array_equal(nd, nd) was False, without a word, and numpy.all(nd) raised."""
    a = mx.nd.array([[1, 2], [3, 4]])
    assert numpy.array_equal(a, a)
    assert not numpy.array_equal(a, a + 1)
    assert mx.test_utils.same(a, a.asnumpy())
    assert numpy.all(a == a)
    assert numpy.asarray(a, dtype="int32").tolist() == [[1, 2], [3, 4]]
    assert numpy.array([a, a]).shape == (2, 2, 2)


def check_named_tuples(mx: ModuleType) -> None:
    """From NumPy 1.25 on, these return named tuples, which MXNet made anew from a list."""
    a = mx.np.array([[2.0, 1.0], [1.0, 3.0]])
    q, r = mx.np.linalg.qr(a)
    assert numpy.allclose((q.asnumpy() @ r.asnumpy()), a.asnumpy(), atol=1e-5)
    assert type(q) is mx.np.ndarray
    u, s, v = numpy.linalg.svd(a)
    assert numpy.allclose((u * s).asnumpy() @ v.asnumpy(), a.asnumpy(), atol=1e-5)
    sign, logdet = numpy.linalg.slogdet(a)
    assert abs(float(sign) * numpy.exp(float(logdet)) - 5) < 1e-4


def check_metrics_add_up_in_double_precision(mx: ModuleType) -> None:
    """2**24 + 1 is no float32: a sum of losses came to a halt there."""
    loss = mx.metric.Loss()
    for value in (2.0**24, 1.0, 1.0):
        loss.update(None, mx.nd.array([value]))
    assert loss.sum_metric == 2**24 + 2
    assert loss.get()[1] == (2**24 + 2) / 3
    for kind in (mx.metric.MAE, mx.metric.MSE):
        metric = kind()
        for value in (2.0**12 if kind is mx.metric.MSE else 2.0**24, 1.0, 1.0):
            metric.update([mx.nd.array([0.0])], [mx.nd.array([value])])
        assert metric.sum_metric == 2**24 + 2, kind


def check_names_are_kept(mx: ModuleType) -> None:
    """The stand-in for NumPy looks a name up once: MXNet asks for some at every call."""
    stand_in = vars(sys.modules["mxnet.ndarray.ndarray"])["np"]
    assert stand_in is not numpy
    stand_in.prod  # noqa: B018
    assert "prod" in vars(stand_in)


def check_records_and_sorts(mx: ModuleType) -> None:
    """recordio asks arrays for tostring, msort and in1d are gone."""
    header = mx.recordio.IRHeader(0, [1.0, 2.0], 7, 0)
    back, content = mx.recordio.unpack(mx.recordio.pack(header, b"body"))
    assert back.label.tolist() == [1.0, 2.0]
    assert content == b"body"
    assert mx.recordio.unpack(mx.recordio.pack((0, 3.0, 7, 0), b"x"))[0].label == 3.0
    unsorted = mx.np.array([[3.0, 1.0], [2.0, 5.0]])
    assert mx.np.msort(unsorted).asnumpy().tolist() == [[2.0, 1.0], [3.0, 5.0]]
    grid = mx.np.array([[1, 2], [3, 4]])
    assert mx.np.in1d(grid, mx.np.array([2, 3])).asnumpy().tolist() == [False, True, True, False]


def check_sparse_matrices_of_scipy(mx: ModuleType) -> None:
    """At each new array MXNet looked for a class where SciPy, if installed, warns of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mx.nd.array(numpy.ones(2)).asnumpy().tolist() == [1, 1]
        if importlib.util.find_spec("scipy"):
            from scipy import sparse

            matrix = sparse.csr_matrix([[0.0, 1.0], [2.0, 0.0]])
            for found in (mx.nd.array(matrix), mx.nd.sparse.csr_matrix(matrix)):
                assert type(found) is mx.nd.sparse.CSRNDArray
                assert found.asscipy().toarray().tolist() == matrix.toarray().tolist()


def check_workers_that_are_not_forked(mx: ModuleType) -> None:
    """Such a worker imports MXNet by itself; that failed, and the loader waited for ever."""
    # Rows of NumPy's: MXNet's shared memory, in which old arrays travel, not every machine has.
    data = mx.gluon.data.ArrayDataset(numpy.arange(8).reshape(4, 2), numpy.arange(4))
    before = multiprocessing.get_start_method(allow_none=True)
    for method in ("spawn", "forkserver"):
        multiprocessing.set_start_method(method, force=True)
        try:
            loader = mx.gluon.data.DataLoader(
                data, batch_size=2, num_workers=1, batchify_fn=labels, timeout=60
            )
            seen = list(loader)
        finally:
            multiprocessing.set_start_method(before, force=True)
        assert seen == [[0, 1], [2, 3]], method


def labels(rows: list[tuple[numpy.ndarray, int]]) -> list[int]:
    """A batch as a worker hands it out."""
    return [int(label) for _row, label in rows]


MENDED = (
    check_numpy_integers_in_shapes,
    check_numpy_reads_old_arrays,
    check_named_tuples,
    check_metrics_add_up_in_double_precision,
    check_names_are_kept,
    check_records_and_sorts,
    check_sparse_matrices_of_scipy,
    check_workers_that_are_not_forked,
)


if __name__ == "__main__":
    main()
    print("MXNet works here, and NumPy is as it was.")
