"""``import_mxnet``: the last MXNet on today's NumPy and Python.

MXNet 1.9.1 reads names that NumPy 1.24 and 2.0 removed. Putting them back into NumPy would change
it for every library of the process, so NumPy is left alone: the modules of MXNet get builtins of
their own, in which ``import numpy`` yields a stand-in that knows the old names and passes
everything else on.
"""

import builtins
import ctypes
import platform
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module, metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy

from d2lhybrid.errors import MissingPackageError, RemovedFromNumPyError
from d2lhybrid.frameworks.mxnet import mended
from d2lhybrid.i18n import gettext as _
from d2lhybrid.installing import install_command
from d2lhybrid.quieting import silent

# What the names meant before they went (NumPy 1.24 and 2.0 release notes).
_OLD_NAMES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "object": object,
    "str": str,
    "Inf": numpy.inf,
    "PINF": numpy.inf,
    "NINF": -numpy.inf,
    "NaN": numpy.nan,
    "NAN": numpy.nan,
    "PZERO": 0.0,
    "NZERO": -0.0,
    "compat": SimpleNamespace(basestring=str),
    "in1d": mended.in_1d,
    "msort": partial(numpy.sort, axis=0),
}
_RENAMED = {
    "alltrue": "all",
    "sometrue": "any",
    "product": "prod",
    "cumproduct": "cumprod",
    "row_stack": "vstack",
    "trapz": "trapezoid",
    "round_": "round",
    "float_": "float64",
    "unicode_": "str_",
}
# MXNet lists these in mxnet/numpy/fallback.py and reads them at import; hardly anyone calls them.
_GONE = ("fv", "ipmt", "irr", "mirr", "nper", "npv", "pmt", "ppmt", "pv", "rate")

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
            del sys.modules[leftover]  # of a plain import that failed; they hold the real NumPy
        if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
            sys.meta_path.insert(0, _Finder())
        _load_cuda_11()
        with silent():  # distutils, invalid escapes: nothing a reader can mend
            try:
                found = import_module("mxnet")
            except ImportError as error:
                raise MissingPackageError(_why(error)) from error
            except (OSError, RuntimeError) as error:  # a shared library is missing
                text = _(
                    "Expected MXNet to import. Received: {error}. Install the libraries that "
                    "it needs: {command}, or for a GPU {gpu_command}."
                )
                command, gpu_command = install_command("mxnet"), install_command("mxnet-gpu")
                said = text.format(error=error, command=command, gpu_command=gpu_command)
                raise MissingPackageError(said) from error
            mended.mend(found)
        return found


class _NumPy(ModuleType):
    """NumPy as MXNet knew it."""

    def __getattr__(self, name: str) -> Any:
        if name in _OLD_NAMES:
            value = _OLD_NAMES[name]
        elif hasattr(numpy, name):
            value = getattr(numpy, name)
        elif name in _GONE:
            value = _gone(name)
        else:
            value = getattr(numpy, _RENAMED.get(name, name))
        setattr(self, name, value)  # MXNet looks names up at every call
        return value

    def __dir__(self) -> list[str]:
        return dir(numpy)


def _gone(name: str) -> Callable[..., Any]:
    def removed(*args: Any, **kwargs: Any) -> Any:
        text = _(
            "Expected a function of NumPy. Received: mxnet.np.{name}, which is NumPy's {name}, "
            "and NumPy {version} has none. For financial functions install numpy-financial."
        )
        raise RemovedFromNumPyError(text.format(name=name, version=numpy.__version__))

    removed.__name__ = name
    return removed


class _Finder(MetaPathFinder):
    """Finds mxnet and its submodules as the other finders do, and gives them our builtins."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "mxnet":
            return None
        others = [finder for finder in sys.meta_path if finder is not self]
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next(filter(None, found), None)
        if spec and spec.loader:
            _set_up(spec.loader)
        return spec


def _set_up(loader: Any) -> None:
    """Let this loader, which serves one module, put our builtins in before the module runs."""
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        spells = module.__name__ in mended.SPELLING
        vars(module)["__builtins__"] = _SPELLING_BUILTINS if spells else _BUILTINS
        execute(module)

    loader.exec_module = exec_module


def _import(
    name: str,
    globals: dict[str, Any] | None = None,
    locals: dict[str, Any] | None = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> Any:
    module = builtins.__import__(name, globals, locals, fromlist, level)
    return _STAND_IN if module is numpy else module


_STAND_IN = _NumPy("numpy", numpy.__doc__)
_BUILTINS = {**vars(builtins), "__import__": _import}
_SPELLING_BUILTINS = {**_BUILTINS, "str": mended.plain_str}


def _why(error: ImportError) -> str:
    """A sentence for an import that failed."""
    system, machine, command = platform.system(), platform.machine(), install_command("mxnet")
    if error.name != "mxnet":
        text = _("Expected MXNet to import. Received: {error}. Try: {command}")
        return text.format(error=error, command=command)  # the extra names setuptools, too
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

    They need one another in an order that changes with their versions, so each is tried again
    until nothing more loads. What is still missing, MXNet's own import will name.
    """
    try:
        files = metadata.distribution("nvidia-cuda-runtime-cu11").locate_file("nvidia")
        metadata.distribution("mxnet-cu112")
    except metadata.PackageNotFoundError:
        return
    waiting, before = sorted(Path(str(files)).glob("*/lib/lib*.so.*")), -1
    while len(waiting) != before:
        before, left = len(waiting), []
        for path in waiting:
            try:
                ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
            except OSError:
                left.append(path)
        waiting = left
