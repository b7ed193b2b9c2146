"""What MXNet 1.9.1 gets wrong on newer versions of NumPy and Python, once it is imported.

Each function mends one thing and says what was wrong. None of them changes NumPy.
"""

import builtins
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

from d2lhybrid.frameworks import get
from d2lhybrid.i18n import gettext as _

# They spell attributes of operators with str(), and MXNet's parser knows no "np.int64(2)".
SPELLING = (
    "mxnet._ctypes.ndarray",
    "mxnet._ctypes.symbol",
    "mxnet.symbol.symbol",
    "mxnet.io.io",
    "mxnet.kvstore.base",
    "mxnet.gluon.block",
)


def mend(mxnet: ModuleType) -> None:
    """Mend what can be mended from outside."""
    _arrays_of_old_arrays(mxnet)
    _named_tuples()
    _sums_of_metrics(mxnet)
    _bytes_of_records()
    _sparse_matrices_of_scipy()
    _workers_that_start_anew()


class _Spelling(type):
    """``str`` for those modules: a class to ask ``isinstance`` about, and a function to call."""

    def __call__(cls, *args: Any, **kwargs: Any) -> str:
        if len(args) == 1 and type(args[0]) in (tuple, list):
            return builtins.str(_plain(args[0]))
        return builtins.str(*args, **kwargs)

    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, builtins.str)

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, builtins.str)


class plain_str(metaclass=_Spelling):
    """As NumPy 1 spelled it: its numbers within tuples look like Python's."""


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, numpy.generic) else value


def in_1d(first: Any, second: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """``numpy.in1d``, which NumPy 2.4 no longer has: flat, unlike ``isin``."""
    return numpy.isin(numpy.ravel(first), second, assume_unique=assume_unique, invert=invert)


def _arrays_of_old_arrays(mxnet: ModuleType) -> None:
    """NumPy took an old NDArray for a sequence of objects: ``array_equal(nd, nd)`` was False."""

    def to_numpy(self: Any, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        if copy is False:
            raise ValueError(_("An NDArray of MXNet cannot be handed to NumPy without a copy."))
        found = self.asnumpy()
        return found if dtype is None else found.astype(dtype)

    mxnet.nd.NDArray.__array__ = to_numpy


def _named_tuples() -> None:
    """From NumPy 1.25 on, ``qr`` and others return named tuples, which take no list."""
    arrays: Any = import_module("mxnet.numpy.multiarray")
    to_mxnet, to_numpy = arrays._as_mx_np_array, arrays._as_onp_array
    arrays._as_mx_np_array = lambda object, ctx=None: to_mxnet(_unnamed(object), ctx)
    arrays._as_onp_array = lambda object: to_numpy(_unnamed(object))


def _unnamed(value: Any) -> Any:
    return tuple(value) if isinstance(value, tuple) and hasattr(value, "_fields") else value


def _sums_of_metrics(mxnet: ModuleType) -> None:
    """On NumPy 2, a Python number plus a float32 stays float32, and sums stop at 2**24."""
    for name in ("sum_metric", "global_sum_metric"):
        setattr(mxnet.metric.EvalMetric, name, _wide(name))


def _wide(name: str) -> property:
    """An attribute that keeps numbers in NumPy's double precision, which no float32 can lower."""

    def keep(self: Any, value: Any) -> None:
        number = isinstance(value, (float, numpy.floating))
        vars(self)[name] = numpy.float64(value) if number else value

    return property(lambda self: vars(self)[name], keep)


def _bytes_of_records() -> None:
    """``recordio`` calls ``tostring`` on arrays, which NumPy 2.3 dropped for ``tobytes``."""
    if hasattr(numpy.ndarray, "tostring"):
        return

    def asarray(*args: Any, **kwargs: Any) -> Any:
        return numpy.asarray(*args, **kwargs).view(_WithToString)

    def imencode(*args: Any) -> Any:
        done, buffer = opencv.imencode(*args)
        return done, buffer.view(_WithToString)

    records: Any = import_module("mxnet.recordio")
    opencv = records.cv2
    records.np = _Besides(numpy, asarray=asarray)
    if opencv is not None:
        records.cv2 = _Besides(opencv, imencode=imencode)


class _Besides:
    """A module with some functions of ours in place of its own."""

    def __init__(self, module: ModuleType, **ours: Callable[..., Any]) -> None:
        vars(self).update(ours, _module=module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


class _WithToString(numpy.ndarray):
    def tostring(self) -> bytes:
        return self.tobytes()


def _sparse_matrices_of_scipy() -> None:
    """Where SciPy is installed, MXNet asks ``scipy.sparse.csr`` at each new array: it is going."""
    for name in ("mxnet.ndarray.sparse", "mxnet.ndarray.utils"):
        module: Any = import_module(name)
        sparse = module.spsp
        if sparse is not None:
            known = {"csr_matrix": sparse.csr_matrix, "coo_matrix": sparse.coo_matrix}
            module.spsp = SimpleNamespace(csr=SimpleNamespace(**known), **known)


def _workers_that_start_anew() -> None:
    """A DataLoader's worker that is not forked imports MXNet by itself, fails, and all hangs.

    Its first function is pickled so that unpickling it imports MXNet in our way.
    """
    loader = import_module("mxnet.gluon.data.dataloader")
    for name in ("_worker_initializer", "worker_loop_v1"):
        setattr(loader, name, _InWorker(name, getattr(loader, name)))


class _InWorker:
    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        self.name, self.function = name, function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __reduce__(self) -> Any:
        return in_worker, (self.name,)


def in_worker(name: str) -> Any:
    """That function of MXNet's DataLoader, in a process that may not have imported MXNet yet."""
    get("mxnet").load()
    return getattr(sys.modules["mxnet.gluon.data.dataloader"], name)
