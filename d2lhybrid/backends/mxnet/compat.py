"""``import_mxnet``: the last MXNet on today's NumPy and Python.

MXNet 1.9.1 reads names that NumPy 1.24 and 2.0 removed, and relies on behaviour that has changed.
Patching NumPy would change it for every library in the process. There will be no more releases of
MXNet, so we patch its source instead: a few of its modules are compiled from their text with some
words replaced. Its files stay as they are. One word is replaced to count the graphs that Gluon
compiles, which MXNet doesn't report, and one so that blocks can be sent to another process.
"""

import ctypes
import platform
import re
import sys
import threading
from collections.abc import Callable
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
from d2lhybrid.core.toolchain import install_command


def _in1d(first: Any, second: Any, **options: Any) -> Any:
    """``numpy.in1d``, which NumPy 2.4 no longer has: flat, unlike ``isin``."""
    return numpy.isin(numpy.ravel(first), second, **options)


def _removed(name: str, *args: Any, **kwargs: Any) -> Any:
    """A financial function, which NumPy no longer has: MXNet reads them all when it is imported.

    A call raises NumPy's own error.
    """
    return getattr(numpy, name)(*args, **kwargs)


def _str(value: Any) -> str:
    """``str`` as of NumPy 1: MXNet's parser of attributes doesn't know "(np.int64(2), 3)"."""
    return str(_without_numpy(value))


def _without_numpy(value: Any) -> Any:
    """The value with Python's numbers in place of NumPy's."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_without_numpy, value))
    return value.item() if isinstance(value, numpy.generic) else value


_compiled = 0  # graphs of blocks in this process so far


def _compile(make: Callable[..., Any], *args: Any) -> Any:
    """The CachedOp that a block is compiled to, which is counted."""
    global _compiled
    _compiled += 1
    return make(*args)


def programs_compiled() -> int | None:
    """How many graphs Gluon has compiled; None if MXNet was imported without ``import_mxnet``."""
    return _compiled if hasattr(sys.modules.get("mxnet.gluon.block"), "_old") else None


# What these names meant, according to NumPy's release notes for 1.24 and 2.0, which removed them.
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
    **{name: partial(_removed, name) for name in ("mirr", "npv", "pmt", "ppmt", "pv", "rate")},
}
# Patched modules know it as _old.
_OLD = SimpleNamespace(**_OLD_NAMES, str=_str, compile=_compile)

_Replacement = tuple[str, str]  # a regular expression, and the text in place of what it matches
# Each with the modules that it is for, whose names begin with "mxnet.".
_REPLACEMENTS: dict[_Replacement, str] = {
    (rf"\b(?:np|_np|onp)\.({'|'.join(_OLD_NAMES)})\b", r"_old.\1"): (
        "gluon.contrib.estimator.event_handler ndarray.numpy._op numpy.fallback numpy.multiarray "
        "numpy.utils symbol.numpy._symbol test_utils"
    ),
    (r"\bstr\(", "_old.str("): (
        "_ctypes.ndarray _ctypes.symbol gluon.block io.io kvstore.base symbol.symbol"
    ),
    (
        r"ndarray\.CachedOp\(out, flags\)",
        "_old.compile(ndarray.CachedOp, out, flags)",
    ): "gluon.block",
    (r"'(sometrue|round_|product)',", ""): "numpy_dispatch_protocol",  # of any, round and prod
    # A symbol with NumPy's semantics comes out of a pickle without them.
    (r"return \(_symbol_cls, \(None,\),", "return (type(self), (None,),"): "_ctypes.symbol",
    # From NumPy 1.25 on, ``qr`` and others return named tuples, which take no list.
    (r"object\.__class__\(tmp\)", "(tuple(tmp) if isinstance(object, tuple) else tmp)"): (
        "numpy.multiarray"
    ),
    # On NumPy 2, a Python number plus a float32 stays float32, and sums stop at 2**24.
    (r"sum_metric = 0\.0?$", "sum_metric = numpy.float64(0)"): "metric",
    (r"\.tostring\(\)", ".tobytes()"): "recordio",  # gone in NumPy 2.3
    # SciPy has deprecated the module csr.
    (r"spsp\.csr\.", "spsp."): "ndarray.sparse ndarray.utils",
    # Importing scipy.stats takes a third as long as MXNet, so it waits until somebody uses it.
    (r"(?:from\s(scipy)\simport|import\s(scipy)\.stats\sas)\s(ss|stats)$", r"import \1\2 as \3"): (
        "contrib.quantization test_utils"
    ),
    (r"\bss\.chisquare", "ss.stats.chisquare"): "test_utils",
}


def _replacements(module: str) -> list[_Replacement]:
    """What is replaced in a module, such as ``mxnet.metric``; nothing in most."""
    package, _dot, name = module.partition(".")
    if package != "mxnet":
        return []
    return [words for words, modules in _REPLACEMENTS.items() if name in modules.split()]


class _Finder(MetaPathFinder):
    """Finds the modules of MXNet in which something is replaced."""

    def find_spec(self, fullname: str, *where: Any) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, *where) if _replacements(fullname) else None
        if spec and spec.origin:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    """Runs the patched text, and writes it to no ``__pycache__``."""

    def get_code(self, fullname: str) -> CodeType:
        text = self.get_source(fullname) or ""
        for pattern, replacement in _replacements(fullname):
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        return compile(text, self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["_old"] = _OLD
        super().exec_module(module)


_FINDER = _Finder()
_lock = threading.Lock()


def import_mxnet() -> ModuleType:
    """Import MXNet on a NumPy or Python that is too new for it, and return it.

    After that, ``from mxnet import np, npx`` works as usual. NumPy stays unchanged for all other
    code. A second call, or a call after a plain import that worked, changes nothing.

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
            del sys.modules[leftover]  # of a plain import that failed; they aren't patched
        if _FINDER not in sys.meta_path:
            sys.meta_path.insert(0, _FINDER)
        _load_cuda_11()
        with silent():  # warnings of distutils and invalid escapes, which no user can fix
            try:
                mxnet = import_module("mxnet")
            except (ImportError, OSError, RuntimeError) as error:
                raise MissingPackageError(_why(error)) from error
            _patch_imported(mxnet)
        return mxnet


