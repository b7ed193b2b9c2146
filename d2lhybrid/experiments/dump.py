"""What a fresh process gets: a dump of what it does, with all that takes.

cloudpickle takes models, functions and arguments as they are: what stands in the script or notebook
with its code, what stands in other modules by name. A way that ``variants`` or ``training`` has
made is made again there by the same call. What can't be taken, and what was compiled by hand, each
process makes for itself by a function in a file.
"""

import linecache
import os
import pickle
import sys
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from types import CodeType
from typing import Any, ClassVar

import cloudpickle

from d2lhybrid.backends import get, loaded
from d2lhybrid.backends.variant import variant_of
from d2lhybrid.core.arguments import Call
from d2lhybrid.core.errors import ArgumentError, D2LHybridError, brief
from d2lhybrid.core.i18n import gettext as _
from d2lhybrid.core.wording import EXAMPLE_CODE

IN_FILE = f'{EXAMPLE_CODE}\n\ncompare("model.py:example", processes=6)'


def pack(thing: Any, parts: Mapping[str, Any], *, with_threads: bool) -> bytes:
    """A dump of it for ``unpack`` in a fresh process.

    Args:
        thing: what is sent.
        parts: by what an error calls them, parts of it that may be such as can't be sent.
        with_threads: are the frameworks to compute with as many threads as in this process?

    Raises:
        ArgumentError: something can't be sent; the message names it and says why.
    """
    try:
        body = _dump(thing)
    except Exception:  # to name what can't be sent, each part is tried alone
        for name, part in parts.items():
            try:
                _dump(part)
            except Exception as error:
                raise _cannot_be_sent(name, brief(error)) from error
        raise
    named = [framework for framework in loaded() if framework.is_named_in(body)]
    settings = [each for one in named for each in one.device.settings(with_threads)]
    return _dump([framework.name for framework in named]) + _dump(settings) + body


def unpack(data: bytes) -> Any:
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
        return pickle.load(stream)
    except D2LHybridError:
        raise
    except Exception as error:
        text = _(
            "Expected callables and arguments that a fresh process can make again. Received: "
            "{error}."
        )
        raise _unsendable(text.format(error=brief(error).rstrip("."))) from error


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


def require_not_compiled(functions: Mapping[str, Callable[..., Any] | Call]) -> None:
    """Raise ArgumentError if one was compiled by hand: some would travel without what compiles."""
    for label, function in functions.items():
        if any(one.why.is_compiled(each) for each in _by_hand(function) for one in loaded()):
            raise _cannot_be_sent(repr(label), _("what was compiled belongs to its process"))


def _by_hand(function: Callable[..., Any] | Call) -> Iterator[Callable[..., Any]]:
    """A callable of the user's; or, if it is one of our ways, those that it was made of."""
    way = variant_of(function)
    made_of = way.origin.args if way and way.origin else [function]
    return filter(callable, (Call.of(each).function for each in made_of))


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
