"""``import_mxnet``: the last MXNet on today's NumPy and Python.

MXNet 1.9.1 reads names that NumPy 1.24 and 2.0 removed, and relies on what newer versions do in
another way. Mending NumPy would change it for every library of the process, so NumPy is left alone:
MXNet gets no release any more, so the few modules of its that need it are compiled from their
text with some words replaced. Its files stay as they are.
"""

import ctypes
import platform
import re
import sys
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

import numpy

from d2lhybrid.core.errors import MissingPackageError
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.output import silent
from d2lhybrid.core.toolchain import import_uninterrupted, install_command


def _in1d(first: Any, second: Any, **options: Any) -> Any:
    """``numpy.in1d``, which NumPy 2.4 no longer has: flat, unlike ``isin``."""
    return numpy.isin(numpy.ravel(first), second, **options)


def _gone(name: str, *args: Any, **kwargs: Any) -> Any:
    """MXNet reads the financial functions at import, and hardly anyone calls them."""
    return getattr(numpy, name)(*args, **kwargs)  # NumPy's own error


def _spelled(value: Any) -> str:
    """As NumPy 1 did it: MXNet's parser of attributes knows no "(np.int64(2), 3)"."""
    return str(_plain(value))


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(map(_plain, value))
    return value.item() if isinstance(value, numpy.generic) else value


# What the names meant before they went (NumPy 1.24 and 2.0 release notes).
_OLD_NAMES: dict[str, Any] = {
    "alltrue": numpy.all,
    "bool": bool,
    "compat": SimpleNamespace(basestring=str),
    "in1d": _in1d,
    "Inf": numpy.inf,
    "int": int,
    "msort": partial(numpy.sort, axis=0),
    "NaN": numpy.nan,
    "NAN": numpy.nan,
    "NINF": -numpy.inf,
    "NZERO": -0.0,
    "PINF": numpy.inf,
    "PZERO": 0.0,
    "trapz": getattr(numpy, "trapezoid" if hasattr(numpy, "trapezoid") else "trapz"),
    **{name: partial(_gone, name) for name in ("mirr", "npv", "pmt", "ppmt", "pv", "rate")},
}
_OLD = SimpleNamespace(**_OLD_NAMES, spelled=_spelled)  # what a mended module knows as _old

_Words = tuple[str, str]  # a regular expression, and what stands in place of what it finds
# What is replaced, and in which modules.
_MENDED: dict[_Words, str] = {
    (rf"\b(?:np|_np|onp)\.({'|'.join(_OLD_NAMES)})\b", r"_old.\1"): (
        "gluon.contrib.estimator.event_handler ndarray.numpy._op numpy.fallback numpy.multiarray "
        "numpy.utils symbol.numpy._symbol test_utils"
    ),
    (r"\bstr\(", "_old.spelled("): (
        "_ctypes.ndarray _ctypes.symbol gluon.block io.io kvstore.base symbol.symbol"
    ),
    (r"'(sometrue|round_|product)',", ""): "numpy_dispatch_protocol",  # of any, round and prod
    # From NumPy 1.25 on, ``qr`` and others return named tuples, which take no list.
    (r"object\.__class__\(tmp\)", "(tuple(tmp) if isinstance(object, tuple) else tmp)"): (
        "numpy.multiarray"
    ),
    # On NumPy 2, a Python number plus a float32 stays float32, and sums stop at 2**24.
    (r"sum_metric = 0\.0?$", "sum_metric = numpy.float64(0)"): "metric",
    (r"\.tostring\(\)", ".tobytes()"): "recordio",  # gone in NumPy 2.3
    (r"spsp\.csr\.", "spsp."): "ndarray.sparse ndarray.utils",  # a module of SciPy that is going
    # SciPy brings its statistics when they are asked for, which takes as long as a third of MXNet.
    (r"(?:from\s(scipy)\simport|import\s(scipy)\.stats\sas)\s(ss|stats)$", r"import \1\2 as \3"): (
        "contrib.quantization test_utils"
    ),
    (r"\bss\.chisquare", "ss.stats.chisquare"): "test_utils",
}


def _mending(module: str) -> list[_Words]:
    """What is to be replaced in a module, say ``mxnet.metric``; nothing in most."""
    package, _dot, name = module.partition(".")
    mended = _MENDED.items() if package == "mxnet" else ()
    return [words for words, modules in mended if name in modules.split()]


