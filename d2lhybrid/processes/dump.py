"""What a process of ``compare(..., processes=6)`` gets of an experiment: one dump of it.

cloudpickle takes models, functions and arguments as they are: what stands in the script or notebook
with its code, what stands in other modules by name. A way that ``variants`` or ``training`` has
made is made again there by the same call. What can't be taken, and what was compiled by hand, each
process makes for itself by a function in a file (``SourceFile``), which is then all that it gets.
"""

import linecache
import os
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from io import BytesIO
from types import CodeType
from typing import Any, ClassVar

import cloudpickle

from d2lhybrid.backends import get, loaded
from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import ArgumentError, D2LHybridError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.verbs.callables import Callables, SourceFile
from d2lhybrid.verbs.experiment import Experiment
from d2lhybrid.verbs.source_file import EXAMPLE_CODE

IN_FILE = f'{EXAMPLE_CODE}\n\ncompare("model.py:example", processes=6)'

What = SourceFile | Callables  # what is called, or what makes it
Options = dict[str, Any]  # the other fields of the experiment


def pack(experiment: Experiment, source: SourceFile | None, *, with_threads: bool) -> bytes:
    """An experiment for ``unpack`` in a fresh process.

    Args:
        experiment: it may have been run; its results stay here.
        source: what makes its callables and their arguments, if they come from a file, which then
            also sets what it needs.
        with_threads: are the frameworks to compute with as many threads as in this process?

    Raises:
        ArgumentError: something can't be sent; the message names it and says why.
    """
    options = {one.name: getattr(experiment, one.name) for one in fields(experiment) if one.init}
    functions, args, kwargs = (options.pop(name) for name in ("functions", "args", "kwargs"))
    if source:
        return _dump([]) + _dump([]) + _dump((source, options))
    _require_not_compiled(functions)
    try:
        # Of variants, those that can be built: why the others can't is among the options.
        body = _dump((({**functions}, args, kwargs), options))
    except Exception:  # to name what can't be sent, each part is tried alone
        parts = {repr(label): function for label, function in functions.items()}
        argument = _("argument {number}")
        parts |= {argument.format(number=number): arg for number, arg in enumerate(args, 1)}
        parts |= {f"{name}=": value for name, value in kwargs.items()}
        _require_sendable({**parts, "timer=": experiment.timer})
        raise
    named = [framework for framework in loaded() if framework.is_named_in(body)]
    settings = [each for one in named for each in one.device.settings(with_threads)]
    return _dump([framework.name for framework in named]) + _dump(settings) + body


def unpack(data: bytes) -> tuple[What, Options]:
    """What ``pack`` made these bytes of.

    The frameworks that it needs are imported before, and get the settings that they had there.

    Raises:
        ArgumentError: something can't be made again, such as an object of a module that does not
            import here.
        D2LHybridError: what ``variants`` or ``training`` raises here.
    """
    stream = BytesIO(data)
    for name in pickle.load(stream):
        get(name).load()
    try:
        for set_again, values in pickle.load(stream):
            set_again(*values)
        unpacked: tuple[What, Options] = pickle.load(stream)
    except D2LHybridError:
        raise
    except Exception as error:
        text = _(
            "Expected callables and arguments that a fresh process can make again. Received: "
            "{error}."
        )
        raise _unsendable(text.format(error=brief(error).rstrip("."))) from error
    return unpacked


def _reduce_code(code: CodeType) -> Any:
    """As cloudpickle does, with the file, and with the source if that is a cell of a notebook."""
    make, args = cloudpickle.Pickler.dispatch_table[CodeType](code)
    file = code.co_filename
    lines = None if os.path.exists(file) else linecache.getlines(file)
    return _code, (make, args, file, lines)


def _code(make: Callable[..., CodeType], args: Any, file: str, lines: list[str] | None) -> CodeType:
    if lines:
        linecache.cache[file] = len("".join(lines)), None, lines, file
    return make(*args).replace(co_filename=file)


class _MainGlobals(dict[str, Any]):
    """The globals of the script or notebook. In the other process its main module has them, too.

    TorchDynamo looks names up there, in the module that a function says it belongs to.
    """

    def __reduce__(self) -> Any:
        return _main_globals, ()


def _main_globals() -> dict[str, Any]:
    return vars(sys.modules["__main__"])


class _Pickler(cloudpickle.Pickler):
    """Keeps what compilers look up in code: its file, and its names in the main module."""

    dispatch_table: ClassVar = ChainMap(
        {CodeType: _reduce_code}, cloudpickle.Pickler.dispatch_table
    )

    def __init__(self, stream: BytesIO) -> None:
        super().__init__(stream)
        # The globals that cloudpickle gives the functions of the script or notebook.
        self.globals_ref[id(_main_globals())] = _MainGlobals()


def _dump(thing: Any) -> bytes:
    stream = BytesIO()
    _Pickler(stream).dump(thing)
    return stream.getvalue()


def _require_not_compiled(functions: Mapping[str, Callable[..., Any] | Call]) -> None:
    """Raise ArgumentError if one was compiled by hand: some would travel without what compiles."""
    for label, function in functions.items():
        if any(one.why.is_compiled(each) for each in _by_hand(function) for one in loaded()):
            raise _cannot_be_sent(repr(label), _("what was compiled belongs to its process"))


def _by_hand(function: Callable[..., Any] | Call) -> Iterator[Callable[..., Any]]:
    """A callable of the user's; or, if it is one of our ways, those that it was made of."""
    way = variant_of(function)
    made_of = way.origin.args if way and way.origin else [function]
    return filter(callable, (Call.of(each).function for each in made_of))


def _require_sendable(parts: Mapping[str, Any]) -> None:
    """Raise ArgumentError, which names the part, if one of them alone can't be sent."""
    for part, thing in parts.items():
        try:
            _dump(thing)
        except Exception as error:
            raise _cannot_be_sent(part, brief(error)) from error


def _cannot_be_sent(part: str, reason: str) -> ArgumentError:
    text = _(
        "Expected callables and arguments that can be sent to another process. Received: {part}, "
        "which cannot be ({error})."
    )
    return _unsendable(text.format(part=part, error=reason))


def _unsendable(reason: str) -> ArgumentError:
    """The error for what each process has to make for itself; its field is the reason alone."""
    text = _(
        "{reason} Let each process make them, by a function in a file, which a notebook writes "
        "with {magic}:"
    )
    message = text.format(reason=reason, magic="%%writefile model.py")
    return ArgumentError(f"{message}\n\n{IN_FILE}", reason=reason)