def _patch_imported(mxnet: Any) -> None:
    """Replace functions that don't work as they are."""
    mxnet.nd.NDArray.__array__ = _to_numpy
    loader = import_module("mxnet.gluon.data.dataloader")
    for name in ("_worker_initializer", "worker_loop_v1"):
        setattr(loader, name, _WorkerFunction(getattr(loader, name)))


def _why(error: Exception) -> str:
    """A sentence for an import that failed."""
    system, machine = platform.system(), platform.machine()
    if getattr(error, "name", None) != "mxnet":  # another module, or a shared library, is missing
        text = _(
            "MXNet cannot be imported: {error}. Install the libraries that it needs: {command}, "
            "or for a GPU {gpu_command}."
        )
        command, gpu_command = install_command("mxnet"), install_command("mxnet-gpu")
        return text.format(error=error, command=command, gpu_command=gpu_command)
    if not (system == "Linux" or (system == "Darwin" and machine == "x86_64")):
        return _(
            "MXNet cannot be installed: it has no wheels for {system} on {machine}. Use Linux or "
            "an Intel Mac; PyTorch and TensorFlow work here."
        ).format(system=system, machine=machine)
    return _(
        "MXNet isn't installed. Its own pins would replace NumPy {version}, with which it works "
        "here. Install it without them: {command}, then {second_command}."
    ).format(
        version=numpy.__version__,
        command="pip install --no-deps mxnet==1.9.1",
        second_command='pip install graphviz requests "setuptools<81"',
    )


def _load_cuda_11() -> None:
    """Load the CUDA 11 libraries of the nvidia-*-cu11 wheels, which mxnet-cu112 does not look for.

    They depend on one another in an order that changes with their versions, so all are tried four
    times. MXNet's own import names what is still missing.
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
    """For NumPy, which would take an NDArray for a sequence: ``array_equal(nd, nd)`` was False."""
    return numpy.asarray(array.asnumpy(), dtype)


class _WorkerFunction(partial[Any]):
    """A function of the DataLoader that imports MXNet in our way where it is unpickled.

    A worker process that isn't forked starts with such a function. With a plain import of MXNet it
    would fail, and the DataLoader would wait for it forever.
    """

    def __reduce__(self) -> Any:
        return _unpickle_worker_function, (self.func.__name__,)


def _unpickle_worker_function(name: str) -> Any:
    """That function of MXNet's DataLoader, in a process that may not have imported MXNet yet."""
    import_mxnet()
    return getattr(sys.modules["mxnet.gluon.data.dataloader"], name)