class _Finder(MetaPathFinder):
    """Finds the modules of MXNet that need mending."""

    def find_spec(self, fullname: str, *where: Any) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, *where) if _mending(fullname) else None
        if spec and spec.origin:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Runs the mended text, which it keeps in no ``__pycache__``."""

    def get_code(self, fullname: str) -> CodeType:
        text = self.get_source(fullname) or ""
        for found, instead in _mending(fullname):
            text = re.sub(found, instead, text, flags=re.MULTILINE)
        return compile(text, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_old"] = _OLD
        super().exec_module(module)


_FINDER = _Finder()
_lock = threading.Lock()


def import_mxnet() -> ModuleType:
    """Import MXNet where it would not import by itself, and return it.

    After that, ``from mxnet import np, npx`` works as ever. NumPy stays as it is for everyone
    else. A second call, or a call after a plain import that worked, changes nothing.

    Raises:
        MissingPackageError: MXNet is not installed, or something that it needs is missing.

    >>> mx = import_mxnet()
    >>> mx.nd.ones(2).asnumpy().tolist()
    [1.0, 1.0]
    """
    with _lock:
        if "mxnet" in sys.modules:
            return sys.modules["mxnet"]
        for leftover in [name for name in sys.modules if name.startswith("mxnet.")]:
            del sys.modules[leftover]  # of a plain import that failed; they are not mended
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        _load_cuda_11()
        with silent():  # distutils, invalid escapes: nothing a reader can mend
            try:
                import_uninterrupted("mxnet")
            except (ImportError, OSError, RuntimeError) as error:
                raise MissingPackageError(_why(error)) from error
            finally:  # an interrupt comes up when the import is whole
                if "mxnet" in sys.modules:
                    _mend(sys.modules["mxnet"])
        return sys.modules["mxnet"]


def _mend(mxnet: Any) -> None:
    """Replace what does not work as it is."""
    mxnet.nd.NDArray.__array__ = _to_numpy
    loader = import_module("mxnet.gluon.data.dataloader")
    for name in ("_worker_initializer", "worker_loop_v1"):
        setattr(loader, name, _InWorker(getattr(loader, name)))


def _why(error: Exception) -> str:
    """A sentence for an import that failed."""
    system, machine = platform.system(), platform.machine()
    if getattr(error, "name", None) != "mxnet":  # another module, or a shared library, is missing
        text = _(
            "Expected MXNet to import. Received: {error}. Install the libraries that "
            "it needs: {command}, or for a GPU {gpu_command}."
        )
        command, gpu_command = install_command("mxnet"), install_command("mxnet-gpu")
        return text.format(error=error, command=command, gpu_command=gpu_command)
    if not (system == "Linux" or (system == "Darwin" and machine == "x86_64")):
        return _(
            "Expected MXNet to be installed. Received: {system} on {machine}, for which "
            "MXNet has no wheels. Use Linux or an Intel Mac; PyTorch and TensorFlow work here."
        ).format(system=system, machine=machine)
    return _(
        "Expected MXNet to be installed. Received: no module named mxnet. Its own pins "
        "would replace NumPy {version}, on which it runs here. Install it without them: "
        "{command}, then {second_command}."
    ).format(
        version=numpy.__version__,
        command="pip install --no-deps mxnet==1.9.1",
        second_command='pip install graphviz requests "setuptools<81"',
    )


def _load_cuda_11() -> None:
    """Load the CUDA 11 libraries of the nvidia-*-cu11 wheels, which mxnet-cu112 does not look for.

    They need one another in an order that changes with their versions, so each is tried again.
    What is still missing, MXNet's own import will name.
    """
    try:
        files = metadata.distribution("nvidia-cuda-runtime-cu11").locate_file("nvidia")
        metadata.distribution("mxnet-cu112")
    except metadata.PackageNotFoundError:
        return
    for path in 4 * sorted(Path(str(files)).glob("*/lib/lib*.so.*")):
        with suppress(OSError):
            ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)


def _to_numpy(array: Any, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
    """NumPy took an old NDArray for a sequence of objects: ``array_equal(nd, nd)`` was False."""
    return numpy.asarray(array.asnumpy(), dtype)


class _InWorker(partial[Any]):
    """A DataLoader's worker that is not forked imports MXNet by itself, fails, and all hangs.

    So unpickling its first function imports MXNet in our way.
    """

    def __reduce__(self) -> Any:
        return _in_worker, (self.func.__name__,)


def _in_worker(name: str) -> Any:
    """That function of MXNet's DataLoader, in a process that may not have imported MXNet yet."""
    import_mxnet()
    return getattr(sys.modules["mxnet.gluon.data.dataloader"], name)
