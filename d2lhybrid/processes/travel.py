"""What a fresh process gets of an experiment: its callables, their arguments, and its options.

``pack`` turns them into bytes, and ``unpack`` turns these into an experiment in the other process.
A way that ``variants`` or ``training`` has made is made again there, by the same call. All else
travels by cloudpickle: functions and classes of the script or notebook with their code, those of
other modules by their names. Where that is not enough for objects of a framework,
``TravelModule.reduce`` says how they are made again.
"""

import linecache
import os
import pickle
import sys
import types
from collections.abc import Callable
from dataclasses import fields
from io import BytesIO
from typing import Any

import cloudpickle

from d2lhybrid.backends import get, loaded
from d2lhybrid.backends.base import Framework
from d2lhybrid.core import module_files
from d2lhybrid.core.errors import ArgumentError, D2LHybridError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.module_files import import_file
from d2lhybrid.core.reader import option
from d2lhybrid.verbs.experiment import Experiment


def pack(experiment: Experiment, *, threads: int | None = None) -> bytes:
    """The callables, arguments and options of an experiment, for ``unpack`` in a fresh process.

    Args:
        experiment: it may have been run; its results stay here.
        threads: None if the frameworks are to compute with as many threads as in this process.

    Raises:
        ArgumentError: something cannot travel; the message names it and says why.
    """
    options = {one.name: getattr(experiment, one.name) for one in fields(experiment) if one.init}
    functions, args, kwargs = (options.pop(name) for name in ("functions", "args", "kwargs"))
    body = BytesIO()
    packer = _Packer(body)
    try:
        packer.dump(
            {
                "functions": {
                    label: (_Part(repr(label)), function) for label, function in functions.items()
                },
                "args": [(_Part(_argument(number)), arg) for number, arg in enumerate(args, 1)],
                "kwargs": {name: (_Part(f"{name}="), value) for name, value in kwargs.items()},
                "options": (_Part("timer="), options),
            }
        )
    except Exception as error:
        raise _cannot_travel(packer.part, error) from error
    sources = {name: linecache.getlines(name) for name in packer.unwritten}
    settings = {one.name: {**one.travel.settings()} for one in packer.frameworks}
    if threads is not None:
        for setting in settings.values():
            setting.pop("threads", None)
    head: bytes = cloudpickle.dumps((settings, sources, module_files.imported))
    return head + body.getvalue()


def unpack(data: bytes) -> Experiment:
    """The experiment of which ``pack`` made these bytes.

    The frameworks that it needs are imported and get the settings that they had there.

    Raises:
        ArgumentError: something cannot be made again, such as an object of a module that does not
            import here; the message names it and says why.
        D2LHybridError: what ``variants`` or ``training`` raises here.
    """
    stream = BytesIO(data)
    settings, sources, files = pickle.load(stream)
    for name, lines in sources.items():
        linecache.cache[name] = (len("".join(lines)), None, lines, name)
    for name, setting in settings.items():
        framework = get(name)
        framework.load()
        framework.travel.apply_settings(setting)
    for name, path in files.items():
        import_file(name, path)
    unpacker = _Unpacker(stream)
    try:
        packed = unpacker.load()
    except D2LHybridError:
        raise
    except Exception as error:
        raise _cannot_travel(unpacker.part, error) from error
    return Experiment(
        {label: function for label, (_part, function) in packed["functions"].items()},
        tuple(arg for _part, arg in packed["args"]),
        {name: value for name, (_part, value) in packed["kwargs"].items()},
        **packed["options"][1],
    )


class _Part(str):
    """What a message calls that which comes next in the bytes."""


def _code(make: Callable[..., types.CodeType], args: Any, file: str) -> types.CodeType:
    """Code with its file, which cloudpickle leaves out: some compilers read the source there."""
    return make(*args).replace(co_filename=file)


class _MainGlobals(dict[str, Any]):
    """The globals of the script or notebook. In the other process its main module has them, too.

    TorchDynamo looks names up there, in the module that a function says it belongs to.
    """

    def __reduce__(self) -> Any:
        return _main_globals, ()


def _main_globals() -> dict[str, Any]:
    return vars(sys.modules["__main__"])


class _Packer(cloudpickle.Pickler):
    """Packs callables and arguments, and notes the frameworks to which any of it belongs."""

    def __init__(self, stream: BytesIO) -> None:
        super().__init__(stream)
        self.part = ""
        self.frameworks: list[Framework] = []
        self.unwritten: set[str] = set()  # files that exist in a notebook alone
        self._seen: set[str] = set()  # packages

    def persistent_id(self, obj: Any) -> str | None:
        """Note at which part this is, and the other process will do so, too."""
        if type(obj) is not _Part:
            return None
        self.part = str(obj)
        return self.part

    def reducer_override(self, obj: Any) -> Any:
        """How an object is made again, asked of each that is no number, text, list or dict."""
        self._note_frameworks(obj)
        if isinstance(obj, types.CodeType):
            self._note_source(obj.co_filename)
            return _code, (*self.dispatch_table[types.CodeType](obj), obj.co_filename)
        if isinstance(obj, types.FunctionType) and obj.__globals__.get("__name__") == "__main__":
            self.globals_ref.setdefault(id(obj.__globals__), _MainGlobals())
        for framework in loaded():
            reduced = framework.travel.reduce(obj)
            if reduced is not NotImplemented:
                self._note(framework)
                return reduced
        return super().reducer_override(obj)

    def _note_frameworks(self, obj: Any) -> None:
        """Note the frameworks of a module, a function, a class, or the class of anything else."""
        if isinstance(obj, types.ModuleType):
            modules = [obj.__name__]
        elif isinstance(obj, types.FunctionType | types.BuiltinFunctionType):
            modules = [obj.__module__]
        else:
            kind = obj if isinstance(obj, type) else type(obj)
            modules = [cls.__module__ for cls in kind.__mro__]
        packages = {str(module).partition(".")[0] for module in modules} - self._seen
        if not packages:
            return
        self._seen |= packages
        for framework in loaded():
            if framework.owns(packages):
                self._note(framework)

    def _note_source(self, file: str) -> None:
        """Note a file that is none, as of the cells of a notebook, for its source to travel too."""
        if file in linecache.cache and not os.path.exists(file):
            self.unwritten.add(file)

    def _note(self, framework: Framework) -> None:
        if framework not in self.frameworks:
            self.frameworks.append(framework)


class _Unpacker(pickle.Unpickler):
    """Unpacks what a ``_Packer`` has packed."""

    part = ""

    def persistent_load(self, part: Any) -> None:
        """Note at which part this is."""
        self.part = part


def _argument(number: int) -> str:
    return _("argument {number}").format(number=number)


def _cannot_travel(part: str, error: Exception) -> ArgumentError:
    """The error for something that cannot be taken apart here, or put together there."""
    text = _(
        "Expected callables and arguments that can be sent to another process. Received: {part}, "
        "which cannot be ({error}). Create what cannot be sent inside the function, define "
        "functions and classes at the top level of a module, or leave out {processes}."
    )
    reason = brief(error)
    return ArgumentError(text.format(part=part, error=reason, processes=option("processes")))
